import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import { ApiError, type Clock, type KubeClient } from '@drydock/kube';
import { type ClusterCall, type MemoryCluster, memoryCluster, until } from '@drydock/kube/testing';
import { configMapOf, manifestsOf } from '../testing/apply-cluster.ts';
import { type WatchedObjects, watchedObjects } from './watched.ts';

const forbidden = (): ApiError =>
  new ApiError({ code: 'Forbidden', action: 'watch ConfigMap', said: 'you may not', status: 403 });

/** A cluster with ConfigMaps `a` and `b` in some namespaces, and the watches of it that were opened. */
async function world(namespaces: number): Promise<{
  readonly cluster: MemoryCluster;
  readonly client: KubeClient;
  readonly manifests: ReturnType<typeof manifestsOf>;
  readonly opened: string[];
}> {
  const names = Array.from({ length: namespaces }, (_, at) => `n${at}`);
  const cluster = memoryCluster({ namespaces: names });
  const client = cluster.client();
  const objects = names.flatMap((namespace) => ['a', 'b'].map((name) => configMapOf(namespace, name, { x: '1' })));
  for (const one of objects) await client.create(ConfigMap, one as never);
  const opened: string[] = [];
  cluster.onCall = (call, phase) => {
    if (phase === 'before' && call.verb === 'watch') opened.push(whereOf(call));
  };
  return { cluster, client, manifests: manifestsOf(...objects), opened };
}

/** `n0`, `n0 a` for one object by its name, `` for a whole kind. */
function whereOf({ path }: ClusterCall): string {
  const { pathname, searchParams } = new URL(path, 'http://server');
  const [, namespace = ''] = /\/namespaces\/([^/]+)/.exec(pathname) ?? [];
  const [, name = ''] = /metadata\.name=(.+)/.exec(searchParams.get('fieldSelector') ?? '') ?? [];
  return `${namespace} ${name}`.trim();
}

const knows = (live: WatchedObjects, namespace: string, name: string): string => {
  const look = live.look(ConfigMap, { namespace, name });
  return look.known ? `${look.object?.metadata.name ?? 'absent'}` : 'unknown';
};

suite('objects of a payload are watched with as few rights as can be', () => {
  test('a single object by its name, several in their namespace, many namespaces as a whole', async () => {
    const { client, manifests, opened } = await world(6);
    await using live = watchedObjects({ client, signal: new AbortController().signal });
    await live.cover(manifests.filter(({ id }) => id.namespace === 'n0' && id.name === 'a'));
    assert.deepEqual(opened.splice(0), ['n0 a']);
    assert.deepEqual([knows(live, 'n0', 'a'), knows(live, 'n0', 'b')], ['a', 'unknown']);
    await live.cover(manifests.filter(({ id }) => id.namespace === 'n0'));
    assert.deepEqual(opened.splice(0), ['n0']);
    await live.cover(manifests);
    assert.deepEqual(opened.splice(0), ['']);
    assert.deepEqual([knows(live, 'n0', 'a'), knows(live, 'n5', 'b')], ['a', 'b']);
    await live.cover(manifests);
    assert.deepEqual(opened, [], 'what is watched is not watched again');
  });

  test('whoever may not watch a kind everywhere watches it where its objects are', async () => {
    const { cluster, client, manifests, opened } = await world(6);
    const { onCall } = cluster;
    cluster.onCall = (call, phase, context) => {
      void onCall?.(call, phase, context);
      const where = whereOf(call);
      if (phase === 'before' && call.verb === 'watch' && (where === '' || where === 'n3')) throw forbidden();
    };
    await using live = watchedObjects({ client, signal: new AbortController().signal });
    await live.cover(manifests);
    assert.deepEqual(opened.splice(0), ['', 'n0', 'n1', 'n2', 'n3', 'n4', 'n5']);
    assert.deepEqual([knows(live, 'n3', 'a'), knows(live, 'n4', 'a')], ['unknown', 'a']);
    await live.cover(manifests);
    assert.deepEqual(opened, [], 'what is forbidden is not asked for in every pass');
  });

  test('what was forbidden is tried again after some minutes, and seen from then on', async () => {
    const { cluster, client, manifests } = await world(1);
    const { onCall } = cluster;
    cluster.onCall = (call, phase) => {
      if (phase === 'before' && call.verb === 'watch') throw forbidden();
    };
    let now = 0;
    const clock: Clock = { now: () => now, date: () => new Date(), sleep: () => new Promise(() => undefined) };
    await using live = watchedObjects({ client, clock, signal: new AbortController().signal });
    await live.cover(manifests);
    assert.equal(knows(live, 'n0', 'a'), 'unknown');
    cluster.onCall = onCall;
    now = 599_000;
    await live.cover(manifests);
    assert.equal(knows(live, 'n0', 'a'), 'unknown');
    now = 601_000;
    await live.cover(manifests);
    assert.equal(knows(live, 'n0', 'a'), 'a');
  });
});

test('what is listed once is not watched, is listed anew by the next, and watched from then on', async () => {
  const { cluster, client, manifests, opened } = await world(1);
  await using live = watchedObjects({ client, signal: new AbortController().signal });
  await live.cover(manifests, undefined, { once: true });
  assert.deepEqual([opened, knows(live, 'n0', 'a')], [[], 'a']);
  await client.delete(ConfigMap, { namespace: 'n0', name: 'a' });
  await live.cover(manifests, undefined, { once: true });
  assert.deepEqual([opened, knows(live, 'n0', 'a'), knows(live, 'n0', 'b')], [[], 'absent', 'b']);
  await live.cover(manifests);
  assert.deepEqual(opened, ['n0']);
  await client.delete(ConfigMap, { namespace: 'n0', name: 'b' });
  await until('its deletion was seen', () => knows(live, 'n0', 'b') === 'absent');
  cluster.onCall = (call, phase) => {
    if (phase === 'before' && call.verb === 'list') throw forbidden();
  };
  await live.cover(manifests, undefined, { once: true });
  assert.equal(knows(live, 'n0', 'b'), 'unknown', 'where it may not be listed each object is asked for');
});

test('a watch that is broken knows nothing, since what it saw may be out of date', async () => {
  const { cluster, client, manifests } = await world(1);
  await using live = watchedObjects({ client, signal: new AbortController().signal });
  await live.cover(manifests);
  assert.equal(knows(live, 'n0', 'a'), 'a');
  cluster.onCall = (call, phase) => {
    if (phase === 'before' && call.verb === 'watch')
      throw new ApiError({ code: 'Connection', action: 'watch ConfigMap', said: 'the server is gone' });
  };
  cluster.disconnect();
  await until('it is known to be broken', () => knows(live, 'n0', 'a') === 'unknown');
  cluster.onCall = undefined;
  await until('it is whole again', () => knows(live, 'n0', 'a') === 'a');
});

test('first lists that do not answer hold nobody up for long, and count when they are there', async () => {
  const { cluster, client, manifests } = await world(1);
  const held = Promise.withResolvers<void>();
  cluster.onCall = (call, phase) => (phase === 'before' && call.verb === 'watch' ? held.promise : undefined);
  const slept: number[] = [];
  const clock: Clock = {
    now: () => 0,
    date: () => new Date(),
    sleep: (ms) => {
      slept.push(ms);
      return Promise.resolve();
    },
  };
  await using live = watchedObjects({ client, clock, signal: new AbortController().signal });
  await live.cover(manifests);
  assert.deepEqual([slept, knows(live, 'n0', 'a')], [[10_000], 'unknown']);
  held.resolve();
  await until('it is there', () => knows(live, 'n0', 'a') === 'a');
});
