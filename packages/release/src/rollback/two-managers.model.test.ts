import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '@drydock/kube';
import { scheduler, seeds, withSeed } from '@drydock/model';
import { assertBack, goBack } from '../testing/rollback-process.ts';
import { rollbackWorld } from '../testing/rollback-world.ts';
import { rollBack } from './rollback.ts';

const FILE = 'packages/release/src/rollback/two-managers.model.test.ts';

test('two managers at once: whatever each of them does, a third one ends it whole', async () => {
  for (const seed of seeds(4))
    await withSeed(seed, FILE, async () => {
      const world = await rollbackWorld();
      const order = scheduler(seed);
      const clients = [world.cluster.client(), world.cluster.client()];
      world.cluster.onCall = async (_call, phase, { mutates }) => {
        if (phase === 'before') await order.turn();
        else if (mutates) world.tick();
      };
      let time = 0;
      const clock = {
        now: () => time,
        date: () => new Date(Date.UTC(2026, 0, 1)),
        sleep: async (ms: number) => {
          time += ms;
          world.tick();
        },
      };
      const ended = await order.run(
        clients.map((client) => () => rollBack(world.back, world.ports(client, { clock }))),
      );
      world.cluster.onCall = undefined;
      for (const one of ended)
        if (one.status === 'rejected')
          assert.ok(one.reason instanceof ApiError && one.reason.code === 'Conflict', String(one.reason));
      assert.deepEqual(world.broken, []);
      assert.equal((await goBack(world, world.back)).complete, true);
      assertBack(world);
    });
});
