import { type Coverage, explore } from '@drydock/model';
import { NO_KEYS, type TemplateStore, templateStore } from '@drydock/templates';
import { memoryOva, TEST_KEYS } from '@drydock/templates/testing';
import type { MoRef } from '@drydock/vsphere';
import { type MachineSnapshot, type MemoryClient, simulatedFault, simulatedLoss } from '@drydock/vsphere/testing';
import { administrator } from './templates-actors/administrator.ts';
import { cloneLinked, cloneMarked } from './templates-actors/cloner.ts';
import { forge, type PublicData } from './templates-actors/forger.ts';
import { type Ledger, ledgerOf, shapeOf } from './templates-ledger.ts';
import { FOLDER, prepared, publishAs, type World, wishFor, worldWith } from './templates-world.ts';

const HOUR = 3_600_000;
const POINTER = { publication: { kind: 'pointer' } } as const;

/** A folder in which everybody has left something, and what is known of it. */
export type Crowd = World & { readonly ledger: Ledger; late: (() => Promise<unknown>) | undefined };

/** What a pass does; `holder` is its process. Resolves to what it published. */
export type Work = (pass: Pass) => Promise<string | undefined>;

/** One process. */
export interface Pass {
  readonly world: Crowd;
  readonly store: TemplateStore;
  readonly holder: string;
}

/**
 * What happens at a call. `kill`: the process ends; `lose`: the answer is lost; `refuse`: the server says no; `logout`: the session has ended; `unlead`:
 * another process leads from now on; `late`: the process ends, and its call takes effect in a later pass. The others are deeds of somebody else.
 */
export type Event = 'kill' | 'lose' | 'refuse' | 'logout' | 'unlead' | 'late' | Deed;
/** `clone`: of each of our new machines, with its mark; `boot`: of the newest, which is made what it was again; `take`: of what is half made; `link`: a worker of each template. */
export type Deed = 'clone' | 'boot' | 'take' | 'link';
const DEEDS: readonly string[] = ['clone', 'boot', 'take', 'link'] satisfies readonly Deed[];

/** Where something may happen. */
export interface Call {
  readonly method: string;
  readonly mutates: boolean;
  readonly phase: 'before' | 'after';
  readonly run: number;
  readonly disksRead: number;
}

/** What an exploration is of. */
export interface CrowdExploration {
  readonly version: string;
  readonly work: Work;
  readonly setup: () => Promise<World>;
  readonly events: readonly Event[];
  readonly depth?: 1 | 2;
  /** Whether something may happen at a call of the pass with the number `run`, from 1, which has read all disks so many times by now. */
  readonly at?: (call: Call) => boolean;
  readonly keyless?: boolean;
  readonly check?: (world: Crowd) => void;
}

/** Machines that are off and templates that nobody may touch: converted, booted, cloned, forged, and ours. */
export const crowd: () => Promise<World> = prepared(() => makeCrowd(true));
/** As it is for a process without a key, which believes marks of birth. */
export const keylessCrowd: () => Promise<World> = prepared(() => makeCrowd(false));

async function makeCrowd(keyed: boolean): Promise<World> {
  const world = await worldWith('ours');
  const stays = (one: MachineSnapshot | undefined): void => {
    if (one !== undefined) world.foreign.set(one.ref, JSON.stringify(one));
  };
  const named = (find: (one: MachineSnapshot) => boolean): MachineSnapshot | undefined =>
    world.inventory.snapshot().machines.findLast((one) => one.folder === FOLDER && find(one));
  const again = (one: MachineSnapshot | undefined): void => stays(named(({ ref }) => ref === one?.ref));
  const pointed = (version: string) => publishAs(world, `p-${version}`, wishFor(version, POINTER), version);
  await publishAs(world, 'before', wishFor('9.5'), '9.5');
  const retired = named(({ name }) => name.includes('-retired-') && !name.endsWith('-00000000'));
  // Converted; and booted and converted back, once with the content that is wanted next.
  const first = await pointed('9.1');
  for (const [victim, deed] of [
    [retired, 'converts'],
    [named(({ name }) => name === first.name), 'converts'],
  ] as const)
    if (victim !== undefined) administrator(world.inventory, deed).act(victim);
  again(retired);
  again(named(({ name }) => name === first.name));
  const next = await pointed('9.6');
  const booted = named(({ name }) => name === next.name);
  if (booted !== undefined) administrator(world.inventory, 'boots and converts back').act(booted);
  again(booted);
  // What an older release left under a pointer, free to be collected; and its clones.
  const { name } = await pointed('9.3');
  for (const source of [named((one) => one.name === name), named(({ productVersion }) => productVersion === '9.5')])
    if (source !== undefined) for (const template of [true, false]) cloneMarked(world, source, template);
  await forge(world, await publicData(world), keyed);
  world.clock.advance(HOUR);
  return world;
}

/** What the next swap's import will bear; anybody who has seen one release can tell. */
async function publicData(world: World): Promise<PublicData> {
  const twin = await prepared(async () => world)();
  let data: PublicData | undefined;
  twin.inventory.onCall = (method, phase, args) => {
    if (method === 'startImport' && phase === 'after') data = args[0] as PublicData;
  };
  await publishAs(twin, 'twin', wishFor('9.6'));
  twin.inventory.onCall = undefined;
  const bearer = world.inventory.snapshot().machines.find(({ productVersion }) => productVersion === '9.5');
  if (data === undefined) throw new TypeError('the next release was not imported');
  return {
    name: data.name,
    extraConfig: new Map([...data.extraConfig, ['drydock.proof', bearer?.extraConfig['drydock.proof'] ?? '']]),
  };
}

