import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { createClient } from '../client/rest.ts';
import { lineFramer } from '../client/watch.ts';
import { ApiError } from '../errors.ts';
import {
  type Answer,
  CONFIG_MAP,
  type ConfigMap,
  misbehavingServer,
  type SeenRequest,
  sendJson,
  sendStatus,
} from '../testing/server.ts';
import { until } from '../testing/until.ts';
import { type Change, createCache } from './cache.ts';

function map(name: string, version: number, x = ''): ConfigMap {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: `${version}` },
    data: { x },
  };
}

function event(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

/** Lists answer with `list`, the n-th watch with the n-th of `watches`; later watches stay open in silence. Streamed lists are refused. */
function script(list: (n: number) => readonly ConfigMap[], watches: readonly Answer[]): Answer {
  let lists = 0;
  let opened = 0;
  return (request, response, n) => {
    if (isStreamedList(request))
      return sendStatus(response, 422, { reason: 'Invalid', message: 'forbidden for watch' });
    if (!request.query.has('watch')) {
      const items = list(lists++);
      sendJson(response, { metadata: { resourceVersion: `${lists}00` }, items });
      return;
    }
    const answer = watches[opened++];
    if (answer === undefined) open(response);
    else answer(request, response, n);
  };
}

const isStreamedList = ({ query }: SeenRequest): boolean => query.has('sendInitialEvents');
const isWatch = (request: SeenRequest): boolean => request.query.has('watch') && !isStreamedList(request);

function open(response: ServerResponse): ServerResponse {
  response.writeHead(200);
  response.flushHeaders();
  return response;
}

const versions = (requests: readonly SeenRequest[]) =>
  requests.filter(isWatch).map(({ query }) => query.get('resourceVersion'));
const lists = (requests: readonly SeenRequest[]) => requests.filter(({ query }) => !query.has('watch')).length;

test('the first list is initial, events follow, bookmarks move the version on', async () => {
  await using server = await misbehavingServer(
    script(
      () => [map('a', 1), map('b', 2)],
      [
        (request, response) => {
          assert.equal(request.query.get('allowWatchBookmarks'), 'true');
          const seconds = Number(request.query.get('timeoutSeconds'));
          assert.ok(seconds >= 300 && seconds <= 600);
          open(response).end(
            event('ADDED', map('c', 101)) +
              event('MODIFIED', map('a', 102, 'new')) +
              event('DELETED', map('b', 103, 'last')) +
              event('BOOKMARK', { metadata: { resourceVersion: '150' } }),
          );
        },
      ],
    ),
  );
  await using client = createClient(server.config);
  const changes: Change<ConfigMap>[] = [];
  await using cache = createCache({ client, resource: CONFIG_MAP });
  cache.subscribe((change) => changes.push(change));
  await cache.synced;
  await until('a second watch', () => versions(server.requests).length === 2);
  assert.deepEqual(versions(server.requests), ['100', '150']);
  assert.equal(lists(server.requests), 1);
  assert.deepEqual(
    changes.map(({ key, old, now, initial }) => [key.name, old?.data?.['x'], now?.data?.['x'], initial]),
    [
      ['a', undefined, '', true],
      ['b', undefined, '', true],
      ['c', undefined, '', false],
      ['a', '', 'new', false],
      ['b', 'last', undefined, false],
    ],
  );
});

const broken: Record<string, Answer> = {
  'HTTP 500': (_, response) => sendStatus(response, 500),
  'HTTP 429': (_, response) => sendStatus(response, 429, {}, { 'retry-after': '0' }),
  'a reset': (_, response) => response.destroy(),
  'an event cut in the middle': (_, response) => void open(response).end(event('ADDED', map('z', 500)).slice(0, -9)),
  'a cut connection': (_, response) => {
    open(response).write(event('ADDED', map('z', 500)).slice(0, 20));
    setTimeout(() => response.destroy(), 10);
  },
  'a line that does not parse': (_, response) =>
    void open(response).end(`{"type":"ADDED","object":{{\n${event('ADDED', map('z', 500))}`),
  'an ERROR event of code 500': (_, response) =>
    void open(response).end(
      event('ERROR', { kind: 'Status', code: 500, message: 'etcd' }) + event('ADDED', map('z', 500)),
    ),
  'an event of unknown type': (_, response) => void open(response).end(event('SURPRISE', map('z', 500))),
};

for (const [name, answer] of Object.entries(broken)) {
  test(`after ${name} the watch resumes from the last good version, without a new list`, async () => {
    await using server = await misbehavingServer(
      script(
        () => [map('a', 1)],
        [
          (_, response) => void open(response).end(event('ADDED', map('b', 120))),
          answer,
          (_, response) => void open(response).write(event('ADDED', map('c', 130))),
        ],
      ),
    );
    await using client = createClient(server.config);
    const errors: unknown[] = [];
    await using cache = createCache({ client, resource: CONFIG_MAP, onError: (error) => errors.push(error) });
    await until('the event after the break', () => cache.get({ namespace: 'ns', name: 'c' }));
    assert.deepEqual(versions(server.requests), ['100', '120', '120']);
    assert.equal(lists(server.requests), 1);
    assert.equal(cache.get({ namespace: 'ns', name: 'z' }), undefined);
    assert.equal(errors.length, 1);
    assert.ok(errors[0] instanceof ApiError && errors[0].retriable, String(errors[0]));
  });
}

const expired: Record<string, Answer> = {
  'HTTP 410': (_, response) => sendStatus(response, 410, { reason: 'Expired' }),
  'an ERROR event of code 410': (_, response) =>
    void open(response).end(event('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' })),
};

