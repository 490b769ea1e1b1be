import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { CallOptions, ListPage, Observer, Selector, WatchEvent, WatchFrom } from '../client/client.ts';
import { createClient } from '../client/rest.ts';
import type { KubeObject, Resource } from '../resource.ts';
import { settle, virtualClock } from '../testing/clock.ts';
import {
  type Answer,
  CONFIG_MAP,
  type ConfigMap,
  type MisbehavingServer,
  misbehavingServer,
  type SeenRequest,
  sendJson,
  sendStatus,
} from '../testing/server.ts';
import { until } from '../testing/until.ts';
import { type Change, createCache } from './cache.ts';
import { stringSharer } from './shared-strings.ts';

function map(name: string, version: number): ConfigMap {
  return { metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: `${version}` } };
}

const event = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;
const bookmark = (version: string, annotations: Record<string, string> = {}): string =>
  event('BOOKMARK', { kind: 'ConfigMap', metadata: { resourceVersion: version, annotations } });
const END = { 'k8s.io/initial-events-end': 'true' };

/** `list`, `streamed list 422`, `watch 7`: what was asked, in order. */
function story({ requests }: MisbehavingServer): string[] {
  return requests.map(({ query }: SeenRequest) => {
    if (!query.has('watch')) return 'pages';
    return query.has('sendInitialEvents') ? 'stream' : `watch ${query.get('resourceVersion')}`;
  });
}

function open(response: ServerResponse, text = ''): ServerResponse {
  response.writeHead(200);
  response.flushHeaders();
  if (text !== '') response.write(text);
  return response;
}

/** Answers the n-th streamed list with the n-th of `streams` (then with 422), pages with one object, watches with silence. */
function script(...streams: readonly Answer[]): Answer {
  let asked = 0;
  return (request, response, n) => {
    if (!request.query.has('watch')) {
      sendJson(response, { metadata: { resourceVersion: '100' }, items: [map('paged', 1)] });
    } else if (!request.query.has('sendInitialEvents')) open(response);
    else {
      const stream = streams[asked++];
      if (stream === undefined)
        sendStatus(response, 422, { reason: 'Invalid', message: 'sendInitialEvents is forbidden' });
      else stream(request, response, n);
    }
  };
}

test('the first list comes as a stream, is swapped in as a whole, and the same watch goes on', async () => {
  let push: ServerResponse | undefined;
  await using server = await misbehavingServer(
    script((request, response) => {
      assert.equal(request.query.get('resourceVersionMatch'), 'NotOlderThan');
      assert.equal(request.query.get('allowWatchBookmarks'), 'true');
      assert.equal(request.query.has('resourceVersion'), false);
      push = open(response, event('ADDED', map('b', 90)) + event('ADDED', map('a', 7)) + bookmark('80'));
    }),
  );
  await using client = createClient(server.config);
  const changes: Change<ConfigMap>[] = [];
  await using cache = createCache({ client, resource: CONFIG_MAP });
  cache.subscribe((change) => changes.push(change));
  (await until('the stream', () => push)).write(event('ADDED', map('c', 50)));
  await settle();
  assert.equal(cache.size, 0, 'half a list is no list');
  push?.write(bookmark('100', END) + event('MODIFIED', map('a', 101)));
  await cache.synced;
  await until('the change', () => changes.length === 4);
  assert.deepEqual(
    changes.map(({ key, initial }) => [key.name, initial]),
    [
      ['b', true],
      ['a', true],
      ['c', true],
      ['a', false],
    ],
  );
  push?.end();
  await until('the next watch', () => cache.health().watches === 2);
  assert.deepEqual(story(server), ['stream', 'watch 101']);
  assert.deepEqual(cache.health(), {
    kind: 'ConfigMap',
    synced: true,
    healthy: true,
    brokenFor: 0,
    lists: 1,
    watches: 2,
    failures: 0,
  });
});

test('a server without streamed lists is asked once, and it is no failure', async () => {
  await using server = await misbehavingServer(script());
  await using client = createClient(server.config);
  const errors: unknown[] = [];
  await using cache = createCache({ client, resource: CONFIG_MAP, onError: (error) => errors.push(error) });
  await cache.synced;
  await until('the watch', () => server.requests.length === 3);
  assert.deepEqual(story(server), ['stream', 'pages', 'watch 100']);
  assert.deepEqual([errors.length, cache.health().failures], [0, 0]);
});

