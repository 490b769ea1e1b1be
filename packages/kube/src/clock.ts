import { setTimeout as delay } from 'node:timers/promises';

/** Time as this package sees it, so that tests can turn minutes into nothing. */
export interface Clock {
  /** Monotonic milliseconds; only differences mean something. Deadlines and durations are measured with this. */
  now(): number;
  /** Wall-clock time; only for what is written into objects, never compared with another machine's time. */
  date(): Date;
  /** Resolves after `ms`, rejects when `signal` ends. `background` does not keep the process alive. */
  sleep(
    ms: number,
    options?: { readonly background?: boolean; readonly signal?: AbortSignal | undefined },
  ): Promise<void>;
}

// setTimeout fires at once beyond this (2^31 - 1 ms, about 24.8 days).
const LONGEST_TIMER = 2_147_483_647;

/** The machine's clocks. */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  sleep: async (ms, options) => {
    const end = performance.now() + ms;
    for (let left = ms; left > 0; left = end - performance.now()) {
      await delay(Math.min(left, LONGEST_TIMER), undefined, {
        ref: options?.background !== true,
        ...(options?.signal === undefined ? {} : { signal: options.signal }),
      });
    }
  },
};

/**
 * RFC 3339 with six fractional digits, as the API server's MicroTime wants it: it refuses three digits in `renewTime`,
 * `acquireTime`, `eventTime` and `lastObservedTime`.
 */
export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}
