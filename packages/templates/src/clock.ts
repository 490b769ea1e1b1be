import { setTimeout as delay } from 'node:timers/promises';

/** Time as this machine has it: for pauses, rates and ages of files. What is in vCenter has vCenter's. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Rejects when the signal ends. */
  sleep(ms: number, options?: { readonly signal?: AbortSignal | undefined }): Promise<void>;
}

/** The machine's clock. */
export const wallClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, options) => delay(ms, undefined, options?.signal === undefined ? {} : { signal: options.signal }),
};
