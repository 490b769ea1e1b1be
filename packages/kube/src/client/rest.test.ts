import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isConflict, isExpired, isInvalid, isNotFound, isPatchTestFailed } from '../errors.ts';
import { failureOf } from '../testing/failure.ts';
import { CONFIG_MAP, misbehavingServer, sendJson, sendStatus } from '../testing/server.ts';
import type { RequestMetric } from '../transport/transport.ts';
import { createClient } from './rest.ts';

const KEY = { namespace: 'ns', name: 'a' };
const MAP = { metadata: { name: 'a', namespace: 'ns', resourceVersion: '7' }, data: { x: '1' } };

test('verbs send the method, path, content type and guards that Kubernetes wants', async () => {
  await using server = await misbehavingServer((_, response) =>
    sendJson(response, { ...MAP, metadata: { ...MAP.metadata, managedFields: [{ manager: 'x' }] } }),
  );
  await using client = createClient(server.config, { userAgent: 'me/1' });
  const got = await client.get(CONFIG_MAP, KEY);
  assert.deepEqual(got, { ...MAP, apiVersion: 'v1', kind: 'ConfigMap' });
  await client.create(CONFIG_MAP, MAP);
  await client.replace(CONFIG_MAP, MAP);
  await client.replaceStatus(CONFIG_MAP, MAP);
  await client.apply(CONFIG_MAP, MAP, { manager: 'me', force: true });
  await client.applyStatus(CONFIG_MAP, MAP, { manager: 'me' });
  await client.patch(CONFIG_MAP, KEY, [{ op: 'test', path: '/data/x', value: '1' }]);
  await client.mergePatch(CONFIG_MAP, KEY, { data: { x: null } });
  await client.delete(CONFIG_MAP, KEY, { uid: 'u', resourceVersion: '7' });
  const at = '/api/v1/namespaces/ns/configmaps';
  assert.deepEqual(
    server.requests.map(({ method, path, query, headers }) => [
      method,
      path,
      query.toString(),
      headers['content-type'],
    ]),
    [
      ['GET', `${at}/a`, '', undefined],
      ['POST', at, '', 'application/json'],
      ['PUT', `${at}/a`, '', 'application/json'],
      ['PUT', `${at}/a/status`, '', 'application/json'],
      ['PATCH', `${at}/a`, 'fieldManager=me&force=true', 'application/apply-patch+yaml'],
      ['PATCH', `${at}/a/status`, 'fieldManager=me', 'application/apply-patch+yaml'],
      ['PATCH', `${at}/a`, '', 'application/json-patch+json'],
      ['PATCH', `${at}/a`, '', 'application/merge-patch+json'],
      ['DELETE', `${at}/a`, '', 'application/json'],
    ],
  );
  assert.equal(server.requests[0]?.headers['authorization'], 'Bearer test');
  assert.equal(server.requests[0]?.headers['user-agent'], 'me/1');
  assert.equal(JSON.parse(server.requests[1]?.body ?? '').kind, 'ConfigMap');
  assert.deepEqual(JSON.parse(server.requests[8]?.body ?? '').preconditions, { uid: 'u', resourceVersion: '7' });
  assert.ok(server.connections < 4, `${server.connections} connections for 9 calls`);
});

test('a failed JSON-patch test is told from a schema rejection', async () => {
  await using server = await misbehavingServer((request, response) => {
    if (request.query.has('n')) return;
    const named = request.body.includes('/bad');
    const details = named ? { name: 'a', kind: 'ConfigMap', causes: [{ field: 'data', message: 'no' }] } : {};
    sendStatus(response, 422, { reason: 'Invalid', message: 'the server rejected our request', details });
  });
  await using client = createClient(server.config);
  const failed = await failureOf(client.patch(CONFIG_MAP, KEY, [{ op: 'test', path: '/data/x', value: 1 }]));
  assert.equal(failed.code, 'PatchTestFailed');
  assert.equal(isPatchTestFailed(failed) && !isInvalid(failed) && !failed.retriable, true);
  assert.match(failed.message, /^patch ConfigMap ns\/a: “the server rejected our request”\. The object is not/);
  const rejected = await failureOf(client.patch(CONFIG_MAP, KEY, [{ op: 'add', path: '/bad', value: 1 }]));
  assert.equal(isInvalid(rejected), true);
  assert.equal(rejected.details.causes?.[0]?.field, 'data');
  assert.equal(isInvalid(await failureOf(client.mergePatch(CONFIG_MAP, KEY, {}))), true);
});

