import type { Clock } from '../clock.ts';

/** A clock that stands still until `advance` is called. `date()` can be skewed against `now()`, as real machines are. */
export interface VirtualClock extends Clock {
  /** Moves time, waking sleepers in order of their deadlines; work that they start runs before the next one is woken. */
  advance(ms: number): Promise<void>;
  /** Moves time without waking anyone until `advance`: a paused process, or a blocked event loop. */
  pause(ms: number): void;
  /** Moves the wall clock alone: a correction of the time, or a suspended machine whose monotonic clock stood still. */
  jump(ms: number): void;
  /** How many sleeps are pending: 0 after a clean stop. */
  readonly sleeping: number;
}

interface Sleeper {
  readonly due: number;
  wake(): void;
}

/** A virtual clock whose monotonic time starts at 0 and whose wall clock starts at `wall` (ms since the epoch). */
export function virtualClock(wall: number = Date.UTC(2026, 0, 1)): VirtualClock {
  const sleepers = new Set<Sleeper>();
  let now = 0;
  let jumped = 0;

  const sleep: Clock['sleep'] = (ms, options) =>
    new Promise((resolve, reject) => {
      const signal = options?.signal;
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const leave = (): void => {
        sleepers.delete(sleeper);
        signal?.removeEventListener('abort', abort);
      };
      const abort = (): void => {
        leave();
        reject(signal?.reason as Error);
      };
      const sleeper: Sleeper = {
        due: now + ms,
        wake: () => {
          leave();
          resolve();
        },
      };
      sleepers.add(sleeper);
      signal?.addEventListener('abort', abort, { once: true });
      return undefined;
    });

  const advance = async (ms: number): Promise<void> => {
    const end = now + ms;
    await settle();
    for (;;) {
      let next: Sleeper | undefined;
      for (const sleeper of sleepers) if (next === undefined || sleeper.due < next.due) next = sleeper;
      if (next === undefined || next.due > end) break;
      now = Math.max(now, next.due);
      next.wake();
      await settle();
    }
    now = end;
  };

  return {
    now: () => now,
    date: () => new Date(wall + jumped + now),
    sleep,
    advance,
    pause: (ms) => {
      now += ms;
    },
    jump: (ms) => {
      jumped += ms;
    },
    get sleeping() {
      return sleepers.size;
    },
  };
}

/** Lets everything run that waits for nothing but promises and immediates. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}
