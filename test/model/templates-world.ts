import assert from 'node:assert/strict';
import { type Coverage, type Exploration, explore, virtualClock } from '@drydock/model';
import {
  NO_KEYS,
  type PublishedTemplate,
  type PublishOptions,
  type TemplateStore,
  type TemplateStoreOptions,
  type TemplateWish,
  templateStore,
} from '@drydock/templates';
import { memoryLedger, memoryOva, TEST_KEYS, testUptime, testWish } from '@drydock/templates/testing';
import { refKey } from '@drydock/vsphere';
import {
  type InventorySnapshot,
  type MachineSnapshot,
  type MemoryInventory,
  type MemoryOptions,
  MUTATING_CALLS,
  memoryInventory,
  simulatedLoss,
} from '@drydock/vsphere/testing';
import { identityKey, identityOf } from '../../packages/templates/src/mark/identity.ts';
import type { LedgerEntry } from '../../packages/templates/src/mark/ledger.ts';

export const FOLDER = '/DC0/vm/ocp';
/** Another cluster's folder, with a template of the same name. */
const ELSEWHERE = '/DC0/vm/other';
/** The stable name; the pointer of a pointer publication points to the installer's template under it until it is patched. */
export const NAME = 'rhcos 100% / stable ⚓';

/** By which an installation of ours tells its templates from others. */
export interface Installation {
  /** Its ownership records are signed. */
  readonly keyed: boolean;
  /** Where its ownership ledger is kept; `none`: each process has its own. */
  readonly ledger: 'cluster' | 'file' | 'none';
}

/** A vCenter with several actors, and what its observers saw. */
export interface World {
  readonly inventory: MemoryInventory;
  readonly clock: ReturnType<typeof virtualClock>;
  /** How far vCenter's clock is ahead (ms). */
  readonly skew: { ms: number };
  readonly installation: Installation;
  /** The ownership ledger that all processes of this installation share. */
  readonly records: ReturnType<typeof memoryLedger>;
  /** What readers saw that must never be. */
  readonly seen: string[];
  /** Processes so far. */
  runs: number;
  /** Refs of everything that is not ours to touch, with what they must look like for ever. */
  readonly foreign: Map<string, string>;
  /** Calls that changed something in the last pass, in order. */
  readonly changes: string[];
  /** How its vCenter behaves. */
  readonly behaviour: Pick<MemoryOptions, 'abortLeavesVm'>;
}

/** How the name stands at the start. */
export type Start = 'unmarked' | 'ours' | 'adopted' | 'absent' | 'left behind' | 'leftovers';
export const STARTS: readonly Start[] = ['unmarked', 'ours', 'adopted', 'absent', 'left behind', 'leftovers'];

export function wishFor(version: string, change: Partial<TemplateWish> = {}): TemplateWish {
  return testWish({
    base: 'rhcos',
    image: { release: version, location: 'https://mirror.test/x.ova', sha256: version.padEnd(64, '0') },
    publication: { kind: 'swap', name: NAME, unmarked: 'retire' },
    ...change,
  });
}

/** What every process of the installation is given, but for its sessions and its images. */
export function optionsOf({
  clock,
  installation,
  records,
}: Pick<World, 'clock' | 'installation' | 'records'>): Omit<TemplateStoreOptions, 'vcenters' | 'ovas'> {
  const { keyed, ledger } = installation;
  return {
    cacheDir: '/nonexistent',
    clock,
    uptime: testUptime(clock),
    markKeys: async () => (keyed ? TEST_KEYS : NO_KEYS),
    ...(ledger === 'none' ? {} : { ledger: records }),
  };
}

/** One process with its own session. It ends when `await using` does, unless it was killed. */
export function processOf(world: World, version = '9.6'): TemplateStore {
  const vcenters = async () => world.inventory.client();
  return templateStore({ ...optionsOf(world), vcenters, ovas: memoryOva({ version }) });
}

/** What the ledger says of a machine; undefined: nothing. */
export function entryOf({ inventory, records }: World, ref: string): LedgerEntry | undefined {
  const text = records.texts.get(`vm.${keyOf(inventory, ref)}`);
  return text === undefined ? undefined : (JSON.parse(text) as LedgerEntry);
}

