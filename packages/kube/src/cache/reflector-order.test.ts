import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListPage, Observer, WatchEvent, WatchFrom } from '../client/client.ts';
import { ApiError, isExpired } from '../errors.ts';
import type { KubeObject } from '../resource.ts';
import { settle, virtualClock } from '../testing/clock.ts';
import { CONFIG_MAP, type ConfigMap } from '../testing/server.ts';
import { type Change, createCache } from './cache.ts';

function map(name: string, version: number): ConfigMap {
  return { metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: `${version}` } };
}

type Script = readonly WatchEvent<ConfigMap>[] | 'silence' | Error;

/** A server in memory: its n-th watch gives the n-th script and then waits; every list gives `items`. */
function observer(items: () => readonly ConfigMap[], scripts: readonly Script[]) {
  const watches: string[] = [];
  let lists = 0;
  const hold = (signal: AbortSignal | undefined): Promise<never> =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));
  const seen: Observer = {
    async *pages<T extends KubeObject>() {
      lists += 1;
      yield { items: items(), resourceVersion: `${lists}00` } as unknown as ListPage<T>;
    },
    async *watchBatches<T extends KubeObject>(
      _: unknown,
      from: WatchFrom,
      __: unknown,
      call: { signal?: AbortSignal } = {},
    ) {
      from.opened?.();
      const script = scripts[watches.push(from.resourceVersion) - 1] ?? 'silence';
      if (script instanceof Error) throw script;
      if (script !== 'silence') for (const event of script) yield [event as unknown as WatchEvent<T>];
      await hold(call.signal);
    },
  };
  return { observer: seen, watches, lists: () => lists };
}

const added = (object: ConfigMap): WatchEvent<ConfigMap> => ({ type: 'ADDED', object });
const modified = (object: ConfigMap): WatchEvent<ConfigMap> => ({ type: 'MODIFIED', object });
const deleted = (object: ConfigMap): WatchEvent<ConfigMap> => ({ type: 'DELETED', object });

function start(world: ReturnType<typeof observer>, clock = virtualClock()) {
  const errors: unknown[] = [];
  const changes: Change<ConfigMap>[] = [];
  const cache = createCache({
    client: world.observer,
    resource: CONFIG_MAP,
    initial: 'pages',
    clock,
    random: () => 0.5,
    onError: (error) => errors.push(error),
  });
  cache.subscribe((change) => changes.push(change));
  return { cache, changes, errors, clock };
}

const told = (changes: readonly Change<ConfigMap>[]): string[] =>
  changes.map(({ key, now }) => `${key.name} ${now?.metadata.resourceVersion ?? 'gone'}`);

test('an event that is repeated, whole or in a window of older ones, has no effect and costs nothing', async () => {
  const world = observer(
    () => [map('a', 50), map('b', 60)],
    [
      [
        modified(map('a', 101)),
        modified(map('a', 101)),
        modified(map('a', 102)),
        deleted(map('b', 103)),
        modified(map('a', 101)),
        modified(map('a', 102)),
        deleted(map('b', 103)),
        { type: 'BOOKMARK', resourceVersion: '90' },
        added(map('c', 104)),
      ],
    ],
  );
  const { cache, changes, errors } = start(world);
  await using _ = cache;
  await settle();
  assert.deepEqual(told(changes), ['a 50', 'b 60', 'a 101', 'a 102', 'b gone', 'c 104']);
  assert.deepEqual([world.lists(), errors.length], [1, 0]);
});

test('an event that comes late, of something else, makes the reflector list again: nothing is lost, nothing comes back', async () => {
  const late: Record<string, readonly WatchEvent<ConfigMap>[]> = {
    'a change': [modified(map('a', 105)), modified(map('b', 104))],
    'an object that is gone': [deleted(map('b', 105)), added(map('b', 104))],
    'a deletion': [modified(map('a', 105)), deleted(map('b', 104))],
  };
  for (const [name, events] of Object.entries(late)) {
    let first = true;
    const truth = [map('a', 105), map('b', 199)];
    const items = (): readonly ConfigMap[] => {
      const listed = first ? [map('a', 50), map('b', 60)] : truth;
      first = false;
      return listed;
    };
    const world = observer(items, [events]);
    const { cache, errors, clock } = start(world);
    await using _ = cache;
    await settle();
    assert.ok(errors.length === 1 && isExpired(errors[0]), name);
    assert.equal(world.lists(), 1, 'after a pause, not at once');
    await clock.advance(500);
    assert.deepEqual([world.lists(), world.watches[1]], [2, '200'], name);
    assert.deepEqual([...cache.all()], truth, name);
  }
});