for (const [name, answer] of Object.entries(expired)) {
  test(`after ${name} the collection is listed again and the difference is told`, async () => {
    const first = [map('stays', 1), map('goes', 2), map('changes', 3), map('replaced', 4)];
    const other = { ...map('replaced', 180), metadata: { ...map('replaced', 180).metadata, uid: 'other' } };
    const second = [map('stays', 1), map('changes', 170, 'new'), other, map('comes', 190)];
    await using server = await misbehavingServer(script((n) => (n === 0 ? first : second), [answer]));
    await using client = createClient(server.config);
    const changes: Change<ConfigMap>[] = [];
    await using cache = createCache({ client, resource: CONFIG_MAP, onError: () => undefined });
    cache.subscribe((change) => change.initial || changes.push(change));
    await until('a watch from the new list', () => versions(server.requests)[1] === '200');
    assert.deepEqual(
      changes.map(({ key, old, now, missed }) => [key.name, old?.metadata.uid, now?.metadata.uid, missed]),
      [
        ['changes', 'uid-changes', 'uid-changes', undefined],
        ['replaced', 'uid-replaced', undefined, true],
        ['replaced', undefined, 'other', undefined],
        ['comes', undefined, 'uid-comes', undefined],
        ['goes', 'uid-goes', undefined, true],
      ],
    );
    assert.equal(cache.size, 4);
  });
}

test('Retry-After holds a watch back, and a server that ends every watch at once is not hammered', async () => {
  const closing: Answer = (_, response) => void open(response).end();
  await using server = await misbehavingServer(
    script(
      () => [],
      [(_, response) => sendStatus(response, 429, {}, { 'retry-after': '3' }), ...Array(50).fill(closing)],
    ),
  );
  const pauses: number[] = [];
  const clock = {
    now: () => 0,
    date: () => new Date(0),
    sleep: (ms: number, options?: { readonly background?: boolean }) => {
      if (options?.background === true) return new Promise<void>(() => undefined);
      pauses.push(ms);
      return Promise.resolve();
    },
  };
  await using client = createClient(server.config);
  await using cache = createCache({ client, resource: CONFIG_MAP, clock, random: () => 1, onError: () => undefined });
  await until('many watches', () => pauses.length > 12);
  await cache[Symbol.asyncDispose]();
  assert.deepEqual(
    pauses.slice(0, 11).map(Math.round),
    [3300, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000],
  );
});

test('the cache keeps trying while the server is down, and closes while it waits', async () => {
  await using server = await misbehavingServer((_, response) => response.destroy());
  await using client = createClient(server.config);
  const errors: unknown[] = [];
  const cache = createCache({ client, resource: CONFIG_MAP, onError: (error) => errors.push(error) });
  await until('three failures', () => errors.length >= 3);
  await cache[Symbol.asyncDispose]();
  await assert.rejects(cache.synced, { code: 'Unavailable' });
});

test('indexes follow changes, late subscribers get a replay, a throwing one disturbs nobody, transform applies', async () => {
  let push: ServerResponse | undefined;
  await using server = await misbehavingServer(
    script(
      () => [map('a', 1, 'red'), map('b', 2, 'red')],
      [
        (_, response) => {
          push = open(response);
        },
      ],
    ),
  );
  await using client = createClient(server.config);
  const errors: unknown[] = [];
  await using cache = createCache({
    client,
    resource: CONFIG_MAP,
    indexes: { colour: (object) => [object.data?.['x'] ?? ''] },
    transform: (object) => ({ ...object, data: { x: (object.data?.['x'] ?? '').toUpperCase() } }),
    onError: (error) => errors.push(error),
  });
  cache.subscribe(() => {
    throw new Error('mine');
  });
  await cache.synced;
  assert.deepEqual(
    cache.by('colour', 'RED').map(({ metadata }) => metadata.name),
    ['a', 'b'],
  );
  const names: string[] = [];
  using _late = cache.subscribe(({ key, initial }) => names.push(`${key.name} ${initial}`));
  (await until('the watch', () => push)).write(
    event('MODIFIED', map('a', 101, 'blue')) + event('DELETED', map('b', 102)),
  );
  await until('both events', () => cache.size === 1);
  assert.deepEqual(names, ['a true', 'b true', 'a false', 'b false']);
  assert.equal(cache.by('colour', 'RED').length, 0);
  assert.equal(cache.by('colour', 'BLUE').length, 1);
  assert.throws(() => cache.by('size', 'L'), /no index size/);
  assert.equal(errors.length, 4);
});

test('lines are framed on bytes, wherever chunks are cut', () => {
  const bytes = Buffer.from('{"a":"ä€😀"}\n\n{"b":1}\n{"c":2}\n', 'utf8');
  for (let size = 1; size <= bytes.length; size++) {
    const framer = lineFramer('read');
    const lines: string[] = [];
    for (let at = 0; at < bytes.length; at += size) lines.push(...framer.push(bytes.subarray(at, at + size)));
    framer.end();
    assert.deepEqual(lines, ['{"a":"ä€😀"}', '{"b":1}', '{"c":2}']);
  }
});