function keyOf({ state }: MemoryInventory, ref: string): string {
  const machine = state.machines.get(ref);
  const identity = machine === undefined ? undefined : identityOf(state.instanceUuid, machine);
  return identity === undefined ? '' : identityKey(identity);
}

/** Publishes as a new process; earlier ones no longer lead. */
export async function publishAs(
  world: World,
  holder: string,
  wish: TemplateWish,
  version = '9.6',
  how: Pick<PublishOptions, 'waitMs'> = {},
): Promise<PublishedTemplate> {
  await using store = processOf(world, version);
  return await store.publish({ ...wish, holder }, { holderIsLive: (other) => other === holder, ...how });
}

/** What a setup makes, which is made once: each call gives a copy, so that a history costs what happens in it. */
export function prepared(setup: () => Promise<World>): () => Promise<World> {
  let made: Promise<World> | undefined;
  return async () => {
    made ??= setup();
    const world = copyWorld(await made);
    Object.assign(world.inventory.counters, { calls: 0, uploads: 0, bytes: 0, byMethod: new Map() });
    world.seen.length = 0;
    world.runs = 0;
    return world;
  };
}

/** A world that goes on by itself from where this one is. */
export function copyWorld(from: World): World {
  const { inventory, clock, seen, runs, foreign } = from;
  const world = emptyWorld(virtualClock({ auto: true, start: clock.now() }), from, from);
  for (const [ref, one] of foreign) world.foreign.set(ref, one);
  world.seen.push(...seen);
  world.runs = runs;
  const { counters } = inventory;
  Object.assign(world.inventory.counters, { ...counters, byMethod: new Map(counters.byMethod) });
  world.inventory.subscribe((snapshot) => watch(world, snapshot));
  return world;
}

/**
 * Everything that a later pass depends on, as text: what the server and the ledger hold, and what time it is. Random identities, and the codes, keys and names that are made of them, are
 * replaced by where they stand, processes by one: they are equal or not, and nothing else is done with them.
 */
