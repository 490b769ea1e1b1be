import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ConfigMap } from '@drydock/api';
import { KubeClientKilled } from '@drydock/kube/testing';
import { scheduler, seeds, soaking, withSeed } from '@drydock/model';
import { readManifestFile } from '../payload/manifest.ts';
import { applyOn, configMapOf, manifestsOf, widgetDefinition, wishOf } from '../testing/apply-cluster.ts';
import { applyVoyage } from '../testing/apply-voyage.ts';
import { discovered, memoryApplyCluster } from '../testing/memory-apply.ts';
import { configMapInventory } from './inventory/config-maps.ts';
import { MADE_BY } from './merge/metadata.ts';
import type { ApplyPorts } from './wish.ts';

const FILE = 'packages/release/src/apply/apply-crash.model.test.ts';

/** As after lists that were empty. */
async function nothingThere({
  cluster,
}: ReturnType<typeof memoryApplyCluster>): Promise<Pick<ApplyPorts, 'live' | 'memory'>> {
  return { memory: await discovered(cluster), live: { look: () => ({ known: true, object: undefined }) } };
}

test('an update that is killed after any call ends as if it had not been, forward and back', async () => {
  const { calls } = await applyVoyage(memoryApplyCluster(), { back: false });
  assert.ok(calls > 20, `only ${calls} calls: the voyage no longer does what it is to try`);
  for (const back of [false, true]) {
    // Before a call the server is as it was after the one before it.
    for (let at = 0; at < calls; at += 1) {
      await applyVoyage(memoryApplyCluster(), { kill: { at, phase: 'after' }, back }).catch((error: unknown) => {
        throw new Error(`killed after call ${at}, then ${back ? 'back' : 'on'}`, { cause: error });
      });
    }
  }
});

test('a request or an answer that is lost at any call of an update changes nothing of how it ends', async () => {
  const { calls } = await applyVoyage(memoryApplyCluster(), { back: true });
  for (const phase of ['before', 'after'] as const) {
    for (let at = 0; at < calls; at += 1) {
      await applyVoyage(memoryApplyCluster(), { kill: { at, phase, lives: true }, back: true }).catch(
        (error: unknown) => {
          throw new Error(`cut ${phase} call ${at}`, { cause: error });
        },
      );
    }
  }
});

test('two owners that begin at the same time never both have an object, in whatever order their calls come', async () => {
  let [both, none] = [0, 0];
  const together = (): void => assert.ok(none > 0, 'no order made both refuse: the orders are not mixed');
  for (const seed of seeds(60, undefined, undefined, together)) {
    await withSeed(seed, FILE, async () => {
      const cluster = memoryApplyCluster();
      const order = scheduler(seed);
      cluster.hook = (_call, phase) => (phase === 'before' ? order.turn() : undefined);
      const owners = ['Payload one', 'Payload two'];
      const ended = await order.run(
        owners.map(
          (owner) => () =>
            applyOn(cluster, wishOf(manifestsOf(configMapOf('default', 'shared', { by: owner })), { owner })),
        ),
      );
      cluster.hook = undefined;
      const complete = ended.map((one) => {
        assert.ok(one.status === 'fulfilled');
        return one.value.complete;
      });
      if (complete.every(Boolean)) both += 1;
      if (!complete.some(Boolean)) none += 1;
      const { data } = cluster.cluster.peek(ConfigMap, { namespace: 'default', name: 'shared' }) ?? {};
      assert.equal(data?.['by'], owners[complete.indexOf(true)]);
      // Whoever took back its claim leaves the way free for the other.
      const outcomes = [];
      for (const owner of owners)
        outcomes.push(
          await applyOn(cluster, wishOf(manifestsOf(configMapOf('default', 'shared', { by: owner })), { owner })),
        );
      assert.equal(outcomes.filter((one) => one.complete).length, 1);
      if (!complete.some(Boolean)) assert.equal(outcomes[0]?.complete, true);
    });
  }
  assert.equal(both, 0);
});

test('two owners whose first installations begin at the same time and are killed at any of their calls: begun again, one of them gets the object, and never both have it', async () => {
  let killed = 0;
  const together = (): void => assert.ok(killed > 0, 'none was killed');
  // Each pair of calls at which they end (the last number: never), before and after it, in four orders.
  for (const seed of seeds(6 * 6 * 2 * 4, undefined, undefined, together)) {
    await withSeed(seed, FILE, async () => {
      const cluster = memoryApplyCluster();
      const order = scheduler(seed);
      const nothing = await nothingThere(cluster);
      const owners = ['Payload one', 'Payload two'];
      const wishes = owners.map((owner) =>
        wishOf(manifestsOf(configMapOf('default', 'shared', { by: owner })), { owner, mode: 'initializing' }),
      );
      const writers = new Set<string | undefined>();
      cluster.cluster.subscribe(({ now }) => {
        if (now?.metadata.name === 'shared') writers.add((now as ConfigMap).data?.['by']);
      });
      const ends = [seed % 6, Math.floor(seed / 6) % 6];
      const dies = Math.floor(seed / 36) % 2 === 0 ? 'before' : 'after';
      const calls = new Map<string, { count: number; readonly end: number | undefined }>();
      cluster.hook = async (_call, phase, { client }) => {
        const mine = calls.get(client.id) ?? { count: 0, end: ends[calls.size] };
        calls.set(client.id, mine);
        if (phase === 'before') await order.turn();
        if (phase !== dies || mine.count++ !== mine.end) return;
        killed += 1;
        client.kill();
        throw new KubeClientKilled();
      };
      await order.run(wishes.map((wish) => () => applyOn(cluster, wish, nothing)));
      cluster.hook = (_call, phase) => (phase === 'before' ? order.turn() : undefined);
      await order.run(wishes.map((wish) => () => applyOn(cluster, wish)));
      cluster.hook = undefined;
      const complete = [];
      for (let round = 0; round < 2; round += 1)
        for (const wish of wishes) if ((await applyOn(cluster, wish)).complete) complete.push(wish.owner.name);
      const { data } = cluster.cluster.peek(ConfigMap, { namespace: 'default', name: 'shared' }) ?? {};
      assert.deepEqual([...writers], [data?.['by']]);
      assert.deepEqual(complete, [data?.['by'], data?.['by']]);
    });
  }
});