test('status codes become codes, retriable and next steps; HTML of a proxy does not hide the status', async () => {
  const answers: [number, Record<string, unknown>, string, boolean][] = [
    [404, { reason: 'NotFound' }, 'NotFound', false],
    [409, { reason: 'AlreadyExists' }, 'AlreadyExists', false],
    [409, { reason: 'Conflict', details: { name: 'a' } }, 'Conflict', true],
    [409, { reason: 'Conflict', details: { causes: [{ reason: 'FieldManagerConflict' }] } }, 'ApplyConflict', false],
    [410, { reason: 'Expired' }, 'Expired', true],
    [403, { reason: 'Forbidden' }, 'Forbidden', false],
    [500, { reason: 'InternalError' }, 'ServerError', true],
    [500, { reason: 'ServerTimeout' }, 'Timeout', true],
    [503, {}, 'Unavailable', true],
  ];
  let next = 0;
  await using server = await misbehavingServer((_, response) => {
    const answer = answers[next++];
    if (answer === undefined) return response.writeHead(502).end('<html>bad gateway</html>') && undefined;
    sendStatus(response, answer[0], { message: 'said', ...answer[1] });
  });
  await using client = createClient(server.config);
  for (const [status, , code, retriable] of answers) {
    const error = await failureOf(client.get(CONFIG_MAP, KEY));
    assert.deepEqual([error.status, error.code, error.retriable], [status, code, retriable]);
    assert.equal(isNotFound(error), code === 'NotFound');
    assert.equal(isConflict(error), code === 'Conflict');
    assert.equal(isExpired(error), code === 'Expired');
  }
  const gateway = await failureOf(client.get(CONFIG_MAP, KEY));
  assert.deepEqual([gateway.status, gateway.code], [502, 'ServerError']);
  assert.match(gateway.message, /answered with an HTML page/);
});

test('429 with Retry-After is repeated for every verb, 503 only for reads, and the wait ends with the signal', async () => {
  await using server = await misbehavingServer((request, response, n) => {
    if (request.path.endsWith('/held')) return sendStatus(response, 429, {}, { 'retry-after': '9' });
    if (n === 0) return sendStatus(response, 429, { reason: 'TooManyRequests' }, { 'retry-after': '0' });
    if (n === 1) return sendJson(response, MAP);
    sendStatus(response, 503, {}, { 'retry-after': '0' });
  });
  await using client = createClient(server.config);
  await client.create(CONFIG_MAP, MAP);
  assert.equal(server.requests.length, 2);
  await failureOf(client.replace(CONFIG_MAP, MAP));
  assert.equal(server.requests.length, 3);
  assert.equal((await failureOf(client.get(CONFIG_MAP, KEY))).retryAfter, 0);
  assert.equal(server.requests.length, 9);
  const stop = new AbortController();
  const held = client.get(CONFIG_MAP, { namespace: 'ns', name: 'held' }, { signal: stop.signal });
  setTimeout(() => stop.abort(new Error('enough')), 20);
  await assert.rejects(held, /^Error: enough$/);
});

test('OWN-21 a connection that breaks under a request: a read is sent once more, a write never', async () => {
  let breaking = 'nothing';
  await using server = await misbehavingServer((request, response) => {
    if (request.method !== breaking) return sendJson(response, MAP);
    breaking = 'nothing';
    response.socket?.destroy();
  });
  await using client = createClient(server.config);
  const calls = {
    GET: () => client.get(CONFIG_MAP, KEY),
    POST: () => client.create(CONFIG_MAP, MAP),
    PUT: () => client.replace(CONFIG_MAP, MAP),
    PATCH: () => client.mergePatch(CONFIG_MAP, KEY, {}),
    DELETE: () => client.delete(CONFIG_MAP, KEY),
  };
  for (const [method, call] of Object.entries(calls)) {
    // On a connection that has served before, as it mostly is.
    await client.get(CONFIG_MAP, KEY);
    const before = server.requests.length;
    breaking = method;
    if (method === 'GET') await call();
    else assert.equal((await failureOf(call())).code, 'Connection', method);
    assert.equal(server.requests.length - before, method === 'GET' ? 2 : 1, method);
  }
});