/** Everything that happens, at every call, with the invariants of `Ledger` at the end of every pass that lived. */
export async function exploreCrowd(exploration: CrowdExploration): Promise<Coverage & { readonly states: number }> {
  const states = new Set<string>();
  const { version, events, keyless = false } = exploration;
  const coverage = await explore<Crowd, Event>({
    setup: async () => {
      const world = await exploration.setup();
      world.inventory.subscribe((snapshot) => states.add(shapeOf(snapshot, world)));
      return { ...world, ledger: ledgerOf(world), late: undefined };
    },
    run: async (world, tripwire) => {
      world.runs += 1;
      const run = world.runs;
      const client = world.inventory.client();
      const watch = world.ledger.begin(client, version);
      let killed = false;
      let sessionDied = false;
      let ghosting = false;
      let disksRead = 0;
      world.inventory.onCall = async (method, phase, args, context) => {
        if (ghosting || method === 'logout' || context.client.id !== client.id) return;
        watch.note(method, phase, args);
        if (phase === 'before' && sessionDied) throw simulatedFault('NotAuthenticated', method, 'session');
        // Reading takes long.
        if (phase === 'after' && (method === 'children' || method === 'disksOn')) world.clock.advance(90_000);
        if (phase === 'after' && method === 'disksOn') disksRead += 1;
        if (exploration.at?.({ method, mutates: context.mutates, phase, run, disksRead }) === false) return;
        const event = tripwire.hit(`${phase} ${method}${method === 'rename' ? ` ${String(args[1])}` : ''}`);
        if (event === undefined) return;
        watch.fault();
        if (event === 'late' && world.late !== undefined) {
          ghosting = true;
          await world.late().catch(() => undefined);
          ghosting = false;
          world.late = undefined;
        } else if (event === 'late') {
          if (phase === 'before') world.late = ghost(world, method, args);
          killed = true;
          client.kill();
          throw simulatedLoss(method);
        } else if (event === 'kill') {
          killed = true;
          client.kill();
          throw simulatedLoss(method);
        } else if (event === 'lose') throw simulatedLoss(method);
        else if (event === 'refuse') {
          if (phase === 'before') throw simulatedFault('NoPermission', method, 'machine');
          throw simulatedLoss(method);
        } else if (event === 'logout') sessionDied = true;
        else if (event === 'unlead') watch.unlead();
        else if (DEEDS.includes(event)) act(world, event as Deed, version);
      };
      const leads = (): boolean => watch.leads();
      let name: string | undefined;
      try {
        await using store = storeOf(world, client, version, keyless, leads);
        name = await exploration.work({ world, store, holder: `holder-${run}` });
      } finally {
        world.inventory.onCall = undefined;
        if (!killed) watch.end({ name, sessionDied });
      }
    },
    check: (world) => {
      if (world.seen.length > 0) throw new Error(world.seen.join('\n'));
      exploration.check?.(world);
    },
    faults: events,
    depth: exploration.depth ?? 1,
  });
  return { ...coverage, states: states.size };
}

/** What the server does with a call whose process has died meanwhile. */
function ghost({ inventory }: World, method: string, args: readonly unknown[]): (() => Promise<unknown>) | undefined {
  const client = inventory.client();
  const [ref, ...rest] = args as [MoRef, never, never];
  if (method === 'tags.attach') return () => client.tags.attach(ref, [rest[0]]);
  if (!['rename', 'destroy', 'reconfigure', 'markAsTemplate', 'setCustomValue'].includes(method)) return undefined;
  return () => (client[method as 'rename'] as (...all: unknown[]) => Promise<void>)(ref, ...rest);
}

function storeOf(
  { clock }: World,
  client: MemoryClient,
  version: string,
  keyless: boolean,
  leads: () => boolean,
): TemplateStore {
  return templateStore({
    vcenters: async () => client,
    cacheDir: '/nonexistent',
    clock,
    ovas: memoryOva({ version }),
    markKeys: async () => (keyless ? NO_KEYS : TEST_KEYS),
    fence: () => {
      if (!leads()) throw new Error('another process leads');
    },
  });
}

/** Ours of a version, the newest last. */
function act(world: Crowd, deed: Deed, version: string): void {
  const { inventory, ledger } = world;
  const ours = inventory.snapshot().machines.filter(({ ref }) => ledger.ours.has(ref) && !ledger.taken.has(ref));
  const fresh = ours.filter(({ productVersion }) => productVersion === version);
  const newest = fresh.at(-1);
  if (deed === 'clone') for (const one of fresh) cloneMarked(world, one, one.complete);
  else if (deed === 'link') for (const one of ours) if (one.isTemplate) cloneLinked(world, one);
  if (newest === undefined) return;
  const ref: MoRef = { type: 'VirtualMachine', value: newest.ref.split(':')[1] ?? '' };
  if (deed === 'boot' && newest.isTemplate) {
    administrator(inventory, 'boots and converts back').act(newest);
    ledger.take(newest.ref);
  } else if (deed === 'take' && !newest.isTemplate) {
    inventory.power(ref, 'poweredOn');
    inventory.power(ref, 'poweredOff');
    ledger.take(newest.ref);
  }
}
