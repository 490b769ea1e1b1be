import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAboutServers, objectionOf } from './api-servers.ts';

test('RB-R96 a way is not begun from where an API server cannot be asked, unless that one is accepted by its name', () => {
  const [near, far] = ['https://10.0.0.1:6443', 'https://10.0.0.2:6443'];
  assert.equal(objectionOf({ servers: [near, far], unheard: [] }, []), undefined);
  const survey = { servers: [near, far], unheard: [{ server: far, why: 'get /version: nobody answers.' }] };
  const said = objectionOf(survey, []) ?? '';
  assert.match(
    said,
    /https:\/\/10\.0\.0\.2:6443, one of 2 API servers, cannot be asked by itself: get \/version: nobody answers\. Run/,
  );
  const [, accept = ''] = /--accept (\S+)$/.exec(said) ?? [];
  assert.equal(isAboutServers(accept), true);
  assert.equal(objectionOf(survey, [accept]), undefined);
  assert.match(objectionOf(survey, [`ApiServer/${near}`]) ?? '', /10\.0\.0\.2/);
  const unknown = { servers: [], unheard: [], unknown: 'list EndpointSlices: forbidden' };
  assert.match(objectionOf(unknown, []) ?? '', /nobody may say who the API servers are.*--accept ApiServer\/unknown$/);
  assert.equal(isAboutServers('Rollback/PRUNE:widgets'), false);
});
