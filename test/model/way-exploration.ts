import type { OperatorProcessOptions } from '@drydock/boot-images/testing';
import { type Coverage, explore } from '@drydock/model';
import { act, type Deed, type Revert, reverting } from './way-deeds.ts';
import { onCalls } from './way-hooks.ts';
import { copyWay, operate, processOf, stateOfWay, type WayOptions, type WayWorld, wayWorld } from './way-world.ts';

/** What happens at a call: its process dies there, or dies and what it was about is outdated when the next one comes, the operator runs until it has nothing to do, or somebody else does something. */
export type WayFault = 'dies' | 'dies outdated' | 'operates' | Deed;

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

function isDeath(fault: WayFault): fault is 'dies' | 'dies outdated' {
  return fault === 'dies' || fault === 'dies outdated';
}

/** What nobody needs is kept for a while. */
export async function untilNothingIsLeft(world: WayWorld, mistake?: OperatorProcessOptions['mistake']): Promise<void> {
  world.cluster.clock += LATER_MS;
  world.clock.advance(LATER_MS);
  await operate(world, mistake);
}

/** Plays the operator until it has nothing to do, with each fault at each of the calls, alone or in pairs. */
export function exploreWay(exploration: WayExploration): Promise<Coverage> {
  const { faults, depth = 1, of = 'operator', before = [], mistake, revert = reverting } = exploration;
  return explore<WayWorld, WayFault>({
    faults,
    depth,
    setup: async () => {
      const world = await wayWorld(exploration);
      for (const deed of before) {
        using _ = onCalls(world);
        await act(world, deed, revert);
        await operate(world, mistake);
      }
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
      return place === 'begin' ? !isDeath(fault) : isDeath(fault) === place.startsWith('after');
    },
    run: async (world, tripwire) => {
      const process = processOf(world);
      let dead = false;
      const trip = async (place: string): Promise<void> => {
        const fault = tripwire.hit(place);
        if (fault === undefined) return;
        if (fault === 'operates') return operate(world, mistake);
        if (!isDeath(fault)) return act(world, fault, revert);
        dead = true;
        process.kill();
        if (fault === 'dies outdated') await act(world, 'newer release', revert);
        throw new Error('the process is dead');
      };
      const unlessDead = (error: unknown): void => {
        if (!dead) throw error;
      };
      const asks = of === 'revert' && !world.done.has('asked');
      if (of === 'operator') await trip('begin');
      using _ = onCalls(world, async ({ place, phase, by, mutates }) => {
        if (by !== process.client && by !== process.session) return;
        if (of === 'operator' ? mutates : phase === 'before') await trip(`${phase} ${place}`);
      });
      if (of === 'operator') {
        await operate(world, mistake, process).catch(unlessDead);
        if (dead) throw new Error('the process is dead');
        return;
      }
      world.done.add('asked');
      if (asks) await revert(world, process, undefined).catch(unlessDead);
      await operate(world, mistake);
    },
    check: async (world) => {
      using _ = onCalls(world);
      await untilNothingIsLeft(world, mistake);
      world.ledger.settled();
    },
  });
}
