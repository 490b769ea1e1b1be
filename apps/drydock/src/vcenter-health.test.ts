import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VCenterHealth } from '@drydock/page';
import { healthLines, healthText, roomText } from './vcenter-health.ts';

const now = Date.parse('2026-11-23T12:00:00Z');
const health = (more: Partial<VCenterHealth> = {}): VCenterHealth => ({
  ...{ server: 'vc1', asOf: '2026-11-23T11:59:30Z', version: '8.0.3', sessions: 2 },
  datastores: [
    { path: '/dc/datastore/a', failureDomains: ['fd1'], accessible: true, free: 2 ** 30, capacity: 2 ** 32 },
  ],
  ...more,
});
const read = (...value: readonly VCenterHealth[]) => ({ kind: 'read', value }) as const;
const gone = { path: '/dc/datastore/b', failureDomains: ['fd2', 'fd3'], accessible: false, free: 0 };

test('status says of vCenters what is wrong, and nothing where all is well or nobody has looked for long', () => {
  assert.equal(healthText(read(health()), now), '');
  assert.equal(
    healthText(read(health({ datastores: [gone] }), health({ server: 'vc2', trouble: 'no answer\ncame' })), now),
    'Datastore /dc/datastore/b on vCenter vc1 is not accessible, and templates of fd2, fd3 are on it. Next: drydock doctor\n' +
      'vCenter vc2 could not be asked: no answer came. Next: drydock doctor\n',
  );
  assert.equal(healthText(read(health({ asOf: '2026-11-23T11:50:00Z', trouble: 'no answer' })), now), '');
  assert.equal(healthText({ kind: 'unread', why: 'forbidden' }, now), '');
});

test('doctor says how each vCenter is that the operator looks at, with the room of its datastores', () => {
  const [well, lost, late, silent] = healthLines(
    read(
      health(),
      health({ datastores: [gone] }),
      health({ asOf: '2026-11-23T11:50:00Z' }),
      health({ trouble: 'no answer' }),
    ),
    now,
  );
  assert.deepEqual(well, {
    ...{ name: 'vcenters', state: 'ok' },
    detail: 'vc1 30s ago: 8.0.3; 2 sessions; 1.0 GiB of 4.0 GiB free on /dc/datastore/a',
  });
  assert.deepEqual([lost?.state, lost?.next], ['FAIL', 'govc datastore.info /dc/datastore/b']);
  assert.deepEqual([late?.state, silent?.state], ['warn', 'warn']);
  assert.deepEqual(
    healthLines({ kind: 'unread', why: 'forbidden' }, now).map(({ state, detail }) => [state, detail]),
    [['skip', 'forbidden']],
  );
  assert.equal(roomText(2 ** 30, undefined), '1.0 GiB');
});