test('two processes of one owner at the same time: whatever each of them writes, a third one ends it as one would have', async () => {
  let stopped = 0;
  const together = (): void => assert.ok(stopped > 0, 'the two never met');
  for (const seed of seeds(40, undefined, undefined, together)) {
    await withSeed(seed, FILE, async () => {
      const cluster = memoryApplyCluster();
      const objects = ['a', 'b', 'c'].map((name) =>
        configMapOf('default', name, { [name]: '1' }, { labels: { x: '1' } }),
      );
      const wish = wishOf(manifestsOf(...objects));
      const order = scheduler(seed);
      cluster.hook = (_call, phase) => (phase === 'before' ? order.turn() : undefined);
      const ended = await order.run([wish, wish].map((one) => () => applyOn(cluster, one)));
      cluster.hook = undefined;
      stopped += ended.filter((one) => one.status === 'rejected' || !one.value.complete).length;
      assert.equal((await applyOn(cluster, wish)).complete, true);
      const without = wishOf(manifestsOf(...['a', 'b', 'c'].map((name) => configMapOf('default', name, {}))));
      assert.equal((await applyOn(cluster, without)).complete, true);
      for (const name of ['a', 'b', 'c']) {
        const left = cluster.cluster.peek(ConfigMap, { namespace: 'default', name });
        assert.deepEqual([left?.data, left?.metadata.labels], [undefined, undefined], `${name} keeps what we wrote`);
      }
    });
  }
});

test('a first installation that is killed at any call, whatever else is under way then: the inventory knows every object that was made', async () => {
  const definitions = Array.from({ length: 6 }, (_, at) => widgetDefinition(`g${at}.example.com`).crd);
  // More than one ConfigMap of the inventory holds.
  const maps = Array.from({ length: 100 }, (_, at) => configMapOf('default', `a-${at}`, { x: '1' }));
  const manifests = [...definitions, ...maps].flatMap((object, at) => {
    const component = at < definitions.length ? 'crds' : `c${at % 4}`;
    return readManifestFile(`release-manifests/0000_10_${component}_${100 + at}.yaml`, JSON.stringify(object));
  });
  const wish = wishOf(manifests, { mode: 'initializing' });
  const killedAt = async (call: number, phase: 'before' | 'after'): Promise<number> => {
    const cluster = memoryApplyCluster();
    const nothing = await nothingThere(cluster);
    let calls = 0;
    let dead = false;
    cluster.cluster.onCall = async ({ key }, at, { client, mutates }) => {
      if (at === phase && calls++ === call) {
        dead = true;
        client.kill();
      }
      // What is kept takes longest, and then may not have been sent.
      const keeps = mutates && at === 'before' && key?.name.startsWith('drydock-release-') === true;
      if (keeps) await setImmediate();
      if (dead) throw new KubeClientKilled();
    };
    await applyOn(cluster, wish, nothing).catch(() => undefined);
    cluster.cluster.onCall = undefined;
    const known = await configMapInventory({ client: cluster.cluster.client(), namespace: 'default' }).open(
      wish.owner,
      new AbortController().signal,
    );
    for (const object of Object.values(cluster.cluster.snapshot())) {
      if (object.metadata.annotations?.[MADE_BY] === undefined) continue;
      const entry = [...known.entries.values()].find(
        ({ id }) => id.name === object.metadata.name && id.kind === object.kind,
      );
      const says = entry?.uid === object.metadata.uid || entry?.intent?.resourceVersion === '';
      assert.ok(says, `killed ${phase} call ${call}: ${object.kind} ${object.metadata.name} is unknown`);
    }
    assert.equal((await applyOn(cluster, wish)).complete, true);
    return calls;
  };
  const calls = await killedAt(Number.POSITIVE_INFINITY, 'after');
  assert.ok(calls > manifests.length);
  // The first ones are those of the inventory, the others are all alike.
  for (let call = 0; call < calls; call += soaking || call < 24 ? 1 : 31)
    for (const phase of ['before', 'after'] as const) await killedAt(call, phase);
});
