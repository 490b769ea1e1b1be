import assert from 'node:assert/strict';
import { ExplorationError, explore, soaking, threadTests } from '@drydock/model';
import { BIRTH_KEY, CONTENT_KEY, isTemplateError, OWNERSHIP, type TemplateErrorCode } from '@drydock/templates';
import { type MachineSnapshot, simulatedLoss } from '@drydock/vsphere/testing';
import { type Oldest, type ReplayDeed, remember, replay } from './templates-actors/replayer.ts';
import { beat } from './templates-actors/uploader.ts';
import { type Uploads, uploads } from './templates-crowd-setups.ts';
import {
  bearersOf,
  checkForeign,
  copyWorld,
  FOLDER,
  type Installation,
  NAME,
  processOf,
  publishAs,
  stateOf,
  type World,
  wishFor,
  worldWith,
} from './templates-world.ts';

const test = threadTests(import.meta.url);
const OWNER = 'cluster-uid';
const MINUTE = 60_000;
const DAY = 86_400_000;

/** With a key or the cluster's ledger a record proves ownership; without both nothing does. */
const INSTALLATIONS: readonly (Installation & { readonly proves: boolean })[] = [
  { keyed: true, ledger: 'cluster', proves: true },
  { keyed: true, ledger: 'file', proves: true },
  { keyed: false, ledger: 'cluster', proves: true },
  { keyed: false, ledger: 'file', proves: false },
  { keyed: false, ledger: 'none', proves: false },
];

/** What a publication may end with while something is there that nothing proves; each says which machine it is. */
const REFUSALS: readonly TemplateErrorCode[] = [
  'UNMARKED',
  'NAME_TAKEN',
  'NOT_A_TEMPLATE',
  'IMPORT_FAILED',
  'RENAME_FAILED',
  'SWAP_FAILED',
  'VCENTER_FAILED',
  'TAG_FAILED',
  'UPLOAD_IN_PROGRESS',
  'NOT_CONVERGED',
];
/** Of these, what may also stand after everybody has gone. */
const LASTING: readonly TemplateErrorCode[] = ['UNMARKED', 'NOT_A_TEMPLATE', 'NAME_TAKEN'];

/** What is waited for does not end by itself here: a minute of waiting shows no more than this. */
const SOON = { waitMs: 4_000 } as const;

type Mode = 'pointer' | 'swap';
type Victim = 'newest' | 'oldest';
interface Replayed extends World {
  readonly oldest: Oldest;
}

const wishOf = (mode: Mode) =>
  wishFor('9.6', {
    publication: mode === 'pointer' ? { kind: 'pointer' } : { kind: 'swap', name: NAME, unmarked: 'refuse' },
  });

/** Publishes as a process of its own, and looks whether what it names is owned. Resolves to a refusal, if it was one. */
async function publish(world: World, mode: Mode, allowed: readonly TemplateErrorCode[]): Promise<string | undefined> {
  try {
    const { name } = await publishAs(world, `holder-${world.runs}`, wishOf(mode), '9.6', SOON);
    const published = world.inventory.snapshot().machines.find((one) => one.folder === FOLDER && one.name === name);
    assert.ok(published !== undefined && !world.foreign.has(published.ref), `${name} is theirs, and was published`);
    assert.equal(published.isTemplate && published.complete, true, `${name} was published and is no whole template`);
    return name;
  } catch (error) {
    if (!isTemplateError(error) || !allowed.includes(error.code)) throw error;
    // A refusal names what it is about, and what to do next.
    assert.match(error.message, /rhcos|vm-\d+/);
    assert.ok(error.message.endsWith(error.next));
    return undefined;
  }
}

/** Nothing of theirs is changed, removed or made another thing. */
function untouched(world: World): void {
  const seen: string[] = [];
  checkForeign({ ...world, seen }, world.inventory.snapshot());
  assert.deepEqual(
    seen.filter((line) => !isSweptCopy(line)),
    [],
  );
}

/** By design a birth mark lets an unfinished import be swept: also one that was copied with its instance UUID after ours was gone. Finished copies and templates never go. */
function isSweptCopy(line: string): boolean {
  const [, text] = / changed from (.*) to undefined$/.exec(line) ?? [];
  if (text === undefined) return false;
  const { isTemplate, extraConfig, customValues } = JSON.parse(text) as MachineSnapshot;
  return !isTemplate && BIRTH_KEY in extraConfig && !(CONTENT_KEY in extraConfig) && !(OWNERSHIP in customValues);
}

