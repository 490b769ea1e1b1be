import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import { ROLLBACK } from '@drydock/crd';
import { explore, soaking } from '@drydock/model';
import { idKey } from '../payload/manifest.ts';
import { applyOn, type Loose, wishOf } from '../testing/apply-cluster.ts';
import { assertBack, goBack, type WayFault } from '../testing/rollback-process.ts';
import {
  GADGET,
  isMarked,
  type RollbackWorld,
  rollbackWorld,
  shopDefinition,
  shopRelease,
  WIDGET,
} from '../testing/rollback-world.ts';
import { bridgeColumn } from './bridge-definition.ts';
import { DEFINITION, specOf } from './definitions.ts';
import { rollbackMemory } from './memory.ts';
import { restoreKept } from './restore.ts';
import type { RollbackWish } from './wish.ts';

test('RB-R89 RB-R92 a way back ends whole, whoever is killed or outrun at any call: no definition refuses what is stored, nothing is lost, no operator is refused', async (t) => {
  const coverage = await explore<RollbackWorld, WayFault>({
    setup: () => rollbackWorld(),
    // A process that is killed after a write is one that is killed before the next.
    faults: soaking ? ['killed', 'answer lost', 'conflict'] : ['answer lost', 'conflict'],
    depth: soaking ? 2 : 1,
    // Whoever is killed at a call that only looks has done as much as one who is killed at the change before it.
    tries: (_fault, place) => /^(create|replace|delete)/.test(place),
    run: async (world, tripwire) => {
      const outcome = await goBack(world, world.back, tripwire);
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
  await goBack(world, world.back);
  assertBack(world);
  const { payload, manifests } = world.newer;
  await applyOn(world.apply, wishOf(manifests, { owner: 'Payload shop', version: payload.version }));
  const client = world.cluster.client();
  const ports = world.ports(client);
  const { restored, kept } = await restoreKept({ ...ports, of: world.newer });
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

test('RB-R93 a writer that cannot be filtered keeps its definition at the bridge, and the others are narrowed', async () => {
  const world = await rollbackWorld('legacy');
  const memory = rollbackMemory();
  const outcome = await goBack(world, world.back, undefined, { memory });
  assert.deepEqual(world.broken, []);
  assert.deepEqual([outcome.complete, outcome.phase], [false, 'Recorded']);
  assert.deepEqual(
    outcome.kept.map(({ definition, objects }) => [definition, objects.map(({ object, path }) => `${object} ${path}`)]),
    [
      ['widgets.shop.example.com', ['one status.phase']],
      ['gadgets.shop.example.com', ['g status.code']],
    ],
  );
  assert.match(outcome.kept[0]?.objects[0]?.why ?? '', /its writer puts back what 1\.0\.0 does not take/);
  assert.notEqual(bridgeColumn(specOf(world.definition('widgets'))), undefined);
  // Its author mends it: the same call goes on.
  world.writer = 'older';
  const mended = await goBack(world, world.back, undefined, { memory });
  assert.deepEqual([mended.complete, mended.kept], [true, []]);
  assertBack(world);
});

test('a writer that says nothing is waited for, and no longer than it was said', async () => {
  const world = await rollbackWorld('silent');
  const outcome = await goBack(world, world.back);
  assert.equal(outcome.complete, true);
  assertBack(world);
});

test('RB-R97 where one definition fails those before it stay narrow, it is a bridge again, and what blocks it is told', async () => {
  const world = await rollbackWorld();
  const refused = new Set<string>();
  const outcome = await goBack(world, world.back, undefined, {
    onProgress: () => undefined,
    columns: async (resource, signal) => {
      const client = world.cluster.client();
      const columns = await world.ports(client).columns(resource, signal);
      // Somebody writes what only the newer release takes, between the last look and the moment in which the narrow definition is served.
      const narrow = !columns[0]?.some((one) => one.startsWith('drydock-bridge-'));
      if (narrow && resource.plural === 'gadgets' && !refused.has('gadgets')) {
        refused.add('gadgets');
        world.cluster.put(GADGET, { name: 'late' }, { status: { code: 'too-long-for-it' } } as never);
      }
      return columns;
    },
  });
  assert.deepEqual(outcome.kept, [
    {
      definition: 'gadgets.shop.example.com',
      why: 'statuses became illegal meanwhile',
      objects: [],
    },
  ]);
  assert.equal(bridgeColumn(specOf(world.definition('widgets'))), undefined);
  assert.notEqual(bridgeColumn(specOf(world.definition('gadgets'))), undefined);
});

test('RB-R96 a definition is not done before each server serves it', async () => {
  const world = await rollbackWorld();
  let lagging = 5;
  const client = world.cluster.client();
  const outcome = await goBack(world, world.back, undefined, {
    columns: async (resource, signal) => {
      const [columns = []] = await world.ports(client).columns(resource, signal);
      const isNarrow = !columns.some((one) => one.startsWith('drydock-bridge-'));
      lagging -= isNarrow ? 1 : 0;
      // The other server is late.
      const other = isNarrow && lagging > 0 ? ['drydock-bridge-00000000'] : columns;
      if (isNarrow && lagging > 0) assert.equal(isMarked(world.definition('widgets')), true);
      return [columns, other];
    },
  });
  assert.deepEqual([outcome.complete, lagging <= 0], [true, true]);
  const stuck = await rollbackWorld();
  const never = await goBack(stuck, stuck.back, undefined, {
    columns: async (resource, signal) => {
      const [columns = []] = await stuck.ports(stuck.cluster.client()).columns(resource, signal);
      const isNarrow = !columns.some((one) => one.startsWith('drydock-bridge-'));
      return [columns, isNarrow ? ['drydock-bridge-00000000'] : columns];
    },
  });
  assert.deepEqual(
    never.kept.map(({ why }) => why),
    ['not every API server has begun to serve it', 'not every API server has begun to serve it'],
  );
});

test('a way is broken off at any write before the first definition is narrowed: forward again nothing is lost, and nothing is left', async (t) => {
  let places = 0;
  for (let at = 0; ; at += soaking ? 1 : 3) {
    const world = await rollbackWorld();
    let writes = 0;
    const killed = await goBack(world, world.back, {
      hit: (place) => {
        if (!/^(create|replace|delete)/.test(place)) return undefined;
        writes += 1;
        return writes - 1 === at ? 'killed' : undefined;
      },
    }).then(
      () => false,
      () => true,
    );
    if (!killed) break;
    places += 1;
    const outcome = await goBack(world, world.forth);
    assert.deepEqual([outcome.complete, outcome.kept, world.broken], [true, [], []], `broken off at write ${at}`);
    await restoreKept({ ...world.ports(world.cluster.client()), of: world.newer });
    assert.deepEqual(world.lost(), []);
    assert.equal(world.image(), 'operator:1.1.0');
    for (const name of ['widgets', 'gadgets']) {
      assert.equal(isMarked(world.definition(name)), false, `${name} is marked, broken off at write ${at}`);
      assert.equal(bridgeColumn(specOf(world.definition(name))), undefined);
    }
    const { status, spec } = world.object(WIDGET, 'one') as { readonly status: object; readonly spec: object };
    assert.deepEqual(
      [{ ...status, beats: 0 }, spec],
      [
        { phase: 'Draining', features: ['x', 'z-feature'], note: 'note-of-the-new', beats: 0 },
        { size: 1, extra: 'extra-of-the-new' },
      ],
      `broken off at write ${at}`,
    );
  }
  t.diagnostic(`${places} writes`);
  assert.ok(places >= 10, `only ${places} writes`);
});

test('what nobody can bridge, who else goes back, and a ledger that nobody can read are refused by name before anything is changed', async () => {
  const refused = async (world: RollbackWorld, wish: RollbackWish, what: RegExp): Promise<void> => {
    const before = world.cluster.version;
    await assert.rejects(goBack(world, wish), what);
    assert.equal(world.cluster.version, before, 'nothing was written');
  };
  const world = await rollbackWorld();
  const typed = shopRelease('1.0.0', [
    shopDefinition(WIDGET, {
      spec: { type: 'object', properties: { size: { type: 'boolean' } } },
      status: { type: 'object', properties: { beats: { type: 'integer' } } },
    }),
  ]);
  await refused(
    world,
    { ...world.back, to: typed },
    /no definition takes what both releases write of widgets\.shop\.example\.com at spec\.size.*drydock crd bridge/s,
  );
  const marked = await rollbackWorld();
  const other = { [ROLLBACK]: JSON.stringify({ owner: 'Payload other', from: '2.0.0', to: '1.0.0' }) };
  const definition = marked.definition('gadgets');
  marked.cluster.put(DEFINITION, { name: definition.metadata.name }, {
    ...definition,
    metadata: { ...definition.metadata, annotations: other },
  } as never);
  await refused(
    marked,
    marked.back,
    /gadgets\.shop\.example\.com is held by somebody else: Payload other goes back from 2\.0\.0 to 1\.0\.0/,
  );
  const torn = await rollbackWorld();
  const name = 'drydock-rollback-ledger-widgets.shop.example.com';
  const labels = { 'app.kubernetes.io/managed-by': 'drydock', 'app.kubernetes.io/component': 'rollback-ledger' };
  const data = { somebody: 'not what we write' };
  torn.cluster.put(ConfigMap, { namespace: 'default', name }, { metadata: { name, labels }, data });
  await refused(torn, torn.back, /drydock-rollback-ledger-widgets\.shop\.example\.com, key somebody/);
});

/** Widgets whose spec has a mode. */
function moded(modes: readonly string[]): Loose {
  return shopDefinition(WIDGET, {
    spec: { type: 'object', properties: { size: { type: 'integer' }, mode: { type: 'string', enum: modes } } },
    status: { type: 'object', properties: { beats: { type: 'integer' } } },
  });
}

test('a finding that no way back heals stops it until it is accepted by its name; then its definition stays at the bridge', async () => {
  const world = await rollbackWorld();
  world.cluster.put(WIDGET, { name: 'odd' }, { spec: { size: 3, mode: 'new' }, status: { beats: 0 } } as never);
  const older = shopRelease('1.0.0', [moded(['old'])]);
  const wish = { ...world.back, to: older };
  world.cluster.put(DEFINITION, { name: 'widgets.shop.example.com' }, {
    ...world.definition('widgets'),
    spec: moded(['old', 'new'])['spec'],
  } as never);
  const before = world.cluster.version;
  const error: unknown = await goBack(world, wish).catch((cause: unknown) => cause);
  const [, id = ''] = /(Rollback\/LATENT:[^ ]+)/.exec(String(error)) ?? [];
  assert.match(id, /^Rollback\/LATENT:widgets\.shop\.example\.com/);
  assert.equal(world.cluster.version, before);
  const outcome = await goBack(world, { ...wish, accepted: [id] });
  assert.deepEqual(
    outcome.kept.map(({ objects }) => objects.map(({ object, path }) => `${object} ${path}`)),
    [['odd spec.mode']],
  );
});

test('SAFE-9 an inventory that somebody wrote into deletes nothing that does not say itself that this Payload made it', async () => {
  const world = await rollbackWorld();
  const client = world.cluster.client();
  const foreign = { namespace: 'default', name: 'foreign' };
  const { metadata } = await client.create(ConfigMap, { metadata: foreign, data: { a: '1' } });
  const { inventory, signal } = world.ports(client);
  const forged = await inventory.open(world.back.owner, signal);
  const own = [...forged.entries].find(([, { id }]) => id.name === 'only-new')?.[1] ?? assert.fail();
  const id = { ...own.id, name: foreign.name };
  await forged.write(new Map([[idKey(id), { ...own, id, uid: metadata.uid ?? '', made: true, written: {} }]]));
  const { complete, orphans } = await goBack(world, world.back);
  assertBack(world);
  assert.notEqual(world.cluster.peek(ConfigMap, foreign), undefined);
  assert.deepEqual(
    [complete, orphans.map((one) => `${one.id.name}: ${one.why}`)],
    [true, ['foreign: it does not say that Payload shop made it (annotation drydock.dev/made-by)']],
  );
});
