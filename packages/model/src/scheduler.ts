import { setImmediate as tick } from 'node:timers/promises';
import type { VirtualClock } from './clock.ts';

/** Decides who goes next, so that a seed gives an interleaving. */
export interface Scheduler {
  /** Every actor waits here before each of its calls. */
  turn(): Promise<void>;
  /** Runs the actors to their ends. */
  run<T>(actors: readonly (() => Promise<T>)[]): Promise<readonly PromiseSettledResult<T>[]>;
}

/** Rounds of the event loop without a waiting actor, after which the clock is moved. */
const QUIET_ROUNDS = 3;
const MAX_ROUNDS = 100_000;

/** A scheduler whose choices follow from `seed` alone, as long as the actors wait for nothing but `turn` and the clock. */
export function scheduler(seed: number, clock?: VirtualClock): Scheduler {
  const random = generator(seed);
  const waiting: (() => void)[] = [];
  return {
    turn: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      return promise;
    },
    run: async (actors) => {
      let open = true;
      const all = Promise.allSettled(actors.map((actor) => actor())).finally(() => {
        open = false;
      });
      let quiet = 0;
      for (let round = 0; open; round += 1) {
        if (round > MAX_ROUNDS) throw new Error(`seed ${seed}: the actors do not come to an end`);
        await tick();
        const [next] = waiting.splice(Math.floor(random() * waiting.length), 1);
        quiet = next === undefined ? quiet + 1 : 0;
        next?.();
        if (quiet >= QUIET_ROUNDS) clock?.advanceToNext();
      }
      return all;
    },
  };
}

/** Numbers in [0, 1) that follow from a seed (mulberry32). */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
