import type { OperatorProcessOptions } from '@drydock/boot-images/testing';
import { type Coverage, explore } from '@drydock/model';
import { act, type Deed, type Revert, reverting } from './way-deeds.ts';
import {
  copyWay,
  operate,
  processOf,
  stateOfWay,
  type WayOptions,
  type WayProcess,
  type WayWorld,
  wayWorld,
} from './way-world.ts';

/** What happens at a call: its process dies there, the operator runs until it has nothing to do, or somebody else does something. */
export type WayFault = 'dies' | 'operates' | Deed;

/** What is explored. */
export interface WayExploration extends WayOptions {
  readonly faults: readonly WayFault[];
  readonly depth?: 1 | 2;
  /** Whose calls they are: those of the operator that change something, or all those of somebody who goes back, after which the operator runs. Default `operator`. */
  readonly of?: 'operator' | 'revert';
  /** What was done before it begins, and dealt with. */
  readonly before?: readonly Deed[];
  readonly mistake?: OperatorProcessOptions['mistake'];
  readonly revert?: Revert;
}

const LATER_MS = 3 * 86_400_000;

/** Plays the operator until it has nothing to do, with each fault at each of the calls, alone or in pairs. */
export function exploreWay(exploration: WayExploration): Promise<Coverage> {
  const { faults, depth = 1, of = 'operator', before = [], mistake, revert = reverting } = exploration;
  return explore<WayWorld, WayFault>({
    faults,
    depth,
    setup: async () => {
      const world = await wayWorld(exploration);
      for (const deed of before)
        await hooked(world, async () => {
          await act(world, deed, revert);
          await operate(world, mistake);
        });
      return world;
    },
    worlds: {
      copy: copyWay,
      state: stateOfWay,
      holds: ({ ledger }) => {
        const [first] = ledger.wrong;
        if (first !== undefined) throw new Error(first);
      },
    },
    // Before a call all is as after the one before it; and what a person does after one is done before the next one.
    tries: (fault, place) => {
      if (of === 'revert') return true;
      return place === 'begin' ? fault !== 'dies' : (fault === 'dies') === place.startsWith('after');
    },
    run: async (world, tripwire) => {
      const process = processOf(world);
      let dead = false;
      const trip = async (place: string): Promise<void> => {
        const fault = tripwire.hit(place);
        if (fault === undefined) return;
        if (fault === 'operates') return operate(world, mistake);
        if (fault !== 'dies') return act(world, fault, revert);
        dead = true;
        process.kill();
        throw new Error('the process is dead');
      };
      const unlessDead = (error: unknown): void => {
        if (!dead) throw error;
      };
      if (of === 'operator') {
        await trip('begin');
        await hooked(world, () => operate(world, mistake, process).catch(unlessDead), { process, trip });
        if (dead) throw new Error('the process is dead');
        return;
      }
      if (!world.done.has('asked')) {
        world.done.add('asked');
        const asks = (): Promise<unknown> => revert(world, process, undefined).catch(unlessDead);
        await hooked(world, asks, { process, trip });
      }
      await hooked(world, () => operate(world, mistake));
    },
    check: async (world) => {
      // What nobody needs is kept for a while.
      world.cluster.clock += LATER_MS;
      world.clock.advance(LATER_MS);
      await hooked(world, () => operate(world, mistake));
      world.ledger.settled();
    },
  });
}

interface Hooks {
  readonly process: WayProcess;
  /** Called around each call of the process: of the operator around each that changes something. */
  readonly trip: (place: string) => Promise<void>;
}

/** Runs something on both servers, whose ledger knows who changes what. */
async function hooked(world: WayWorld, run: () => Promise<unknown>, hooks?: Hooks): Promise<void> {
  const { cluster, inventory, ledger, operators } = world;
  const around = async (place: string, phase: 'before' | 'after', by: object, mutates: boolean): Promise<void> => {
    const operates = operators.has(by);
    if (operates && !mutates) return;
    const issued = ledger.pins();
    if (phase === 'after') await ledger.look();
    if (by === hooks?.process.client || by === hooks?.process.session)
      if (operates || phase === 'before') await hooks.trip(`${phase} ${place}`);
    ledger.begin(operates ? 'operator' : 'person', issued);
  };
  const server = cluster.client.cluster;
  const before = [server.onCall, inventory.onCall] as const;
  server.onCall = ({ verb, resource }, phase, { mutates, client }) =>
    around(`${verb} ${resource.split('.')[0]}`, phase, client, mutates);
  inventory.onCall = (method, phase, args, { mutates, client }) =>
    around(method === 'rename' ? `rename ${String(args[1])}` : method, phase, client, mutates);
  try {
    await run();
  } finally {
    [server.onCall, inventory.onCall] = before;
  }
}
