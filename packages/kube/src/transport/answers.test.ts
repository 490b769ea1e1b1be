import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { KubeClient } from '../client/client.ts';
import { createClient } from '../client/rest.ts';
import type { ApiError, ApiErrorCode } from '../errors.ts';
import { failureOf } from '../testing/failure.ts';
import { type Answer, CONFIG_MAP, misbehavingServer, sendJson, sendStatus } from '../testing/server.ts';
import type { AnswerBounds } from './body.ts';
import type { TransportOptions } from './transport.ts';

const KEY = { namespace: 'ns', name: 'a' };
const MAP = { metadata: { name: 'a', namespace: 'ns', resourceVersion: '7' } };

const calls: Record<string, (client: KubeClient) => Promise<unknown>> = {
  'get ConfigMap ns/a': (client) => client.get(CONFIG_MAP, KEY),
  'list ConfigMaps': (client) => Array.fromAsync(client.list(CONFIG_MAP)),
  'patch ConfigMap ns/a': (client) => client.patch(CONFIG_MAP, KEY, []),
  'watch ConfigMaps': (client) =>
    Array.fromAsync(client.watch(CONFIG_MAP, { resourceVersion: '1', timeoutSeconds: 300 })),
};

/** The failure of each of the four calls against one answer. */
async function each(
  answer: Answer,
  options: TransportOptions,
  check: (error: ApiError, action: string) => void,
): Promise<void> {
  for (const [action, call] of Object.entries(calls)) {
    await using server = await misbehavingServer(answer);
    await using client = createClient(server.config, { requestTimeout: 30_000, callDeadline: 60_000, ...options });
    const error = await failureOf(call(client));
    assert.ok(error.message.startsWith(`${action}: `), error.message);
    check(error, action);
  }
}

/** Sends without end, as fast as the other side reads, or one character each `ms`. */
function pour(response: ServerResponse, begin: string, more: string, ms = 0): void {
  response.write(begin);
  const flow = (): void => {
    while (!response.destroyed && ms === 0) if (!response.write(more)) return void response.once('drain', flow);
    if (response.destroyed) return;
    response.write(more);
    setTimeout(flow, ms).unref();
  };
  flow();
}

const bounds: AnswerBounds = { maxBody: 4 * 2 ** 20, maxLine: 2 ** 20 };

test('an HTML page is named as such with its title, whatever status it comes with', async () => {
  const page = '<!DOCTYPE html>\n<html><head><title>Log in</title></head><body>secret</body></html>';
  for (const [status, code] of [
    [200, 'BadAnswer'],
    [502, 'ServerError'],
    [403, 'Forbidden'],
  ] as const) {
    const answer: Answer = (_, response) => void response.writeHead(status, { 'content-type': 'text/html' }).end(page);
    await each(answer, {}, (error) => {
      assert.equal(error.code, code);
      assert.match(error.message, /an HTML page titled "Log in"/);
      assert.equal(error.message.includes('secret'), false);
    });
  }
});

test('answers that are no objects, no lists, or without metadata are typed errors', async () => {
  const odd: readonly unknown[] = ['text', null, 42, [], {}, { kind: 'ConfigMap' }, { metadata: null, items: [] }];
  for (const body of odd) {
    await each(
      (_, response) => sendJson(response, body),
      {},
      (error, action) => {
        assert.equal(
          error.code,
          action === 'watch ConfigMaps' ? 'BrokenStream' : 'BadAnswer',
          `${action} ${JSON.stringify(body)}`,
        );
        assert.equal(error.retriable, true);
      },
    );
  }
  const nameless = { metadata: { resourceVersion: '1' }, items: [MAP, { metadata: {} }] };
  await using server = await misbehavingServer((_, response) => sendJson(response, nameless));
  await using client = createClient(server.config);
  const error = await failureOf(Array.fromAsync(client.list(CONFIG_MAP)));
  assert.match(error.message, /^list ConfigMaps: an item of the list has no metadata\.name\./);
});

test('an object without metadata is refused before it is sent', async () => {
  await using server = await misbehavingServer((_, response) => sendJson(response, MAP));
  await using client = createClient(server.config);
  const bare = { data: {} } as unknown as typeof MAP;
  for (const write of [
    client.create(CONFIG_MAP, bare),
    client.replace(CONFIG_MAP, bare),
    client.apply(CONFIG_MAP, bare, { manager: 'me' }),
  ]) {
    const error = await failureOf(write);
    assert.deepEqual([error.code, /no metadata\.name/.test(error.message)], ['BadRequest', true]);
  }
  assert.equal(server.requests.length, 0);
});

test('a kind that the server does not serve is told from an object that is not there', async () => {
  const kindless: readonly Answer[] = [
    (_, response) => void response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n'),
    (_, response) =>
      sendStatus(response, 404, {
        reason: 'NotFound',
        message: 'the server could not find the requested resource',
        details: {},
      }),
  ];
  for (const answer of kindless) {
    await each(answer, {}, (error) => {
      assert.equal(error.code, 'NotFound');
      assert.match(error.message, /install its CustomResourceDefinition/);
    });
  }
  const gone = { reason: 'NotFound', message: 'configmaps "a" not found', details: { name: 'a', kind: 'configmaps' } };
  await using server = await misbehavingServer((_, response) => sendStatus(response, 404, gone));
  await using client = createClient(server.config);
  assert.match((await failureOf(client.get(CONFIG_MAP, KEY))).message, /Check the name and the namespace/);
});

