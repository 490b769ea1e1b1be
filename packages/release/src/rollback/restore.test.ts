import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, type KubeClient } from '@drydock/kube';
import { applyOn, manifestsOf, wishOf } from '../testing/apply-cluster.ts';
import { GADGET, type RollbackWorld, rollbackWorld, shopDefinition, WIDGET } from '../testing/rollback-world.ts';
import { DEFINITION } from './definitions.ts';
import { restoreKept } from './restore.ts';
import { rollBack } from './rollback.ts';

/** Back at 1.0.0, with all that it cannot hold kept; `forward`: and then the newer release again. */
async function backWorld({
  forward = true,
  used = () => undefined,
}: {
  readonly forward?: boolean;
  readonly used?: (world: RollbackWorld) => void;
} = {}): Promise<RollbackWorld> {
  const world = await rollbackWorld();
  used(world);
  const client = world.cluster.client();
  world.cluster.onCall = (_call, phase, { mutates }) => {
    if (phase === 'after' && mutates) world.tick();
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
  const outcome = await rollBack(world.back, world.ports(client, { clock }));
  world.cluster.onCall = undefined;
  assert.ok(outcome.complete);
  if (forward) await goForward(world);
  return world;
}

async function goForward(world: RollbackWorld): Promise<void> {
  const { payload, manifests } = world.newer;
  await applyOn(world.apply, wishOf(manifests, { owner: 'Payload shop', version: payload.version }));
}

const restored = (world: RollbackWorld) => restoreKept({ ...world.ports(world.cluster.client()), of: world.newer });
const statusOf = (world: RollbackWorld, name = 'one'): object =>
  ({ ...(world.object(WIDGET, name)['status'] as object), beats: 0 }) as object;
const NEWER = { phase: 'Draining', features: ['x', 'z-feature'], note: 'note-of-the-new', beats: 0 };
const conflict = () =>
  new ApiError({ code: 'Conflict', action: 'write', said: 'the object has been modified', status: 409 });

test('what was kept of both halves of an object is in it again, once, and the ledger forgets it', async () => {
  const world = await backWorld();
  const first = await restored(world);
  assert.deepEqual([first.restored > 0, first.kept], [true, 0]);
  assert.deepEqual(statusOf(world), NEWER);
  assert.deepEqual(world.object(WIDGET, 'one')['spec'], { size: 1, extra: 'extra-of-the-new' });
  // An operator changes it: what was put back is not put back again.
  const live = world.cluster.peek(WIDGET, { name: 'one' });
  world.cluster.put(WIDGET, { name: 'one' }, { ...live, status: { phase: 'Ready', features: [], beats: 0 } } as never);
  assert.deepEqual(await restored(world), { restored: 0, kept: 0 });
  assert.deepEqual(statusOf(world), { phase: 'Ready', features: [], beats: 0 });
});

test('RB-R91 an operator of the newer release that writes before anything was put back takes no item of a keyed list away: its own counts, and the others return', async () => {
  const ready = { type: 'Ready', status: 'True' };
  const write = (world: RollbackWorld, conditions: readonly object[]): void => {
    const live = world.cluster.peek(WIDGET, { name: 'one' });
    const status = { ...(live as unknown as { readonly status: object }).status, conditions };
    world.cluster.put(WIDGET, { name: 'one' }, { ...live, status } as never);
  };
  const world = await backWorld({ used: (one) => write(one, [ready, { type: 'Alive', status: 'False' }]) });
  assert.equal((statusOf(world) as { readonly conditions?: object }).conditions, undefined, 'it was left out whole');
  const alive = { type: 'Alive', status: 'True' };
  write(world, [alive]);
  assert.equal((await restored(world)).kept, 0);
  assert.deepEqual(statusOf(world), { ...NEWER, conditions: [ready, alive] });
  assert.deepEqual(world.broken, []);
});

test('what the live definition cannot hold stays where it is kept, and nothing is written', async () => {
  const world = await backWorld({ forward: false });
  const objects = (): readonly object[] => [world.object(WIDGET, 'one'), world.object(GADGET, 'g')];
  const before = objects();
  const { restored: none, kept } = await restored(world);
  assert.deepEqual([none, kept > 0], [0, true]);
  assert.deepEqual(objects(), before);
  assert.deepEqual(world.lost(), []);
  await goForward(world);
  assert.deepEqual((await restored(world)).kept, 0);
  assert.deepEqual(statusOf(world), NEWER);
});

test('a kind that somebody is going back with is left alone, and the others are not', async () => {
  const world = await backWorld();
  const definition = world.definition('widgets');
  const marker = {
    ...definition.metadata.annotations,
    'drydock.dev/rollback': JSON.stringify({ from: '1.1.0', to: '1.0.0', owner: 'Payload other' }),
  };
  world.cluster.put(DEFINITION, { name: definition.metadata.name }, {
    ...definition,
    metadata: { ...definition.metadata, annotations: marker },
  } as never);
  assert.deepEqual(await restored(world), { restored: 1, kept: 0 }, 'the other kind gets its own back');
  assert.notDeepEqual(statusOf(world), NEWER);
  assert.deepEqual(world.lost(), []);
});

test('another object of the same name gets nothing of the one that is gone', async () => {
  const world = await backWorld();
  const client = world.cluster.client();
  await client.delete(WIDGET, { name: 'one' });
  await client.create(WIDGET, { metadata: { name: 'one' }, spec: { size: 7 } } as never);
  await restored(world);
  assert.deepEqual(world.object(WIDGET, 'one')['spec'], { size: 7 });
  assert.equal(world.object(WIDGET, 'one')['status'], undefined);
});

test('a write that lost is decided anew; after six of them what is kept stays kept, and the next call puts it back', async () => {
  const world = await backWorld();
  const conflicts = async (most: number): Promise<readonly [restored: number, kept: number, tried: number]> => {
    let tried = 0;
    world.cluster.onCall = ({ verb, resource, key }, phase) => {
      if (phase !== 'before' || verb !== 'replaceStatus' || !resource.startsWith('widgets.') || key?.name !== 'one')
        return;
      tried += 1;
      if (tried <= most) throw conflict();
    };
    const { restored: back, kept } = await restored(world);
    world.cluster.onCall = undefined;
    return [back, kept, tried];
  };
  const [, kept, tried] = await conflicts(100);
  assert.deepEqual([kept > 0, tried], [true, 6]);
  assert.notDeepEqual(statusOf(world), NEWER);
  assert.deepEqual((await conflicts(2)).slice(1), [0, 3]);
  assert.deepEqual(statusOf(world), NEWER);
});

test('what a server cuts that does not serve the newer definition yet is written again, and is kept until then', async () => {
  const world = await backWorld();
  let cuts = 1;
  let writes = 0;
  const client = world.cluster.client();
  const cutting: KubeClient = {
    ...client,
    list: client.list.bind(client),
    replace: (resource, object, options) => {
      if (resource.plural === WIDGET.plural) writes += 1;
      if (resource.plural !== WIDGET.plural || cuts === 0) return client.replace(resource, object, options);
      cuts -= 1;
      return client.replace(resource, { ...object, spec: { size: 1 } }, options);
    },
  };
  const { kept } = await restoreKept({ ...world.ports(client), client: cutting, of: world.newer });
  assert.deepEqual([kept, cuts, writes], [0, 0, 2]);
  assert.deepEqual(world.object(WIDGET, 'one')['spec'], { size: 1, extra: 'extra-of-the-new' });
});

test('SAFE-9 what is kept of kinds that another release brings is neither read nor written by this one, whose account may not', async () => {
  const world = await backWorld();
  const client = world.cluster.client();
  const other = { manifests: manifestsOf(shopDefinition({ ...WIDGET, kind: 'Lamp', plural: 'lamps' }, {})) };
  const before = [world.object(WIDGET, 'one'), world.object(GADGET, 'g')];
  const asked: string[] = [];
  const refusing: KubeClient = {
    ...client,
    get: (resource, key, options) => {
      asked.push(`${resource.plural} ${key.name}`);
      const denied = new ApiError({ code: 'Forbidden', action: 'get', said: `may not get ${key.name}`, status: 403 });
      return key.name.startsWith('lamps') ? client.get(resource, key, options) : Promise.reject(denied);
    },
  };
  const ports = { ...world.ports(client), client: refusing };
  assert.deepEqual(await restoreKept({ ...ports, of: other }), { restored: 0, kept: 0 });
  assert.deepEqual(asked, []);
  assert.deepEqual([world.object(WIDGET, 'one'), world.object(GADGET, 'g')], before);
  await assert.rejects(restoreKept({ ...ports, of: world.newer }), /may not get (widgets|gadgets)/, 'control');
  assert.equal((await restored(world)).kept, 0);
});
