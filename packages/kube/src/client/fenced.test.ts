import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import { memoryCluster } from '../testing/cluster.ts';
import { CONFIG_MAP, misbehavingServer, sendJson, sendStatus } from '../testing/server.ts';
import { fencedClient } from './fenced.ts';
import { createClient } from './rest.ts';

const KEY = { namespace: 'ns', name: 'a' };
const MAP = { metadata: { ...KEY, resourceVersion: '7' }, data: { x: '1' } };
const lost = (): never => {
  throw new Error('the lease is lost');
};

test('KEEP-8b a fenced client sends no write once its fence throws, whichever verb, and reads on', async () => {
  await using server = await misbehavingServer((_, response) => sendJson(response, MAP));
  await using plain = createClient(server.config);
  let held = true;
  const client = fencedClient(plain, () => (held ? undefined : lost()));
  const writes = {
    create: () => client.create(CONFIG_MAP, MAP),
    replace: () => client.replace(CONFIG_MAP, MAP),
    replaceStatus: () => client.replaceStatus(CONFIG_MAP, MAP),
    apply: () => client.apply(CONFIG_MAP, MAP, { manager: 'me' }),
    applyStatus: () => client.applyStatus(CONFIG_MAP, MAP, { manager: 'me' }),
    patch: () => client.patch(CONFIG_MAP, KEY, []),
    mergePatch: () => client.mergePatch(CONFIG_MAP, KEY, {}),
    delete: () => client.delete(CONFIG_MAP, KEY),
  };
  for (const write of Object.values(writes)) await write();
  assert.equal(server.requests.length, 8);
  held = false;
  for (const [verb, write] of Object.entries(writes)) await assert.rejects(write(), /^Error: the lease is lost$/, verb);
  await client.get(CONFIG_MAP, KEY);
  assert.deepEqual(
    server.requests.slice(8).map(({ method }) => method),
    ['GET'],
  );
});

test('KEEP-8b a write that the server refused for now is not sent again once the fence throws', async () => {
  let held = true;
  await using server = await misbehavingServer((_, response) => {
    held = false;
    sendStatus(response, 429, { reason: 'TooManyRequests' }, { 'retry-after': '0' });
  });
  await using plain = createClient(server.config);
  const client = fencedClient(plain, () => (held ? undefined : lost()));
  await assert.rejects(client.replace(CONFIG_MAP, MAP), /^Error: the lease is lost$/);
  assert.equal(server.requests.length, 1);
});

test("KEEP-8b the cluster in memory asks a fence as a real server's client does", async () => {
  const cluster = memoryCluster({ namespaces: ['ns'] });
  const client = fencedClient(cluster.client(), lost);
  await assert.rejects(client.create(ConfigMap, { metadata: KEY }), /^Error: the lease is lost$/);
  assert.equal(cluster.peek(ConfigMap, KEY), undefined);
});