test('a proxy that swallows the end of the stream costs twenty seconds, then pages are used', async () => {
  const clock = virtualClock();
  const endless: Answer = (_, response) => void open(response, event('ADDED', map('a', 1)));
  await using server = await misbehavingServer(script(endless, endless));
  await using client = createClient(server.config);
  const errors: Error[] = [];
  await using cache = createCache({
    client,
    resource: CONFIG_MAP,
    clock,
    onError: (error) => errors.push(error as Error),
  });
  for (const n of [1, 2]) {
    await until(`stream ${n}`, () => server.requests.length === n && cache.health().watches === n);
    await clock.advance(10_000);
    await until(`failure ${n}`, () => errors.length === n);
    await clock.advance(200);
  }
  await cache.synced;
  assert.match(errors[0]?.message ?? '', /^watch ConfigMaps: the server was silent for 10 s\./);
  assert.deepEqual(story(server).slice(0, 3), ['stream', 'stream', 'pages']);
  assert.equal(cache.get({ namespace: 'ns', name: 'a' }), undefined, 'the torn list was thrown away');
});

test('a stream that is cut is tried once more, and what the first one brought is forgotten', async () => {
  await using server = await misbehavingServer(
    script(
      (_, response) => {
        open(response, event('ADDED', map('ghost', 1)));
        setTimeout(() => response.destroy(), 10);
      },
      (_, response) => void open(response, event('ADDED', map('a', 1)) + bookmark('9', END)),
    ),
  );
  await using client = createClient(server.config);
  await using cache = createCache({ client, resource: CONFIG_MAP, onError: () => undefined });
  await cache.synced;
  assert.deepEqual(
    [...cache.all()].map(({ metadata }) => metadata.name),
    ['a'],
  );
});

test('after a 410 the new list is a stream as well', async () => {
  let streams = 0;
  const stream: Answer = (_, response) => {
    streams += 1;
    open(response, event('ADDED', map(`of-${streams}`, streams)) + bookmark(`${streams}0`, END));
    if (streams === 1) response.end(event('ERROR', { kind: 'Status', code: 410, reason: 'Expired' }));
  };
  await using server = await misbehavingServer(script(stream, stream));
  await using client = createClient(server.config);
  await using cache = createCache({ client, resource: CONFIG_MAP, random: () => 0, onError: () => undefined });
  await until('the second list', () => cache.health().lists === 2);
  assert.deepEqual(story(server), ['stream', 'stream']);
  assert.deepEqual(
    [...cache.all()].map(({ metadata }) => metadata.name),
    ['of-2'],
  );
});

test('a server that ignores the option and always has changes is found out after a minute', async () => {
  const clock = virtualClock();
  const asked: string[] = [];
  const observer: Observer = {
    async *pages<T extends KubeObject>() {
      asked.push('pages');
      yield { items: [], resourceVersion: '100' } as ListPage<T>;
    },
    async *watchBatches<T extends KubeObject>(_: Resource<T>, from: WatchFrom, __?: Selector, call?: CallOptions) {
      asked.push(from.initialEvents === true ? 'stream' : `watch ${from.resourceVersion}`);
      for (let n = 1; ; n++) {
        await clock.sleep(9_000, call);
        yield [{ type: 'MODIFIED', object: map('a', 100 + n) } as unknown as WatchEvent<T>];
      }
    },
  };
  const errors: Error[] = [];
  const onError = (error: unknown): void => void errors.push(error as Error);
  await using cache = createCache({ client: observer, resource: CONFIG_MAP, clock, onError });
  await clock.advance(60_000);
  assert.deepEqual([errors.length, asked], [0, ['stream']]);
  await clock.advance(10_000);
  await cache.synced;
  assert.match(errors[0]?.message ?? '', /the streamed list did not end within 60 s/);
  assert.deepEqual(asked, ['stream', 'pages', 'watch 100']);
});

test('an object nested as deep as a server allows is cached', async () => {
  let spec: unknown = 'core';
  for (let depth = 0; depth < 9_990; depth++) spec = [spec];
  const sink = stringSharer();
  const parsed = { metadata: { name: 'deep' }, spec };
  assert.doesNotThrow(() => sink(parsed));
});
