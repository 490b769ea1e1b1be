import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_KEYS, type TemplateStore, templateStore } from '@drydock/templates';
import { memoryLedger, memoryOva, TEST_KEYS, testPlacement, testUptime } from '@drydock/templates/testing';
import type { MachineSnapshot, MemoryInventory } from '@drydock/vsphere/testing';
import { ownerBy010, RELEASED, releasedWorld } from './templates-released.ts';
import { FOLDER, type Installation, wishFor } from './templates-world.ts';

const OWNER = 'cluster-uid';
const placement = testPlacement();
const LIVENESS = { holderIsLive: () => undefined, referenced: () => undefined };
const INSTALLATIONS: readonly Installation[] = [
  { keyed: true, ledger: 'file' },
  { keyed: true, ledger: 'cluster' },
  { keyed: false, ledger: 'file' },
  { keyed: false, ledger: 'cluster' },
];

/** What this version makes of each state: whether it may be swept once its importer is dead, and whether `adopt` takes it. */
const STATES: readonly (readonly [state: string, swept: boolean, adopted: boolean])[] = [
  ['uploading', true, false],
  ['uploaded', true, false],
  ['verified', false, false],
  ['marking', false, false],
  ['template, still marking', false, true],
  ['published', false, true],
  ['published without a key', false, true],
  ['held', false, true],
  ['adopted', false, true],
  ['swapped', false, true],
  ['put away', false, true],
  ['retired', false, true],
  ['claimed', false, true],
];

type World = ReturnType<typeof releasedWorld> & { readonly records: ReturnType<typeof memoryLedger> };

function worldOf(state: string, { ledger }: Installation): World {
  return { ...releasedWorld(state), records: memoryLedger(ledger === 'cluster' ? 'cluster' : 'file') };
}

/** A process of this version; `refers`: what the cluster names, and without a key has announced as well. */
function storeOf(
  { inventory, clock }: World,
  { keyed }: Installation,
  records: World['records'],
  refers: (name: string) => boolean = () => false,
): TemplateStore {
  return templateStore({
    ...{ cacheDir: '/nonexistent', clock, uptime: testUptime(clock), ovas: memoryOva(), ledger: records },
    vcenters: async () => inventory.client(),
    markKeys: async () => (keyed ? TEST_KEYS : NO_KEYS),
    cluster: { recorded: () => !keyed && refers(''), refers, retired: refers },
  });
}

function released({ inventory, ref }: World): MachineSnapshot | undefined {
  return inventory.snapshot().machines.find((machine) => machine.ref.endsWith(ref.value));
}

/** Everything of it that version 0.1.0 reads. */
function legacyText(machine: MachineSnapshot | undefined): string {
  if (machine === undefined) return 'gone';
  const { name, isTemplate, instanceUuid, extraConfig, customValues } = machine;
  const read = ['drydock', 'drydock.record', 'drydock.proof', 'drydock.pointers'].map((field) => customValues[field]);
  return JSON.stringify([name, isTemplate, instanceUuid, extraConfig, read]);
}

const collect = (store: TemplateStore) => store.collect(placement, OWNER, { ...LIVENESS, keep: 0, graceMs: 0 });
/** Publishes under each name as the CLI does, and resolves to the names that were published; a refusal is an answer, too. */
async function publishAll(store: TemplateStore): Promise<readonly string[]> {
  const swaps = ['stable', 'by-hand'].map((name) => ({ kind: 'swap', name, unmarked: 'refuse' }) as const);
  const names: string[] = [];
  for (const publication of [{ kind: 'pointer' } as const, ...swaps]) {
    const published = store.publish(wishFor('9.6', { base: 'pointer', publication, holder: 'another' }), LIVENESS);
    const name = await published.then(
      (made) => made.name,
      () => undefined,
    );
    if (name !== undefined) names.push(name);
  }
  return names;
}

test('each recorded state of version 0.1.0 has a row', () => {
  assert.deepEqual(STATES.map(([state]) => state).toSorted(), Object.keys(RELEASED).toSorted());
  for (const machine of Object.values(RELEASED).filter(({ extraConfig }) => 'drydock.owner' in extraConfig))
    assert.equal(ownerBy010(machine), OWNER);
});

for (const installation of INSTALLATIONS)
  for (const [state, swept, adopted] of STATES) {
    const setting = `${installation.keyed ? 'key' : 'no key'}, ${installation.ledger}`;
    test(`${setting}: what version 0.1.0 left as "${state}" is kept and not used, and adopted by a person alone`, async () => {
      const world = worldOf(state, installation);
      const before = legacyText(released(world));
      const { instanceUuid, name } = released(world) ?? assert.fail();
      const store = storeOf(world, installation, world.records);
      await collect(store);
      assert.equal(legacyText(released(world)), before, 'its importer may be alive');
      const published = await publishAll(store);
      assert.ok(published.length > 0);
      assert.ok(!published.includes(name), `${name} was used`);
      assert.equal(legacyText(released(world)), before);
      // After two days of silence, only what is provably half-made goes.
      world.clock.advance(2 * 86_400_000);
      await collect(store);
      const gone = swept && installation.keyed;
      assert.equal(legacyText(released(world)), gone ? 'gone' : before);
      if (gone) return;
      const adopting = store.adopt({ placement, owner: OWNER, reference: instanceUuid, holder: 'h' });
      if (!adopted) {
        await assert.rejects(adopting);
        return;
      }
      const { role } = await adopting;
      assert.ok(['current', 'adopted', 'staged', 'retired'].includes(role), role);
      assert.equal(legacyText(released(world)), before, 'version 0.1.0 reads what it wrote');
    });
  }

