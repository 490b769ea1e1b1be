import { type Coverage, explore, soaking } from '@drydock/model';
import { NO_KEYS, type TemplateStore, templateStore } from '@drydock/templates';
import { memoryOva } from '@drydock/templates/testing';
import type { MoRef } from '@drydock/vsphere';
import { type MemoryClient, simulatedFault, simulatedLoss } from '@drydock/vsphere/testing';
import { administrator } from './templates-actors/administrator.ts';
import { cloneLinked, cloneMarked } from './templates-actors/cloner.ts';
import { beat } from './templates-actors/uploader.ts';
import { type Ledger, ledgerOf, shapeOf } from './templates-ledger.ts';
import { copyWorld, isDistinct, optionsOf, stateOf, type World } from './templates-world.ts';

const HOUR = 3_600_000;

/** A folder in which everybody has left something, and what is known of it. */
export type Crowd = World & { readonly ledger: Ledger; late: Late | undefined };

/** A call whose process has died, and that has not taken effect yet. */
interface Late {
  readonly method: string;
  readonly args: readonly unknown[];
}

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
  /** Whether an event may come after so many others. */
  readonly only?: (event: Event, earlier: number) => boolean;
  readonly keyless?: boolean;
  /** Adds to what is known of the folder at the beginning. */
  readonly begin?: (world: World, ledger: Ledger) => void;
  /** How long after a pass the next one begins; default: at the next full hour. */
  readonly pauseMs?: number;
  readonly check?: (world: Crowd) => void;
}

/** Everything that happens, at every call, with the invariants of `Ledger` at the end of every pass that lived. */
export async function exploreCrowd(exploration: CrowdExploration): Promise<Coverage & { readonly states: number }> {
  const states = new Set<string>();
  const { version, events, keyless = false } = exploration;
  const coverage = await explore<Crowd, Event>({
    setup: async () => {
      const world = await exploration.setup();
      watched(world, states);
      const ledger = ledgerOf(world);
      exploration.begin?.(world, ledger);
      return { ...world, ledger, late: undefined };
    },
    worlds: {
      copy: (from) => {
        const world = copyWorld(from);
        watched(world, states);
        return { ...world, ledger: ledgerOf(world, from.ledger), late: from.late };
      },
      state: crowdState,
      holds: ({ seen }) => {
        if (seen.length > 0) throw new Error(seen.join('\n'));
      },
    },
    tries: (event, place, earlier) =>
      exploration.only?.(event, earlier) !== false && (!FAULTS.includes(event) || isDistinct(event, place, earlier)),
    run: async (world, tripwire) => {
      world.runs += 1;
      const run = world.runs;
      const client = world.inventory.client();
      // Without a key the file proves nothing to the next process: it points at what it imports itself.
      const watch = world.ledger.begin(client, version, keyless);
      let killed = false;
      let sessionDied = false;
      let ghosting = false;
      let disksRead = 0;
      world.inventory.onCall = async (method, phase, args, context) => {
        if (ghosting || method === 'logout' || context.client.id !== client.id) return;
        beat(world.inventory, world.ledger, world.clock.now());
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
          await ghost(world, world.late)?.().catch(() => undefined);
          ghosting = false;
          world.late = undefined;
        } else if (event === 'late') {
          if (phase === 'before') world.late = { method, args };
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
        // What comes next begins at a full hour, so that it does not matter which of several readings was the last.
        if (exploration.pauseMs === undefined) world.clock.advance(HOUR - (world.clock.now() % HOUR));
        else world.clock.advance(exploration.pauseMs);
      }
    },
    check: (world) => {
      if (world.seen.length > 0) throw new Error(world.seen.join('\n'));
      exploration.check?.(world);
    },
    faults: events,
    depth: exploration.depth ?? 1,
    sampled: soaking ? 1 : 4,
  });
  return { ...coverage, states: states.size };
}

/** Counts the states of a world. */
function watched(world: World, states: Set<string>): void {
  world.inventory.subscribe((snapshot) => states.add(shapeOf(snapshot, world)));
}

/** See `Worlds.state`: what the ledger knows besides what the server holds. */
function crowdState(world: Crowd): string {
  const { ledger, late } = world;
  const { taken, uploading, silent, last } = ledger;
  const pending =
    late === undefined ? '' : JSON.stringify(late, (_, value) => (value instanceof Map ? [...value] : value));
  return [stateOf(world, pending), [...taken].join(), [...uploading].join(), [...silent].join(), last].join('\n');
}

export const FAULTS: readonly Event[] = ['kill', 'lose', 'refuse', 'logout', 'unlead'];

/** What the server does with a call whose process has died meanwhile. */
function ghost({ inventory }: World, { method, args }: Late): (() => Promise<unknown>) | undefined {
  const client = inventory.client();
  const [ref, ...rest] = args as [MoRef, never, never];
  if (method === 'tags.attach') return () => client.tags.attach(ref, [rest[0]]);
  if (!['rename', 'destroy', 'reconfigure', 'markAsTemplate', 'setCustomValue'].includes(method)) return undefined;
  return () => (client[method as 'rename'] as (...all: unknown[]) => Promise<void>)(ref, ...rest);
}

function storeOf(
  world: World,
  client: MemoryClient,
  version: string,
  keyless: boolean,
  leads: () => boolean,
): TemplateStore {
  return templateStore({
    ...optionsOf(world),
    vcenters: async () => client,
    ovas: memoryOva({ version }),
    ...(keyless ? { markKeys: async () => NO_KEYS } : {}),
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
