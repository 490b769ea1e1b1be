import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Cache, createCache, createClient, loadKubeconfig, type Observer } from '@drydock/kube';
import { fastClock } from '@drydock/kube/testing';
import { startSandbox, withoutRealServers } from '@drydock/sandbox';
import { CONFIG_MAP, type ConfigMap, each, eventually, NAMESPACE } from './support/kube-kinds.ts';

const skip = withoutRealServers('it restores etcd from a backup');

test('etcd is restored from a backup: the cache forgets what never was, although its watch is served without a word', {
  skip,
}, async () => {
  await using sandbox = await startSandbox();
  const data = join(sandbox.directory, 'etcd');
  const backup = join(sandbox.directory, 'backup');
  const stopped = async (work: () => Promise<unknown>): Promise<void> => {
    await sandbox.apiserver.kill();
    await sandbox.etcd.kill('SIGTERM');
    await work();
    await sandbox.etcd.start();
    await sandbox.apiserver.start();
  };
  await using client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  const namespace = 'restore';
  await client.create(NAMESPACE, { metadata: { name: namespace } });
  const make = (name: string): Promise<unknown> => client.create(CONFIG_MAP, { metadata: { namespace, name } });
  await make('kept');
  await stopped(() => cp(data, backup, { recursive: true }));

  const follow = (observer: Observer): Cache<ConfigMap> =>
    createCache({
      client: observer,
      resource: CONFIG_MAP,
      where: { namespace },
      clock: fastClock(60),
      onError: () => undefined,
    });
  await using cache = follow(client);
  await using trusting = follow({
    pages: (...asked) => client.pages(...asked),
    watchBatches: (...asked) => client.watchBatches(...asked),
  });
  await Promise.all([cache.synced, trusting.synced]);
  // So that the server, busy with itself after a start, does not catch up while the test looks.
  const annotate = (n: number): Promise<unknown> =>
    client.mergePatch(NAMESPACE, { name: namespace }, { metadata: { annotations: { n: `${n}` } } });
  await each(
    Array.from({ length: 1_000 }, (_, n) => n),
    4,
    annotate,
  );
  await make('lost');
  await eventually('the object', () => cache.size === 2 && trusting.size === 2);
  await stopped(async () => {
    await rm(data, { recursive: true });
    await cp(backup, data, { recursive: true });
  });
  await make('new');
  await eventually('what the server has now', () => cache.get({ namespace, name: 'new' }) !== undefined);
  assert.deepEqual(new Set([...cache.all()].map(({ metadata }) => metadata.name)), new Set(['kept', 'new']));
  // The negative control: without the question it would still show what never was.
  assert.deepEqual(new Set([...trusting.all()].map(({ metadata }) => metadata.name)), new Set(['kept', 'lost']));
  await eventually('that its watch is served', () => trusting.health().healthy);
});
