import assert from 'node:assert/strict';
import { explore, soaking, threadTests } from '@drydock/model';
import { CONTENT_KEY, isTemplateError, type TemplateErrorCode } from '@drydock/templates';
import { type MachineSnapshot, simulatedLoss } from '@drydock/vsphere/testing';
import { type Administrator, administrator, DEEDS, type Deed } from './templates-actors/administrator.ts';
import {
  bearersOf,
  FOLDER,
  NAME,
  prepared,
  processOf,
  publishAs,
  seenFor,
  type World,
  wishFor,
  worldWith,
} from './templates-world.ts';

const test = threadTests(import.meta.url);

const { placement } = wishFor('9.6');
const OWNER = 'cluster-uid';

/** Which template the administrator takes. */
type Victim = 'current' | 'retired';

interface Watched extends World {
  readonly admin: Administrator;
}

/** One pass of ours. What it may be refused with while somebody else's machine bears the name. */
interface Work {
  readonly what: string;
  readonly setup: () => Promise<World>;
  readonly pass: (world: World, holder: string) => Promise<string | undefined>;
}

const REFUSALS: readonly TemplateErrorCode[] = ['NOT_A_TEMPLATE', 'POWERED_ON', 'NAME_TAKEN', 'RENAME_FAILED'];

/** 9.6 bears the name, 9.4 is retired. */
const swapped = prepared(async () => {
  const world = await worldWith('ours');
  await publishAs(world, 'second-pass', wishFor('9.6'));
  world.clock.advance(3_600_000);
  return world;
});

/** Published by pointer: two releases. */
const pointed = prepared(async () => {
  const world = await worldWith('unmarked');
  for (const version of ['9.4', '9.6'])
    await publishAs(world, `p-${version}`, wishFor(version, { publication: { kind: 'pointer' } }), version);
  world.clock.advance(3_600_000);
  return world;
});

const byPointer = (version: string) => async (world: World, holder: string) =>
  (await publishAs(world, holder, wishFor(version, { publication: { kind: 'pointer' } }), version)).name;
const bySwap = (version: string) => async (world: World, holder: string) =>
  (await publishAs(world, holder, wishFor(version), version)).name;

const WORKS: readonly Work[] = [
  { what: 'a swap that has nothing to do', setup: swapped, pass: bySwap('9.6') },
  { what: 'a swap to the next release', setup: swapped, pass: bySwap('9.8') },
  { what: 'a pointer publication that has nothing to do', setup: pointed, pass: byPointer('9.6') },
  { what: 'a pointer publication of the next release', setup: pointed, pass: byPointer('9.8') },
  {
    what: 'a collection a day later',
    setup: async () => {
      const world = await swapped();
      await seenFor(world, 2 * 86_400_000);
      return world;
    },
    pass: async (world) => {
      await using store = processOf(world);
      const nobody = () => undefined;
      await store.collect(placement, OWNER, { referenced: nobody, holderIsLive: () => false, keep: 0 });
      return undefined;
    },
  },
];

/** Our templates, as far as they are finished. */
function victimOf({ inventory, foreign }: World, victim: Victim): MachineSnapshot | undefined {
  const ours = inventory
    .snapshot()
    .machines.filter(({ ref, folder, isTemplate }) => folder === FOLDER && isTemplate && !foreign.has(ref));
  const [bearer] = bearersOf(inventory.snapshot());
  const newest = ours.findLast(({ extraConfig }) => extraConfig[CONTENT_KEY] !== undefined);
  const current = bearer !== undefined && bearer.extraConfig[CONTENT_KEY] !== undefined ? bearer : newest;
  return victim === 'current' ? current : ours.find((machine) => machine.ref !== current?.ref);
}

async function pass(work: Work, world: Watched, holder: string): Promise<void> {
  try {
    const name = await work.pass(world, holder);
    const { machines } = world.inventory.snapshot();
    const published = machines.find((machine) => machine.folder === FOLDER && machine.name === name);
    if (name === undefined) return;
    assert.equal(published?.isTemplate, true, `${name} was published and is no template`);
    assert.ok(!world.admin.booted.has(published?.ref ?? ''), `${name} was published although it ran`);
  } catch (error) {
    if (!isTemplateError(error) || !REFUSALS.includes(error.code)) throw error;
  }
}

async function exploreDeed(work: Work, deed: Deed, victim: Victim, depth: 1 | 2): Promise<number> {
  const { scenarios } = await explore<Watched, 'admin' | 'kill'>({
    setup: async () => {
      const world = await work.setup();
      return { ...world, admin: administrator(world.inventory, deed) };
    },
    run: async (world, tripwire) => {
      world.runs += 1;
      let looks = 0;
      world.inventory.onCall = (method, phase, _args, { client, mutates }) => {
        // Before a call is after the one before it.
        if (method === 'logout' || phase === 'before') return;
        // What is decided comes of these looks; the others are tried in a soak.
        if (!mutates && !(soaking || (world.runs === 1 && (method === 'children' || method === 'vm')))) return;
        looks += Number(method === 'children');
        // Nothing on the server guards a destroy: between the last look and the call it takes what is there.
        if (work.what.startsWith('a collection') && method === 'children' && looks > 1) return;
        const fault = tripwire.hit(`${phase} ${method}`);
        if (fault === undefined) return;
        const template = victimOf(world, victim);
        if (template !== undefined) world.admin.act(template);
        if (fault === 'admin') return;
        client.kill();
        throw simulatedLoss(method);
      };
      try {
        await pass(work, world, `holder-${world.runs}`);
      } finally {
        world.inventory.onCall = undefined;
      }
      world.admin.check(world.inventory.snapshot());
    },
    check: (world) => {
      const seen = world.seen.filter((line) => !/ bears the name and is no template$/.test(line));
      assert.deepEqual(seen, []);
      const { machines, broken } = world.inventory.snapshot();
      assert.deepEqual(broken, []);
      world.admin.check(world.inventory.snapshot());
      assert.ok(
        machines.some(({ name, folder }) => name === NAME && folder === FOLDER),
        'nothing bears the name',
      );
    },
    faults: ['admin', 'kill'],
    depth,
  });
  return scenarios;
}

for (const work of WORKS) {
  test(`OWN-1 OWN-2 ${work.what}: an administrator who converts, boots, converts back, at every call, and then a crash there`, async () => {
    let scenarios = 0;
    for (const deed of DEEDS)
      for (const victim of ['current', 'retired'] as const)
        scenarios += await exploreDeed(work, deed, victim, soaking ? 2 : 1);
    assert.ok(scenarios >= 24, `only ${scenarios} scenarios`);
  });
}