test('versions that are no numbers are taken as they come', async () => {
  const odd = (name: string, version: string): ConfigMap => ({
    metadata: { ...map(name, 1).metadata, resourceVersion: version },
  });
  const world = observer(() => [odd('a', 'x')], [[modified(odd('a', 'w')), modified(odd('a', 'y'))]]);
  const { cache, changes } = start(world);
  await using _ = cache;
  await settle();
  assert.deepEqual(told(changes), ['a x', 'a w', 'a y']);
});

test('a watch that spoke and then is silent is half-open: it is dropped and resumed, without a list; bookmarks keep it', async () => {
  const world = observer(
    () => [map('a', 50)],
    [[modified(map('a', 150))], [{ type: 'BOOKMARK', resourceVersion: '170' }]],
  );
  const { cache, errors, clock } = start(world);
  await using _ = cache;
  await settle();
  await clock.advance(174_000);
  assert.equal(world.watches.length, 1);
  assert.equal(cache.health().healthy, true);
  await clock.advance(1_100);
  assert.deepEqual(world.watches, ['100', '150']);
  assert.equal((errors[0] as ApiError).code, 'BrokenStream');
  await clock.advance(176_000);
  assert.deepEqual([world.watches, world.lists()], [['100', '150', '170'], 1]);
});

test('a watch of a quiet kind, which gets no bookmarks, is opened again, and that is no failure', async () => {
  const world = observer(() => [map('a', 50)], []);
  const { cache, errors, clock } = start(world);
  await using _ = cache;
  await clock.advance(600_000);
  assert.deepEqual(world.watches, ['100', '100', '100', '100']);
  const { healthy, failures, lists } = cache.health();
  assert.deepEqual([healthy, failures, lists, errors.length], [true, 0, 1, 0]);
});

test('a silent server whose data was restored from an older backup is found out, and its collection is taken as it is', async () => {
  const world = observer(() => [map('a', world.lists() === 1 ? 5_000 : 30)], []);
  let restored = true;
  const asked: string[] = [];
  world.observer.reaches = (_, version) => {
    asked.push(version);
    return Promise.resolve(!restored);
  };
  const { cache, errors, clock } = start(world);
  await using _ = cache;
  await clock.advance(175_100);
  restored = false;
  assert.ok(isExpired(errors[0]));
  await clock.advance(500);
  assert.deepEqual(
    [...cache.all()].map(({ metadata }) => metadata.resourceVersion),
    ['30'],
  );
  await clock.advance(200_000);
  assert.deepEqual([asked, world.lists(), errors.length], [['100', '200'], 2, 1]);
});

test('pages that never come are given up after 150 s, too', async () => {
  const world = observer(() => [], []);
  world.observer.pages = async function* (_resource, _where, call) {
    yield* [];
    await new Promise((_, reject) =>
      call?.signal?.addEventListener('abort', () => reject(call.signal?.reason as Error)),
    );
  };
  const { cache, errors, clock } = start(world);
  await using _ = cache;
  await settle();
  await clock.advance(150_000);
  assert.match((errors[0] as Error).message, /^list ConfigMaps: the server was silent for 150 s/);
  assert.match(cache.health().reason ?? '', /silent/);
});

test('an event too large to be read is passed by a list, not met for ever', async () => {
  const big = new ApiError({
    code: 'AnswerTooLarge',
    action: 'watch ConfigMaps',
    said: 'an event is larger than 9 bytes',
  });
  const world = observer(() => [map('a', 50)], [big]);
  const { cache, clock } = start(world);
  await using _ = cache;
  await settle();
  await clock.advance(1_000);
  assert.deepEqual([world.lists(), world.watches], [2, ['100', '200']]);
});

test('twenty reflectors that lose their version at once do not list at once; one that loses it again and again slows down', async () => {
  const expired = new ApiError({ code: 'Expired', action: 'watch', said: 'too old' });
  const clock = virtualClock();
  const times: number[] = [];
  const worlds = Array.from({ length: 20 }, (_, n) => {
    const world = observer(() => [], [expired]);
    const pages = world.observer.pages.bind(world.observer);
    world.observer.pages = (resource, where, call) => {
      if (world.lists() > 0) times.push(clock.now());
      return pages(resource, where, call);
    };
    return createCache({
      client: world.observer,
      resource: CONFIG_MAP,
      initial: 'pages',
      clock,
      random: () => n / 20,
      onError: () => undefined,
    });
  });
  await clock.advance(1_000);
  assert.equal(times.length, 20);
  for (let n = 1; n < 20; n++) assert.equal((times[n] ?? 0) - (times[n - 1] ?? 0), 50);
  await Promise.all(worlds.map((cache) => cache[Symbol.asyncDispose]()));

  const loop = observer(() => [], Array(30).fill(expired));
  const { cache } = start(loop, clock);
  await using _ = cache;
  await clock.advance(120_000);
  assert.ok(loop.lists() < 15, `${loop.lists()} lists in two minutes`);
});