export function stateOf({ inventory, clock, skew, foreign, records }: World, more = ''): string {
  const { machines, leases } = inventory.state;
  const ours = [...machines.values()].filter(({ ref }) => !foreign.has(refKey(ref)));
  const text = JSON.stringify(
    [ours, [...leases.values()], [...foreign.keys()], [...records.texts], more],
    (_, value: unknown) => (value instanceof Map || value instanceof Set ? [...value] : value),
  );
  const identities = new Map<string, string>();
  for (const { instanceUuid } of ours) identities.set(instanceUuid, `#${identities.size}`);
  const keys = new Map<string, string>();
  const codes = new Map<string, string>();
  const plain = text
    // Before keys: a code begins like one.
    .replaceAll(CODE, (code) => {
      const known = codes.get(code) ?? `code ${codes.size}`;
      codes.set(code, known);
      return known;
    })
    .replaceAll(UUID, (uuid) => identities.get(uuid) ?? uuid)
    .replaceAll(KEY, (key) => {
      const [begin, rest] = [key.slice(0, 12), key.slice(12)];
      const known = keys.get(begin) ?? `key ${keys.size}`;
      keys.set(begin, known);
      return rest === '' ? `begin of ${known}` : known;
    })
    .replaceAll(/-retired-[0-9a-f]{8}/g, '-retired-*')
    .replaceAll(/holder-\d+/g, 'holder-*')
    .replaceAll(/session-\d+/g, 'session-*');
  return `${clock.now()} ${skew.ms} ${plain}`;
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const CODE = /[0-9a-f]{12}:[\w-]{43}/g;
/** An identity key, or how one begins. */
const KEY = /(?<![\w-])[0-9a-f]{12}(?:[0-9a-f]{20})?(?!\w)/g;

function emptyWorld(
  clock: World['clock'],
  { behaviour, installation }: Pick<World, 'behaviour' | 'installation'>,
  like?: World,
): World {
  const from = like === undefined ? {} : { from: like.inventory.state };
  const skew = { ms: like?.skew.ms ?? 0 };
  const inventory = memoryInventory({
    now: () => clock.now() + skew.ms,
    folders: [FOLDER, ELSEWHERE],
    ...{ ...behaviour, ...from },
  });
  const kind = installation.ledger === 'cluster' ? 'cluster' : 'file';
  const records = memoryLedger(kind, new Map(like?.records.texts));
  const ends = { seen: [], runs: 0, foreign: new Map<string, string>(), changes: [] };
  return { inventory, clock, skew, behaviour, installation, records, ...ends };
}

/** A command that has a key. */
const KEYED: Installation = { keyed: true, ledger: 'file' };

const worlds = new Map<string, () => Promise<World>>();

/** The folder as several clusters share it. */
export function worldWith(
  start: Start,
  behaviour: World['behaviour'] = {},
  installation: Installation = KEYED,
): Promise<World> {
  const key = JSON.stringify([start, behaviour, installation]);
  const known = worlds.get(key) ?? prepared(() => makeWorld(start, { behaviour, installation }));
  worlds.set(key, known);
  return known();
}

async function makeWorld(start: Start, how: Pick<World, 'behaviour' | 'installation'>): Promise<World> {
  const clock = virtualClock({ auto: true });
  const world = emptyWorld(clock, how);
  const { inventory } = world;
  const folder = inventory.at(FOLDER);
  const old = { template: true, productVersion: '9.4' };
  if (start === 'ours') await publishAs(world, 'first', wishFor('9.4'), '9.4');
  else if (start === 'left behind') inventory.add(folder, { ...old, name: leftover('old') });
  else if (start !== 'absent') inventory.add(folder, { ...old, name: NAME });
  if (start === 'leftovers') {
    inventory.add(folder, { ...old, name: leftover('old'), createDate: '2025-01-01T00:00:00Z' });
    inventory.add(folder, { name: leftover('tmp'), createDate: '2025-01-01T00:00:00Z' });
  }
  if (start === 'adopted') {
    await using store = processOf(world);
    await store.adopt({ placement: wishFor('9.4').placement, owner: 'cluster-uid', reference: NAME, holder: 'x' });
  }
  // Others: the second cluster under another name here and under the same name elsewhere, a worker, and look-alikes that nobody derived.
  await publishAs(
    world,
    'second',
    wishFor('9.1', { cluster: 'second', publication: { kind: 'swap', name: 'theirs', unmarked: 'retire' } }),
    '9.1',
  );
  inventory.add(inventory.at(ELSEWHERE), { name: NAME, template: true, productVersion: '9.0' });
  inventory.add(folder, { name: 'worker-0', powerState: 'poweredOn' });
  inventory.add(folder, { name: 'mco-old-00000000', template: true });
  inventory.add(folder, { name: `${NAME}-retired-00000000`, template: true });
  const ours = new Set([NAME, leftover('old'), leftover('tmp')]);
  for (const machine of inventory.snapshot().machines)
    if (machine.folder !== FOLDER || !ours.has(machine.name)) world.foreign.set(machine.ref, JSON.stringify(machine));
  clock.advance(3_600_000);
  // Only what an observer has seen unchanged for long enough is a leftover.
  if (start === 'leftovers') await seenFor(world, 2 * 86_400_000);
  return world;
}

/** An observer looks at the folder, and time passes. */
export async function seenFor(world: World, ms: number): Promise<void> {
  await using store = processOf(world);
  const placement = wishFor('9.6').placement;
  const how = { referenced: () => undefined, holderIsLive: () => undefined, dryRun: true };
  await store.collect(placement, 'cluster-uid', how);
  world.clock.advance(ms);
}

/** What upstream's swap would leave for the name. */
export function leftover(kind: 'tmp' | 'old'): string {
  return `mco-${kind}-${LEFT}`;
}
/** First 8 hex digits of the SHA-256 of {@link NAME}. */
const LEFT = '5a647416';

/** Every reader, and the owners of everything else, at one instant. */
function watch(world: World, snapshot: InventorySnapshot): void {
  const bearers = bearersOf(snapshot);
  if (bearers.length > 1) world.seen.push(`${bearers.length} machines bear the name`);
  for (const one of bearers)
    if (!one.isTemplate || !one.complete) world.seen.push(`${one.ref} bears the name and is ${whatIs(one)}`);
  for (const one of snapshot.machines)
    if (one.isTemplate && !one.complete) world.seen.push(`${one.name} is a half-made template`);
  checkForeign(world, snapshot);
  if (snapshot.broken.length > 0) world.seen.push(`${snapshot.broken.join()} lost a disk`);
}

export function checkForeign(world: World, { machines }: InventorySnapshot): void {
  const now = new Map(machines.map((machine) => [machine.ref, machine]));
  for (const [ref, before] of world.foreign) {
    const after = JSON.stringify(now.get(ref));
    if (after !== before) world.seen.push(`foreign ${ref} changed from ${before} to ${after}`);
  }
}

export function bearersOf({ machines }: InventorySnapshot): readonly MachineSnapshot[] {
  return machines.filter(({ name, folder }) => name === NAME && folder === FOLDER);
}

function whatIs({ isTemplate, complete }: MachineSnapshot): string {
  return isTemplate ? `complete: ${complete}` : 'no template';
}

/**
 * Where a second fault does something of its own. A process that dies or loses its lead anywhere between two changes leaves the same as one that does so right after the first of them, or
 * right before the second; a lost answer to a question is lost, whether or not it was asked; a session that ends after a call has ended before the next one; and a refusal comes before the act.
 */
export function isDistinct(fault: string, place: string, earlier: number): boolean {
  if (earlier === 0) return true;
  const [phase, method = ''] = place.split(' ');
  const changes = MUTATING_CALLS.has(method);
  if (fault === 'kill') return phase === 'after' && changes;
  if (fault === 'lose') return phase === 'after' || changes;
  if (fault === 'unlead') return phase === 'before' && changes;
  return phase === 'before';
}

/** Where and how processes are made to fail. */
export interface Faults {
  /** Only calls that change something; reads as well otherwise. */
  readonly mutatingOnly?: boolean;
  readonly depth?: 1 | 2 | 3;
  readonly kinds?: readonly ('kill' | 'lose')[];
}

/** Explores `work` from a start; every pass is a new process. */
export function exploreWork(
  setup: () => Promise<World>,
  work: (world: World, holder: string) => Promise<unknown>,
  check: (world: World, faults: number) => void | Promise<void>,
  faults: Faults = {},
): Promise<Coverage> {
  const exploration: Exploration<World, 'kill' | 'lose'> = {
    setup,
    run: async (world, tripwire) => {
      world.runs += 1;
      world.changes.length = 0;
      world.inventory.onCall = (method, phase, args, { client, mutates }) => {
        if (method === 'logout') return;
        if (mutates && phase === 'before') noteChange(world, method);
        if (faults.mutatingOnly === true && !mutates) return;
        const fault = tripwire.hit(`${phase} ${method}${method === 'rename' ? ` ${String(args[1])}` : ''}`);
        if (fault === 'kill') client.kill();
        if (fault !== undefined) throw simulatedLoss(method);
      };
      try {
        await work(world, `holder-${world.runs}`);
      } finally {
        world.inventory.onCall = undefined;
      }
    },
    check: async (world, scenario) => {
      assert.deepEqual(world.seen, [], 'a concurrent observer saw it');
      await check(world, scenario.faults.length);
    },
    faults: faults.kinds ?? ['kill', 'lose'],
    depth: faults.depth ?? 1,
    tries: isDistinct,
    worlds: {
      copy: copyWorld,
      state: (world) => `${world.inventory.counters.uploads} ${stateOf(world)}`,
      holds: ({ seen }) => assert.deepEqual(seen, [], 'a concurrent observer saw it'),
    },
  };
  return explore(exploration);
}

/** Whoever finds the name absent, because it or another process is between two renames or died there, brings it back before anything else. */
export function noteChange(world: World, method: string): void {
  world.changes.push(method);
  const { machines } = world.inventory.snapshot();
  const kept = machines.some(
    ({ name, isTemplate, folder }) =>
      folder === FOLDER && isTemplate && (isRetired(name) || name === leftover('old')) && !name.endsWith('-00000000'),
  );
  if (kept && method !== 'rename' && bearersOf(world.inventory.snapshot()).length === 0)
    world.seen.push(`${method} while the name was absent`);
}

export function isRetired(name: string): boolean {
  return name.startsWith(`${NAME}-retired-`);
}