/** Ends the process of a migration at its `at`th change, before or after it is made; false: there are fewer. */
function cutAt(inventory: MemoryInventory, records: World['records'], at: number, phase: 'before' | 'after') {
  const cut = { calls: 0, fell: false };
  const strike = (now: 'before' | 'after'): void => {
    if (now === 'before') cut.calls += 1;
    if (cut.fell || cut.calls !== at || now !== phase) return;
    cut.fell = true;
    throw new Error('the process ends here');
  };
  inventory.onCall = (_, now, __, { mutates }) => {
    if (cut.fell) throw new Error('the process has ended');
    if (mutates) strike(now);
  };
  const ledger: World['records'] = {
    ...records,
    change: async (key, next) => {
      if (cut.fell) throw new Error('the process has ended');
      strike('before');
      const after = await records.change(key, next);
      strike('after');
      return after;
    },
  };
  return { cut, ledger };
}

/** A pass of the operator while machine sets use the template: it takes over what the cluster refers to, then collects. */
async function collectUsed(store: TemplateStore): Promise<void> {
  await store.collect(placement, OWNER, { ...LIVENESS, referenced: () => 'a machine set', keep: 0 });
}

const MIGRATIONS = {
  'the operator takes over': async (store: TemplateStore) => {
    await collectUsed(store);
  },
  'a person adopts': async (store: TemplateStore, uuid: string) => {
    await store.adopt({ placement, owner: OWNER, reference: uuid, holder: 'h' });
  },
} as const;

// An operator's ledger is the cluster's.
for (const [what, migrate] of Object.entries(MIGRATIONS))
  for (const installation of INSTALLATIONS.filter(({ ledger }) => what === 'a person adopts' || ledger === 'cluster'))
    test(`${what}, ${installation.keyed ? 'key' : 'no key'}, ${installation.ledger}: a kill at each call leaves both versions safe, and the next run ends it`, async (t) => {
      const states = ['published', 'held', 'swapped', 'put away', 'retired'];
      let cuts = 0;
      for (const state of states)
        for (const phase of ['before', 'after'] as const)
          for (let at = 1; ; at += 1) {
            const world = worldOf(state, installation);
            const before = legacyText(released(world));
            const { instanceUuid } = released(world) ?? assert.fail();
            const { cut, ledger } = cutAt(world.inventory, world.records, at, phase);
            const history = `${state}, ${phase} call ${at}`;
            await migrate(
              storeOf(world, installation, ledger, () => true),
              instanceUuid,
            ).catch((error: unknown) => {
              if (!cut.fell) throw error;
            });
            world.inventory.onCall = undefined;
            if (!cut.fell) break;
            cuts += 1;
            assert.equal(legacyText(released(world)), before, `${history}: version 0.1.0 reads what it wrote`);
            // A process of this version that knows no cluster finds it whole, whatever it makes of it.
            await collectUsed(storeOf(world, installation, world.records));
            assert.equal(legacyText(released(world)), before, `${history}: this version keeps it`);
            await migrate(
              storeOf(world, installation, world.records, () => true),
              instanceUuid,
            );
            assert.equal(legacyText(released(world)), before, `${history}: after the next run`);
            const [line] = await storeOf(world, installation, world.records).list(placement, OWNER);
            assert.ok(
              line !== undefined && ['current', 'retired', 'staged'].includes(line.role),
              `${history}: ${line?.role}`,
            );
            assert.ok(released(world)?.customValues['drydock.ownership'] !== undefined, history);
          }
      assert.ok(cuts >= states.length * 2 * 2, `${cuts} cuts`);
      t.diagnostic(`${cuts} histories`);
    });

for (const installation of INSTALLATIONS)
  test(`${installation.keyed ? 'key' : 'no key'}, ${installation.ledger}: at each call, version 0.1.0 reads what this version imports as another owner's`, async () => {
    const world = worldOf('retired', installation);
    const { inventory, clock } = world;
    const seen = new Set<string>();
    const watching = inventory.subscribe(({ machines }) => {
      for (const machine of machines.filter(({ ref, folder }) => !ref.endsWith(world.ref.value) && folder === FOLDER)) {
        seen.add(machine.ref);
        assert.equal(ownerBy010(machine), `a later version of Drydock for ${OWNER}`);
      }
    });
    const store = storeOf(world, installation, world.records);
    const { name } = await store.publish(
      wishFor('9.6', { base: 'pointer', publication: { kind: 'pointer' } }),
      LIVENESS,
    );
    await store.hold(placement, name, 'a file');
    const swap = { kind: 'swap', name: 'mine', unmarked: 'refuse' } as const;
    await store.publish(wishFor('9.6', { publication: swap }), LIVENESS);
    clock.advance(1000);
    await store.publish(wishFor('9.8', { publication: swap }), LIVENESS);
    await store.revert({ placement, owner: OWNER, name: 'mine', holder: 'h' });
    watching();
    assert.equal(seen.size, 3);
  });