test('a body that never ends is cut at its bound', async () => {
  const more = 'x'.repeat(65_536);
  await each(
    (_, response) => pour(response, '{"metadata":{"name":"', more),
    bounds,
    (error) => {
      assert.equal(error.code, 'AnswerTooLarge');
      assert.match(error.message, /larger than \d+ bytes\. Narrow the request/);
    },
  );
});

test('a body that never ends and never grows ends at the deadline; so does one of an error', async () => {
  for (const status of [200, 500]) {
    const drip: Answer = (_, response) => pour(response.writeHead(status), '{"metadata":{"name":"', 'x', 20);
    for (const [action, call] of Object.entries(calls).slice(0, 3)) {
      await using server = await misbehavingServer(drip);
      await using client = createClient(server.config, { callDeadline: 200 });
      const error = await failureOf(call(client));
      assert.equal(error.code, 'Timeout', action);
      assert.match(error.message, new RegExp(`^${action}: http://.+ gave no complete answer within 200 ms`));
    }
  }
  await using server = await misbehavingServer((_, response) => pour(response.writeHead(500), 'no', 'o', 20));
  await using client = createClient(server.config, { callDeadline: 200 });
  assert.equal((await failureOf(calls['watch ConfigMaps']?.(client) ?? Promise.resolve())).code, 'Timeout');
});

test('the answer of an error is read only as far as it can matter', async () => {
  const endless: Answer = (_, response) => pour(response.writeHead(503), 'the server is ', 'very '.repeat(10_000));
  await each(endless, {}, (error) => {
    const code: ApiErrorCode = 'Unavailable';
    assert.equal(error.code, code);
    assert.ok(error.message.length < 1_000);
  });
});

test('an object of 5 MB is read, written and watched; a page of them is read in parts', async () => {
  const big = { ...MAP, data: { x: 'y'.repeat(5 * 2 ** 20) } };
  const items = Array.from({ length: 40 }, (_, n) => ({ ...big, metadata: { ...big.metadata, name: `m-${n}` } }));
  const pages: string[] = [];
  await using server = await misbehavingServer((request, response) => {
    if (request.query.has('watch')) {
      response.end(`${JSON.stringify({ type: 'ADDED', object: big })}\n`);
    } else if (request.query.has('limit')) {
      const limit = Number(request.query.get('limit'));
      const from = Number(request.query.get('continue') ?? '0');
      pages.push(`${from}+${limit}`);
      const next = from + limit;
      const metadata = { resourceVersion: '9', ...(next < items.length ? { continue: `${next}` } : {}) };
      sendJson(response, { metadata, items: items.slice(from, next) });
    } else sendJson(response, big);
  });
  await using client = createClient(server.config);
  assert.equal((await client.get(CONFIG_MAP, KEY)).data?.['x']?.length, 5 * 2 ** 20);
  assert.equal((await client.create(CONFIG_MAP, big)).data?.['x']?.length, 5 * 2 ** 20);
  assert.equal(
    (await Array.fromAsync(client.watch(CONFIG_MAP, { resourceVersion: '1', timeoutSeconds: 300 }))).length,
    1,
  );
  const names = new Set<string>();
  for await (const { metadata } of client.list(CONFIG_MAP)) names.add(metadata.name);
  assert.equal(names.size, 40);
  assert.deepEqual(pages, ['0+500', '0+125', '0+32', '0+8', '8+8', '16+8', '24+8', '32+8']);
});

test('a redirection is no answer of an API server, and is not followed; where it leads is said without its query', async () => {
  const location = 'https://login.example:8443/auth?state=secret';
  for (const status of [301, 302, 307]) {
    const answer: Answer = (_, response) => void response.writeHead(status, { location }).end();
    await each(answer, {}, (error) => {
      assert.deepEqual([error.code, error.status], ['BadAnswer', status]);
      assert.match(
        error.message,
        /a redirection to https:\/\/login\.example:8443 \(HTTP 30\d\)\. Check that the address/,
      );
      assert.equal(error.message.includes('secret'), false);
    });
  }
});

test('a request that cannot be put on the wire is a BadRequest, which is not repeated', async () => {
  await using server = await misbehavingServer(() => undefined);
  await using client = createClient(server.config);
  const error = await failureOf(client.raw({ path: '/a b' }));
  assert.deepEqual([error.code, error.retriable, server.requests.length], ['BadRequest', false, 0]);
});

test('OWN-20 a path that every API server has, and this one has not, is that of something else: no kind is missing', async () => {
  await using server = await misbehavingServer((_, response) =>
    sendStatus(response, 404, { reason: 'NotFound', message: 'nothing is here' }),
  );
  await using client = createClient(server.config);
  for (const path of ['/api', '/apis', '/version'])
    assert.equal(
      (await failureOf(client.raw({ path }))).message,
      `GET ${path}: “nothing is here”. Check that the address is that of a Kubernetes API server, not of a proxy, a console or a login page before it.`,
    );
  assert.match((await failureOf(client.raw({ path: '/apis/a/v1' }))).message, /does not serve this kind at all/);
});