/** Days later another process collects all that nothing uses: theirs stay, and so does what is in use. */
async function collected(world: World, used: string | undefined): Promise<void> {
  for (let look = 0; look < 2; look += 1) {
    world.clock.advance(2 * DAY);
    await using store = processOf(world);
    const referenced = (name: string) => (name === NAME || name === used ? 'a machine set' : undefined);
    await store.collect(wishFor('9.6').placement, OWNER, { referenced, holderIsLive: () => false, keep: 0 });
  }
  untouched(world);
  const { machines } = world.inventory.snapshot();
  for (const name of [used, NAME])
    assert.ok(name === undefined || machines.some((one) => one.name === name), `${name} is in use, and is gone`);
}

/** How publications ended after a deed. */
interface Ends {
  published: number;
  refused: number;
}

async function explored(
  deeds: readonly ReplayDeed[],
  mode: Mode,
  installation: Installation,
  victims: readonly Victim[],
  ends: Ends = { published: 0, refused: 0 },
  depth: 1 | 2 = 1,
): Promise<number> {
  const faults = deeds.flatMap((deed) => victims.map((victim) => `${deed}: ${victim}` as const));
  const { scenarios } = await explore<Replayed, (typeof faults)[number]>({
    setup: async () => {
      const world = { ...(await worldWith('ours', {}, installation)), oldest: new Map<string, string>() };
      remember(world, world.oldest);
      return world;
    },
    worlds: {
      copy: (from) => ({ ...copyWorld(from), oldest: new Map(from.oldest) }),
      state: (world) => stateOf(world),
    },
    run: async (world, tripwire) => {
      world.runs += 1;
      let acted = false;
      world.inventory.onCall = (method, phase, _args, { client, mutates }) => {
        remember(world, world.oldest);
        // What is decided comes of these answers.
        if (phase === 'before' || !(mutates || method === 'children' || method === 'vm')) return;
        if (method === 'logout') return;
        const fault = tripwire.hit(`${phase} ${method}`);
        if (fault === undefined) return;
        acted = true;
        const [deed, victim] = fault.split(': ') as [ReplayDeed, Victim];
        replay(world, deed, victim, world.oldest);
        // Sessions do not outlive a vCenter.
        if (!deed.startsWith('restores')) return;
        client.kill();
        throw simulatedLoss(method);
      };
      try {
        await publish(world, mode, REFUSALS);
      } catch (error) {
        if (!acted) throw error;
        // What was taken away under its hands may be reported in any way, but for having been published.
        if (error instanceof assert.AssertionError && world.inventory.onCall === undefined) throw error;
      } finally {
        world.inventory.onCall = undefined;
      }
      untouched(world);
    },
    check: async (world) => {
      untouched(world);
      assert.deepEqual(world.inventory.snapshot().broken, []);
      world.runs += 1;
      const used = await publish(world, mode, LASTING);
      await collected(world, used ?? bearersOf(world.inventory.snapshot())[0]?.name);
      world.runs += 1;
      const last = await publish(world, mode, LASTING);
      ends[last === undefined ? 'refused' : 'published'] += 1;
      untouched(world);
    },
    faults,
    depth,
  });
  return scenarios;
}

const titleOf = ({ keyed, ledger }: Installation): string => `${keyed ? 'a key' : 'no key'}, ledger: ${ledger}`;

const ACTORS = [
  ['KEEP-1 a neighbour who copies all that can be read', ['copies as template', 'copies as machine'], ['newest'], 30],
  [
    'KEEP-2 a neighbour who puts a copy in the place of what was removed',
    ['replaces as template', 'replaces as machine'],
    ['newest', 'oldest'],
    60,
  ],
  [
    'KEEP-3 a neighbour who writes older and other values back',
    ['writes older values back', 'exchanges values'],
    ['newest'],
    30,
  ],
  ['KEEP-4 a user who empties or deletes attributes', ['empties attributes', 'deletes attributes'], ['newest'], 30],
  ['KEEP-5 a vCenter restored from a backup', ['restores'], ['newest', 'oldest'], 30],
  ['KEEP-6 an administrator who renames or registers again', ['renames', 're-registers'], ['newest', 'oldest'], 60],
] as const satisfies readonly (readonly [string, readonly ReplayDeed[], readonly Victim[], number])[];

for (const [what, deeds, victims, atLeast] of ACTORS)
  for (const installation of INSTALLATIONS)
    test(`${what}, at each call of a publication; ${titleOf(installation)}: nothing of theirs is published, changed or removed, nothing in use is lost`, async (t) => {
      let scenarios = 0;
      const ends = { published: 0, refused: 0 };
      for (const mode of ['pointer', 'swap'] as const)
        scenarios += await explored(deeds, mode, installation, victims, ends);
      t.diagnostic(`${scenarios} histories: ${JSON.stringify(ends)}`);
      assert.ok(scenarios > atLeast, `only ${scenarios} histories`);
      assert.ok(ends.published > 0);
      // Where something proves what is ours, only what bears its name may stand in the way.
      const isInTheWay = victims.length > 1;
      if (installation.proves && !isInTheWay) assert.equal(ends.refused, 0);
    });