test('list pages without a resourceVersion, and starts again three times when the continue token expires', async () => {
  let expirations = 2;
  await using server = await misbehavingServer((request, response) => {
    const item = (name: string) => ({ metadata: { name, namespace: 'ns', managedFields: [] } });
    assert.equal(request.query.has('resourceVersion'), false);
    assert.equal(request.query.get('limit'), '500');
    if (!request.query.has('continue')) {
      return sendJson(response, { metadata: { resourceVersion: '9', continue: 't' }, items: [item('a'), item('b')] });
    }
    if (expirations-- > 0) return sendStatus(response, 410, { reason: 'Expired' });
    sendJson(response, { metadata: { resourceVersion: '9' }, items: [item('c')] });
  });
  await using client = createClient(server.config);
  const names: string[] = [];
  for await (const { metadata } of client.list(CONFIG_MAP, { labels: 'a=b' })) names.push(metadata.name);
  assert.deepEqual(names, ['a', 'b', 'c']);
  assert.equal(server.requests.length, 6);
  expirations = 99;
  await assert.rejects(Array.fromAsync(client.list(CONFIG_MAP)), { code: 'Expired' });
  assert.equal(server.requests.length, 14);
});

test('a refused connection, a silent server and an abort are told apart; metrics see them', async () => {
  const metrics: RequestMetric[] = [];
  await using server = await misbehavingServer(() => undefined);
  await using client = createClient(server.config, { requestTimeout: 60, onRequest: (metric) => metrics.push(metric) });
  assert.equal((await failureOf(client.get(CONFIG_MAP, KEY))).code, 'Timeout');
  await assert.rejects(client.get(CONFIG_MAP, KEY, { signal: AbortSignal.abort(new Error('mine')) }), /^Error: mine$/);
  const free = await misbehavingServer(() => undefined);
  await free[Symbol.asyncDispose]();
  await using lonely = createClient(free.config, { onRequest: (metric) => metrics.push(metric) });
  const refused = await failureOf(lonely.get(CONFIG_MAP, KEY));
  assert.deepEqual([refused.code, refused.retriable], ['Connection', true]);
  assert.match(refused.message, /ECONNREFUSED/);
  assert.deepEqual(
    metrics.map(({ method, code, host }) => [method, code, host]),
    [
      ['GET', '<error>', new URL(server.config.server).host],
      ['GET', '<error>', new URL(free.config.server).host],
    ],
  );
});

test('watches do not use up the connections of calls, and a closed client calls nobody', async () => {
  await using server = await misbehavingServer((request, response) => {
    if (!request.query.has('watch')) return sendJson(response, MAP);
    response.writeHead(200);
    response.flushHeaders();
  });
  const client = createClient(server.config);
  const stop = new AbortController();
  const from = { resourceVersion: '1', timeoutSeconds: 300 };
  const watches = Array.from({ length: 30 }, () =>
    Array.fromAsync(client.watch(CONFIG_MAP, from, {}, { signal: stop.signal })).catch((error: Error) => error.name),
  );
  await Promise.all(Array.from({ length: 100 }, () => client.get(CONFIG_MAP, KEY)));
  stop.abort();
  assert.deepEqual(new Set(await Promise.all(watches)), new Set(['AbortError']));
  assert.ok(server.connections <= 38, `${server.connections} connections`);
  await client[Symbol.asyncDispose]();
  await assert.rejects(client.get(CONFIG_MAP, KEY), { code: 'Connection' });
});

test('an unguarded replace and a key without namespace are refused before they are sent', async () => {
  await using server = await misbehavingServer((_, response) => sendJson(response, MAP));
  await using client = createClient(server.config);
  const bare = { metadata: { name: 'a', namespace: 'ns' } };
  await assert.rejects(client.replaceStatus(CONFIG_MAP, bare), { code: 'BadRequest' });
  await assert.rejects(client.get(CONFIG_MAP, { name: 'a' }), { code: 'BadRequest' });
  assert.equal(server.requests.length, 0);
});

