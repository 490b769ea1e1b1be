import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { inspect } from 'node:util';
import { fixedCredentials } from '../access/credentials.ts';
import { createClient } from '../client/rest.ts';
import { CONFIG_MAP, misbehavingServer, sendStatus } from '../testing/server.ts';
import { until } from '../testing/until.ts';

const KEY = { namespace: 'ns', name: 'a' };

test('the deadline is that of the whole call, however often the server asks to come again', async () => {
  await using server = await misbehavingServer((_, response) => {
    setTimeout(() => sendStatus(response, 429, {}, { 'retry-after': '0' }), 400);
  });
  await using client = createClient(server.config, { callDeadline: 1_000 });
  const error = await client.get(CONFIG_MAP, KEY).then(
    () => assert.fail('should have failed'),
    (reason: Error & { code?: string }) => reason,
  );
  assert.equal(error.code, 'Timeout');
  assert.match(error.message, /^get ConfigMap ns\/a: http:\S+ gave no complete answer within 1000 ms/);
});

test('credentials are not asked for by a call that is over before it began, so their failure is nobody’s', async () => {
  await using server = await misbehavingServer(() => undefined);
  let asked = 0;
  const credentials = {
    get: () => {
      asked += 1;
      return Promise.reject(new Error('no login'));
    },
    reject: () => false,
  };
  await using client = createClient({ ...server.config, credentials });
  const signal = AbortSignal.abort(new Error('enough'));
  await assert.rejects(client.get(CONFIG_MAP, KEY, { signal }), /^Error: enough$/);
  const from = { resourceVersion: '1', timeoutSeconds: 300 };
  await assert.rejects(Array.fromAsync(client.watch(CONFIG_MAP, from, {}, { signal })), /^Error: enough$/);
  // An unhandled rejection would end the process.
  await tick();
  assert.equal(asked, 0);
});

test('a call that waits for a free connection ends with its signal, not with those that hold them', async () => {
  await using server = await misbehavingServer(() => undefined);
  const client = createClient(server.config);
  let over = 0;
  const hung = Array.from({ length: 8 }, () =>
    client.get(CONFIG_MAP, KEY).catch(() => {
      over += 1;
    }),
  );
  await until('eight connections', () => server.requests.length === 8);
  const stop = new AbortController();
  const ninth = client.get(CONFIG_MAP, KEY, { signal: stop.signal });
  await tick();
  stop.abort(new Error('enough'));
  await assert.rejects(ninth, /^Error: enough$/);
  assert.deepEqual([over, server.requests.length], [0, 8]);
  await client[Symbol.asyncDispose]();
  await Promise.all(hung);
});

test('calls share as many connections as were asked for', async () => {
  await using server = await misbehavingServer(() => undefined);
  const client = createClient(server.config, { connections: 12 });
  const hung = Array.from({ length: 16 }, () => client.get(CONFIG_MAP, KEY).catch(() => undefined));
  await until('twelve connections', () => server.requests.length === 12);
  await tick();
  assert.equal(server.requests.length, 12);
  await client[Symbol.asyncDispose]();
  await Promise.all(hung);
});

test('a watch whose server never ends the handshake ends with its signal', async () => {
  // TCP answers, TLS never does.
  const listener = createServer();
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  listener.on('connection', (socket) => socket.pause());
  const config = { server: `https://127.0.0.1:${port}`, context: '', namespace: '', credentials: fixedCredentials({}) };
  const client = createClient(config);
  const stop = new AbortController();
  const from = { resourceVersion: '1', timeoutSeconds: 300 };
  const started = performance.now();
  const watch = Array.fromAsync(client.watch(CONFIG_MAP, from, {}, { signal: stop.signal }));
  setTimeout(() => stop.abort(new Error('enough')), 50);
  await assert.rejects(watch, /^Error: enough$/);
  assert.ok(performance.now() - started < 10_000, 'undici gives up after 15 s');
  await client[Symbol.asyncDispose]();
  listener.close();
});

test('a proxy of the environment that is no URL is named, without its password', async () => {
  const config = { server: 'https://api.example', context: '', namespace: '', credentials: fixedCredentials({}) };
  await using client = createClient(config, { env: { HTTPS_PROXY: 'http://me:hunter2@proxy:port' } });
  await assert.rejects(client.get(CONFIG_MAP, KEY), (error: Error & { code?: string }) => {
    assert.match(error.message, /HTTPS_PROXY or HTTP_PROXY names is not an http, https or socks5 URL/);
    assert.equal(inspect(error, { depth: 9 }).includes('hunter2'), false);
    return error.code === 'Kubeconfig';
  });
});