for (const installation of soaking ? INSTALLATIONS : [])
  for (const mode of ['pointer', 'swap'] as const)
    test(`KEEP-1 to KEEP-6 in pairs, at each call of two publications by ${mode}; ${titleOf(installation)}: nothing of theirs is published, changed or removed, nothing in use is lost`, async (t) => {
      const ends = { published: 0, refused: 0 };
      const deeds = ACTORS.flatMap(([, some]) => some);
      const scenarios = await explored(deeds, mode, installation, ['newest'], ends, 2);
      t.diagnostic(`${scenarios} histories: ${JSON.stringify(ends)}`);
    });

test('KEEP-7 negative control: where a restored VM has the same creation date, too, it is taken for ours, and that is seen', async () => {
  for (const installation of INSTALLATIONS.filter(({ proves }) => proves))
    await assert.rejects(
      explored(['restores with the same identity'], 'pointer', installation, ['newest']),
      (error) =>
        error instanceof ExplorationError && /is theirs, and was published|foreign .* changed/.test(error.message),
    );
});

async function stepped(mode: Mode, installation: Installation): Promise<number> {
  const { scenarios } = await explore<Uploads, 'forward' | 'backward'>({
    setup: () => uploads(installation),
    worlds: {
      copy: ({ living, dead, silentSince, ...from }) => ({ ...copyWorld(from), living, dead, silentSince }),
      state: (world) => stateOf(world),
    },
    run: async (world, tripwire) => {
      world.runs += 1;
      const { inventory, clock, skew, living, dead, silentSince } = world;
      inventory.onCall = (method, phase, args, { mutates }) => {
        // It says every minute that it lives, by whatever vCenter calls the time.
        beat(inventory, { uploading: new Set([living]) }, clock.now() + skew.ms);
        const silent = clock.now() - silentSince >= 600_000;
        const ref = JSON.stringify(args[0] ?? '');
        assert.ok(
          method !== 'destroy' || silent || !ref.includes(`"${dead.split(':')[1]}"`),
          'it may still be imported',
        );
        if (phase === 'before' || !(mutates || method === 'children' || method === 'vm')) return;
        const fault = tripwire.hit(`${phase} ${method}`);
        if (fault !== undefined) skew.ms += fault === 'forward' ? 2 * DAY : -2 * DAY;
      };
      try {
        for (const version of ['9.7', '9.6']) {
          await attempt(world, mode, version);
          // The dead one falls silent for good, and whoever waited a minute saw nothing else.
          clock.advance(MINUTE);
        }
        await collect(world);
      } finally {
        inventory.onCall = undefined;
      }
    },
    check: async (world) => {
      const { inventory, clock, living } = world;
      inventory.onCall = () => beat(inventory, { uploading: new Set([living]) }, clock.now() + world.skew.ms);
      for (let look = 0; look < 2; look += 1) {
        await attempt(world, mode, '9.6');
        clock.advance(660_000);
      }
      assert.equal(await attempt(world, mode, '9.6'), true, 'silence never ends');
      inventory.onCall = undefined;
      const one = inventory.snapshot().machines.find(({ ref }) => ref === living);
      assert.ok(one !== undefined && !one.isTemplate && !one.complete, 'what somebody uploads was touched');
    },
    faults: ['forward', 'backward'],
  });
  return scenarios;
}

/** Whether a process to which all importers are unknown has published it, or has found that somebody may be importing it. */
async function attempt(world: World, mode: Mode, version: string): Promise<boolean> {
  await using store = processOf(world, version);
  const wish = {
    ...wishFor(version, { publication: wishOf(mode).publication ?? { kind: 'pointer' } }),
    holder: 'here',
  };
  try {
    await store.publish(wish, { holderIsLive: () => undefined, ...SOON });
    return true;
  } catch (error) {
    if (!isTemplateError(error) || !['UPLOAD_IN_PROGRESS', 'UNMARKED'].includes(error.code)) throw error;
    return error.code === 'UNMARKED';
  }
}

async function collect(world: World): Promise<void> {
  await using store = processOf(world);
  const how = { referenced: () => 'a machine set', holderIsLive: () => undefined, keep: 0 };
  await store.collect(wishFor('9.6').placement, OWNER, how);
}

for (const installation of INSTALLATIONS)
  test(`KEEP-8 vCenter's clock steps by two days while another process uploads, at each call; ${titleOf(installation)}: what is uploaded is never touched, and silence is measured all the same`, async (t) => {
    let scenarios = 0;
    for (const mode of ['pointer', 'swap'] as const) scenarios += await stepped(mode, installation);
    t.diagnostic(`${scenarios} histories`);
    assert.ok(scenarios > 40, `only ${scenarios} histories`);
  });
