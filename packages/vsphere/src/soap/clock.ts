import { setTimeout as delay } from 'node:timers/promises';

/** Time as the client sees it, so that tests can turn minutes into nothing. Never the wall clock of the server. */
export interface Clock {
  /** Milliseconds; only differences mean something. */
  now(): number;
  /** Resolves after `ms`, rejects with an `AbortError` when `signal` ends. `background` does not keep the process alive. */
  sleep(
    ms: number,
    options?: { readonly background?: boolean; readonly signal?: AbortSignal | undefined },
  ): Promise<void>;
}

/** The machine's monotonic clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, options) =>
    delay(ms, undefined, {
      ref: options?.background !== true,
      ...(options?.signal === undefined ? {} : { signal: options.signal }),
    }),
};
