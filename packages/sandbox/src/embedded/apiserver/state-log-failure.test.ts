import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { createAuthority, newSigningKey } from '../../certificate.ts';
import { wireSpeaker } from '../../testing/conversations/conversation-speakers.ts';
import { scratchFolder } from '../../workdir.ts';
import { startApiServer } from './api-server.ts';

const PATH = '/api/v1/namespaces/default/configmaps';

test('a write that the state log could not take is answered with 500, and nobody ever sees it', async (context) => {
  using folder = scratchFolder();
  const authority = createAuthority('test');
  const { certificate, privateKey } = authority.issueServer(['127.0.0.1']);
  const options: Parameters<typeof startApiServer>[0] = {
    ...{ host: '127.0.0.1', port: 0, certificate, privateKey, era: 'E2' },
    ...{ clientCa: authority.certificate, tokenKey: newSigningKey(), stateFile: join(folder.path, 'state') },
  };
  const admin = authority.issueClient({ user: 'admin', groups: ['system:masters'] });
  const speakTo = ({ url }: { readonly url: string }): ReturnType<typeof wireSpeaker> =>
    wireSpeaker({ url, ca: authority.certificate, ...admin });
  const configMap = (name: string): object => ({ metadata: { name }, data: { name } });
  const namesOf = (body: unknown): readonly string[] =>
    (body as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);
  {
    await using server = await startApiServer(options);
    await using speak = speakTo(server);
    assert.equal((await speak({ method: 'POST', path: PATH, body: configMap('before') })).code, 201);
    const full = context.mock.method(fs, 'writeSync', () => {
      throw new Error('ENOSPC: no space left on device, write');
    });
    syncBuiltinESMExports();
    const refused = await speak({ method: 'POST', path: PATH, body: configMap('lost') });
    const kept = await speak({ method: 'DELETE', path: `${PATH}/before` });
    full.mock.restore();
    syncBuiltinESMExports();
    assert.deepEqual([refused.code, kept.code], [500, 500]);
    assert.match(JSON.stringify(refused.body), /Internal error occurred: ENOSPC/);
    assert.deepEqual(namesOf((await speak({ method: 'GET', path: PATH })).body), ['before']);
    assert.equal((await speak({ method: 'POST', path: PATH, body: configMap('after') })).code, 201);
  }
  await using server = await startApiServer(options);
  await using speak = speakTo(server);
  assert.deepEqual(namesOf((await speak({ method: 'GET', path: PATH })).body), ['after', 'before']);
});
