import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  ApiError,
  type Cache,
  type Change,
  type ClusterConfig,
  createCache,
  createClient,
  type KubeClient,
  keyOf,
  keyText,
  leaderElection,
  loadKubeconfig,
  type Observer,
} from '@drydock/kube';
import { fastClock } from '@drydock/kube/testing';
import { generator } from '@drydock/model';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { pino } from 'pino';
import { type CuttingProxy, cuttingProxy } from './support/cutting-proxy.ts';
import { CONFIG_MAP, type ConfigMap, eventually, LEASE, NAMESPACE } from './support/kube-kinds.ts';

let sandbox: Sandbox;
let config: ClusterConfig;
let client: KubeClient;

before(async () => {
  sandbox = await startSandbox();
  config = await loadKubeconfig({ kubeconfig: sandbox.kubeconfig });
  client = createClient(config);
});

after(async () => {
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

interface Rig extends AsyncDisposable {
  readonly namespace: string;
  readonly proxy: CuttingProxy;
  readonly cache: Cache<ConfigMap>;
  readonly changes: readonly Change<ConfigMap>[];
  /** Whether the cache is what the server has. */
  agrees(): Promise<boolean>;
}

/** A namespace, and a cache of its ConfigMaps that sees the server through a proxy. */
async function rig(namespace: string, through: (client: Observer) => Observer = (one) => one): Promise<Rig> {
  await client.create(NAMESPACE, { metadata: { name: namespace } });
  const proxy = await cuttingProxy(sandbox.server);
  const far = createClient({ ...config, server: proxy.url });
  const where = { namespace };
  const cache = createCache({ client: through(far), resource: CONFIG_MAP, where, onError: () => undefined });
  const changes: Change<ConfigMap>[] = [];
  cache.subscribe((change) => changes.push(change));
  await cache.synced;
  const texts = (objects: Iterable<ConfigMap>): string =>
    [...objects]
      .map((object) => `${keyText(keyOf(object))} ${object.metadata.resourceVersion}`)
      .sort()
      .join();
  return {
    namespace,
    proxy,
    cache,
    changes,
    agrees: async () => texts(await Array.fromAsync(client.list(CONFIG_MAP, where))) === texts(cache.all()),
    [Symbol.asyncDispose]: async () => {
      await cache[Symbol.asyncDispose]();
      await far[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

test('a watch whose connection is cut again and again resumes where it was: one list, no change lost, none told twice', async () => {
  await using made = await rig('cuts');
  const { namespace, proxy, cache, changes } = made;
  const random = generator(7);
  let writing = true;
  const writes = (async () => {
    for (let n = 0; n < 400; n++) {
      const key = { namespace, name: `m-${n % 40}` };
      const turn = Math.floor(n / 40) % 4;
      if (turn === 0) await client.create(CONFIG_MAP, { metadata: key, data: { n: `${n}` } });
      else if (turn === 3) await client.delete(CONFIG_MAP, key);
      else await client.mergePatch(CONFIG_MAP, key, { data: { n: `${n}` } });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    writing = false;
  })();
  let cuts = 0;
  while (writing || cuts <= 8) {
    await new Promise((resolve) => setTimeout(resolve, 50 + random() * 250));
    const { watches } = cache.health();
    proxy.cut();
    cuts += 1;
    // However slow the machine, the next cut has a watch to cut.
    await eventually('another watch', () => cache.health().watches > watches);
  }
  await writes;
  await eventually('the cache as the server has it', () => made.agrees());
  await eventually('a healthy watch', () => cache.health().healthy);
  assert.ok(cuts > 8, `${cuts} cuts`);
  const health = cache.health();
  assert.equal(health.lists, 1, `no cut costs a list: ${JSON.stringify(health)}`);
  assert.ok(health.watches > cuts / 2, `${health.watches} watches after ${cuts} cuts`);
  const told = changes.map(
    ({ key, now, old }) => `${key.name} ${(now ?? old)?.metadata.resourceVersion} ${now === undefined}`,
  );
  assert.equal(new Set(told).size, told.length, 'a change was told twice');
  assert.equal(changes.length, 400, 'each write was told, those between two connections too');
});

test('negative control: a watch that begins anew without its version keeps what was deleted in between', async () => {
  const forgetful = (one: Observer): Observer => ({
    pages: (resource, where, options) => one.pages(resource, where, options),
    watchBatches: (resource, from, ...rest) => one.watchBatches(resource, { ...from, resourceVersion: '' }, ...rest),
  });
  for (const [name, through, lost] of [
    ['forgetful', forgetful, true],
    ['faithful', (one: Observer) => one, false],
  ] as const) {
    await using made = await rig(name, through);
    const key = { namespace: name, name: 'ghost' };
    await client.create(CONFIG_MAP, { metadata: key });
    await eventually('the object', () => made.cache.get(key) !== undefined);
    made.proxy.close();
    await client.delete(CONFIG_MAP, key);
    made.proxy.open();
    await client.create(CONFIG_MAP, { metadata: { namespace: name, name: 'next' } });
    await eventually('the next object', () => made.cache.get({ namespace: name, name: 'next' }) !== undefined);
    assert.equal(made.cache.get(key) !== undefined, lost, name);
  }
});

test('calls that share a connection survive cuts and a peer that is gone without a word: each write is told, and made once at most', async () => {
  await client.create(NAMESPACE, { metadata: { name: 'shared' } });
  await using proxy = await cuttingProxy(sandbox.server);
  await using far = createClient({ ...config, server: proxy.url }, { http2: true, requestTimeout: 1_000 });
  const write = async (name: string): Promise<string> => {
    try {
      return (await far.create(CONFIG_MAP, { metadata: { namespace: 'shared', name } })).metadata.uid ?? '';
    } catch (error) {
      assert.ok(error instanceof ApiError && ['Connection', 'Timeout'].includes(error.code), String(error));
      return '';
    }
  };
  const told = new Map<string, string>();
  for (let round = 0; round < 6; round += 1) {
    const writes = Array.from({ length: 80 }, async (_, at) => {
      const name = `c-${round}-${at}`;
      told.set(name, await write(name));
    });
    await eventually('some answers', () => told.size > round * 80 + 5);
    if (round % 2 === 0) proxy.cut();
    else proxy.freeze();
    await Promise.all(writes);
  }
  // A connection that says nothing is given up after a probe of a second: later calls are not behind it.
  await eventually('a call that is answered', async () => (await write('last')) !== '');
  const made = new Map(
    (await Array.fromAsync(client.list(CONFIG_MAP, { namespace: 'shared' }))).map(({ metadata }) => [
      metadata.name,
      metadata.uid,
    ]),
  );
  for (const [name, uid] of told) if (uid !== '') assert.equal(made.get(name), uid, name);
  const lost = [...told.values()].filter((uid) => uid === '').length;
  assert.ok(lost > 0 && lost < told.size - 30, `${lost} of ${told.size} answers lost`);
});

test('a connection that is frozen, not closed, is found by its silence, and the watch resumes', async () => {
  // Bookmarks come each minute, so minutes of silence are what a person would wait; the clock of the cache runs 60 times as fast.
  await client.create(NAMESPACE, { metadata: { name: 'frozen' } });
  await using proxy = await cuttingProxy(sandbox.server);
  await using far = createClient({ ...config, server: proxy.url });
  const errors: Error[] = [];
  await using cache = createCache({
    client: far,
    resource: CONFIG_MAP,
    where: { namespace: 'frozen' },
    clock: fastClock(60),
    onError: (error) => errors.push(error as Error),
  });
  await cache.synced;
  proxy.freeze();
  const key = { namespace: 'frozen', name: 'a' };
  await client.create(CONFIG_MAP, { metadata: key });
  await eventually('the object that was made in the silence', () => cache.get(key) !== undefined);
  assert.match(errors[0]?.message ?? '', /the server was silent for \d+ s/);
  assert.equal(cache.health().lists, 1);
});

test('SAFE-3 the lease is kept while every open connection is frozen, and while more calls hang than there are connections for', async () => {
  const key = { namespace: 'default', name: 'frozen' };
  await using proxy = await cuttingProxy(sandbox.server);
  await using far = createClient({ ...config, server: proxy.url });
  const times = { leaseDuration: 12_000, renewDeadline: 8_000, retryPeriod: 500 };
  const leader = leaderElection({ client: far, ...key, log: pino({ level: 'silent' }), ...times });
  const stop = new AbortController();
  const seen = { began: false, lost: false };
  const ended = leader.run(async (held) => {
    seen.began = true;
    held.addEventListener('abort', () => {
      seen.lost = true;
    });
    await new Promise<void>((resolve) => {
      AbortSignal.any([held, stop.signal]).addEventListener('abort', () => resolve(), { once: true });
    });
  }, stop.signal);
  const version = async (): Promise<string> => (await client.get(LEASE, key)).metadata.resourceVersion ?? '';
  const renewed = async (): Promise<void> => {
    const before = await version();
    await eventually('a renewal', async () => seen.lost || (await version()) !== before);
    assert.equal(seen.lost, false, 'the lease was lost');
  };
  await eventually('the lease', () => seen.began);
  await renewed();
  // Each of them is answered without end, and keeps a connection for itself.
  const path = '/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=600';
  const hanging = Array.from({ length: 20 }, () => far.raw({ path }, { signal: stop.signal }).catch(() => undefined));
  for (let renewals = 0; renewals < 4; renewals += 1) await renewed();
  for (let freezes = 0; freezes < 2; freezes += 1) {
    proxy.freeze();
    await renewed();
    await renewed();
  }
  leader.assertHeld();
  stop.abort();
  await ended;
  await Promise.all(hanging);
});
