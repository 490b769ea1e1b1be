import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import { ApiError } from '@drydock/kube';
import type { MemoryKubeClient } from '@drydock/kube/testing';
import { explore, soaking, type Tripwire } from '@drydock/model';
import { applyOn, wishOf } from '../testing/apply-cluster.ts';
import { GADGET, isMarked, type RollbackWorld, rollbackWorld, WIDGET } from '../testing/rollback-world.ts';
import { bridgeColumn } from './bridge-definition.ts';
import { specOf } from './definitions.ts';
import { restoreKept } from './restore.ts';
import { rollBack } from './rollback.ts';
import type { RollbackOutcome, RollbackPorts, RollbackWish } from './wish.ts';

type Fault = 'killed' | 'answer lost' | 'conflict';

/** One process, from its start to its end; the operator writes whenever something was changed, and while it is waited for. */
async function run(
  world: RollbackWorld,
  wish: RollbackWish,
  tripwire?: Tripwire<Fault>,
  more: Partial<RollbackPorts> = {},
): Promise<RollbackOutcome> {
  const client: MemoryKubeClient = world.cluster.client();
  let lost = false;
  let time = 0;
  world.cluster.onCall = ({ resource, verb }, phase, { mutates }) => {
    if (phase === 'before') {
      const fault = tripwire?.hit(`${verb} ${resource}`);
      if (fault === 'conflict' && mutates) throw conflict();
      if (fault === 'killed') kill(client);
      lost = fault === 'answer lost';
      return;
    }
    if (mutates) world.tick();
    if (lost) kill(client);
  };
  const clock = {
    now: () => time,
    date: () => new Date(Date.UTC(2026, 0, 1)),
    sleep: async (ms: number) => {
      time += ms;
      world.tick();
    },
  };
  try {
    return await rollBack(wish, world.ports(client, { clock, ...more }));
  } finally {
    world.cluster.onCall = undefined;
  }
}

function kill(client: MemoryKubeClient): never {
  client.kill();
  throw new Error('killed');
}

function conflict(): ApiError {
  return new ApiError({ code: 'Conflict', action: 'write', said: 'the object has been modified', status: 409 });
}

/** The older release is there, wholly, and nothing of the newer one but what is kept. */
function assertBack(world: RollbackWorld): void {
  assert.deepEqual(world.broken, []);
  assert.equal(world.image(), 'operator:1.0.0');
  for (const name of ['widgets', 'gadgets']) {
    const definition = world.definition(name);
    assert.equal(isMarked(definition), false, `${name} is marked`);
    assert.equal(bridgeColumn(specOf(definition)), undefined, `${name} is a bridge`);
  }
  assert.deepEqual(world.lost(), []);
  const { status } = world.object(WIDGET, 'one') as { readonly status: object };
  assert.deepEqual({ ...status, beats: 0 }, { features: ['x'], beats: 0 });
  assert.equal(world.cluster.peek(ConfigMap, { namespace: 'default', name: 'only-new' }), undefined);
}

test('RB-R89 RB-R92 a way back ends whole, whoever is killed or outrun at any call: no definition refuses what is stored, nothing is lost, no operator is refused', async (t) => {
  const coverage = await explore<RollbackWorld, Fault>({
    setup: () => rollbackWorld(),
    faults: ['killed', 'answer lost', 'conflict'],
    depth: soaking ? 2 : 1,
    // Whoever is killed at a call that only looks has done as much as one who is killed at the change before it.
    tries: (_fault, place) => /^(create|replace|delete)/.test(place),
    run: async (world, tripwire) => {
      const outcome = await run(world, world.back, tripwire);
      assert.deepEqual([outcome.kept, outcome.errors], [[], []]);
    },
    check: async (world) => {
      assertBack(world);
    },
  });
  t.diagnostic(`${coverage.scenarios} histories, ${coverage.places.length} calls`);
  assert.ok(coverage.places.length >= 40, coverage.places.join(', '));
});

test('control: the payload alone narrows definitions under what is stored, and loses it', async () => {
  const world = await rollbackWorld();
  const { payload, manifests } = world.older;
  await applyOn(world.apply, wishOf(manifests, { owner: 'Payload shop', version: payload.version }));
  world.tick();
  assert.match(world.broken.join('; '), /widgets one is illegal/);
});

test('RB-R91 forward again: what was left out is in its objects again, and the ledgers are empty', async () => {
  const world = await rollbackWorld();
  await run(world, world.back);
  assertBack(world);
  const { payload, manifests } = world.newer;
  await applyOn(world.apply, wishOf(manifests, { owner: 'Payload shop', version: payload.version }));
  const client = world.cluster.client();
  const ports = world.ports(client);
  const { restored, kept } = await restoreKept(ports);
  assert.deepEqual([restored > 0, kept, world.broken], [true, 0, []]);
  const { status, spec } = world.object(WIDGET, 'one') as { readonly status: object; readonly spec: object };
  assert.deepEqual(
    [{ ...status, beats: 0 }, spec],
    [
      { phase: 'Draining', features: ['x', 'z-feature'], note: 'note-of-the-new', beats: 0 },
      { size: 1, extra: 'extra-of-the-new' },
    ],
  );
  assert.equal(
    (world.object(GADGET, 'g') as { readonly status: { readonly code: string } }).status.code,
    'code-too-long',
  );
  assert.deepEqual(await ports.kept.definitions(ports.signal), []);
});
