import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../soap/clock.ts';

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  /** Moves on, waking each sleeper at its time and letting what it starts settle before the next one wakes. */
  advance(ms: number): Promise<void>;
}

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** Starts at 0. */
export function manualClock(): ManualClock {
  let time = 0;
  const sleepers = new Set<Sleeper>();
  return {
    now: () => time,
    sleep: (ms, options) =>
      new Promise((resolve, reject) => {
        const signal = options?.signal;
        const end = (): void => {
          sleepers.delete(sleeper);
          reject(new DOMException('the sleep was aborted', 'AbortError'));
        };
        const sleeper: Sleeper = {
          at: time + ms,
          wake: () => {
            sleepers.delete(sleeper);
            signal?.removeEventListener('abort', end);
            resolve();
          },
        };
        if (signal?.aborted === true) end();
        else {
          sleepers.add(sleeper);
          signal?.addEventListener('abort', end, { once: true });
        }
      }),
    async advance(ms) {
      const until = time + ms;
      await turn();
      for (;;) {
        const next = [...sleepers].sort((one, other) => one.at - other.at)[0];
        if (next === undefined || next.at > until) break;
        time = next.at;
        next.wake();
        await turn();
      }
      time = until;
    },
  };
}
