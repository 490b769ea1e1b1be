import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import { scheduler, seeds, withSeed } from '@drydock/model';
import { applyOn, configMapOf, manifestsOf, wishOf } from '../testing/apply-cluster.ts';
import { applyVoyage } from '../testing/apply-voyage.ts';
import { memoryApplyCluster } from '../testing/memory-apply.ts';

const FILE = 'packages/release/src/apply/apply-crash.model.test.ts';

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
    });
  }
  assert.equal(both, 0);
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
