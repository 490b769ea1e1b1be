import assert from 'node:assert/strict';
import { ConfigMap } from '@drydock/api';
import { ApiError } from '@drydock/kube';
import type { MemoryKubeClient } from '@drydock/kube/testing';
import type { Tripwire } from '@drydock/model';
import { bridgeColumn } from '../rollback/bridge-definition.ts';
import { specOf } from '../rollback/definitions.ts';
import { rollBack } from '../rollback/rollback.ts';
import type { RollbackOutcome, RollbackPorts, RollbackWish } from '../rollback/wish.ts';
import { isMarked, type RollbackWorld, WIDGET } from './rollback-world.ts';

/** What happens to a process at one of its calls. */
export type WayFault = 'killed' | 'answer lost' | 'conflict';

/** One process, from its start to its end; the operator writes whenever something was changed, and while it is waited for. */
export async function goBack(
  world: RollbackWorld,
  wish: RollbackWish,
  tripwire?: Tripwire<WayFault>,
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
export function assertBack(world: RollbackWorld): void {
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