test('impersonation and TLS without verification', async () => {
  await using server = await misbehavingServer((_, response) => sendJson(response, MAP));
  const warnings: string[] = [];
  const impersonate = { user: 'u', uid: '1', groups: ['g1', 'g2'], extra: { 'a.b/c': ['x'] } };
  const config = { ...server.config, impersonate, insecureSkipTlsVerify: true };
  await using client = createClient(config, { warn: (text) => warnings.push(text) });
  await client.get(CONFIG_MAP, KEY);
  const headers = server.requests[0]?.headers ?? {};
  assert.equal(headers['impersonate-user'], 'u');
  assert.equal(headers['impersonate-group'], 'g1, g2');
  assert.equal(headers['impersonate-extra-a.b%2fc'], 'x');
  assert.equal(warnings.length, 1);
});

test('a 401 is answered once with newer credentials', async () => {
  await using server = await misbehavingServer((request, response) => {
    if (request.headers['authorization'] === 'Bearer new') return sendJson(response, MAP);
    sendStatus(response, 401, { reason: 'Unauthorized' });
  });
  let token = 'old';
  const credentials = {
    get: () => Promise.resolve({ authorization: `Bearer ${token}` }),
    reject: () => {
      token = token === 'old' ? 'new' : 'worse';
      return true;
    },
  };
  await using client = createClient({ ...server.config, credentials });
  await client.get(CONFIG_MAP, KEY);
  token = 'worst';
  assert.equal((await failureOf(client.get(CONFIG_MAP, KEY))).code, 'Unauthorized');
  assert.equal(server.requests.length, 4);
});

test('a dry run asks the server not to store, in the query, and for a delete in the body beside what becomes of dependents', async () => {
  await using server = await misbehavingServer((_, response) => sendJson(response, MAP));
  await using client = createClient(server.config);
  const dry = { dryRun: true };
  await client.create(CONFIG_MAP, MAP, dry);
  await client.replace(CONFIG_MAP, MAP, dry);
  await client.replaceStatus(CONFIG_MAP, MAP, dry);
  await client.apply(CONFIG_MAP, MAP, { manager: 'me' }, dry);
  await client.applyStatus(CONFIG_MAP, MAP, { manager: 'me' }, dry);
  await client.patch(CONFIG_MAP, KEY, [], dry);
  await client.mergePatch(CONFIG_MAP, KEY, {}, dry);
  for (const { query } of server.requests) assert.equal(query.get('dryRun'), 'All');
  await client.create(CONFIG_MAP, MAP, { dryRun: false });
  assert.equal(server.requests[7]?.query.has('dryRun'), false);
  await client.delete(CONFIG_MAP, KEY, { uid: 'u' }, { ...dry, propagation: 'Foreground' });
  await client.delete(CONFIG_MAP, KEY);
  assert.deepEqual(JSON.parse(server.requests[8]?.body ?? ''), {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions: { uid: 'u' },
    propagationPolicy: 'Foreground',
    dryRun: ['All'],
  });
  assert.deepEqual([server.requests[8]?.query.toString(), server.requests[9]?.body], ['', '']);
});

test('credentials that never come hold up neither an abort nor the end of the client', async () => {
  await using server = await misbehavingServer((_, response) => sendJson(response, MAP));
  const credentials = { get: () => new Promise<never>(() => undefined), reject: () => false };
  const client = createClient({ ...server.config, credentials }, { callDeadline: 10 });
  const stop = new AbortController();
  const aborted = client.get(CONFIG_MAP, KEY, { signal: stop.signal });
  const closed = client.get(CONFIG_MAP, KEY);
  const early = await Promise.race([aborted, closed, new Promise((resolve) => setTimeout(resolve, 50, 'waits'))]);
  assert.equal(early, 'waits', 'a person who logs in has more time than a call');
  stop.abort(new Error('enough'));
  await assert.rejects(aborted, /^Error: enough$/);
  const ended = assert.rejects(closed, { code: 'Connection' });
  await client[Symbol.asyncDispose]();
  await ended;
});

test('a server that gives the same continue token again never comes to an end: that is said after the second page', async () => {
  const page = { metadata: { resourceVersion: '9', continue: 't' }, items: [MAP] };
  await using server = await misbehavingServer((_, response) => sendJson(response, page));
  await using client = createClient(server.config);
  const error = await failureOf(Array.fromAsync(client.list(CONFIG_MAP)));
  assert.deepEqual([error.code, server.requests.length], ['BadAnswer', 2]);
});
