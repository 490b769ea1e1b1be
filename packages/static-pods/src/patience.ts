import { ApiError, type Clock, systemClock } from '@drydock/kube';

/** Options of {@link patiently}. */
export interface Patience {
  readonly clock?: Clock;
  /** Ends the attempts. */
  readonly signal?: AbortSignal;
  /** At most so many; default: until the signal ends. */
  readonly attempts?: number;
  /** No attempt begins after this, in the clock's time. */
  readonly until?: number;
  /** Told of each failure that is going to be tried again. */
  readonly onRetry?: (error: unknown, waitMs: number) => void;
}

/** Pauses (ms) before the further attempts; the last one repeats until the signal ends. */
const PAUSES = [10, 50, 250, 1_000, 3_000];

/**
 * Repeats a call on the API server until it succeeds, fails for good or the signal ends. An answer of class 4xx is for good, except 429. What is
 * thrown is the last real error, also when the signal ended.
 */
export async function patiently<T>(call: (signal?: AbortSignal) => Promise<T>, options: Patience = {}): Promise<T> {
  const { clock = systemClock, signal, onRetry } = options;
  let last: unknown;
  for (let attempt = 0; ; attempt += 1) {
    try {
      signal?.throwIfAborted();
      return await call(signal);
    } catch (error) {
      if (signal?.aborted === true) throw error instanceof ApiError ? error : (last ?? error);
      if (!isTransient(error) || attempt + 1 >= (options.attempts ?? Infinity)) throw error;
      last = error;
      const pause = Math.max(PAUSES[attempt] ?? PAUSES.at(-1) ?? 0, error.retryAfter ?? 0);
      const wait = pause * (1 + Math.random() / 10);
      if (options.until !== undefined && clock.now() + wait > options.until) throw error;
      onRetry?.(error, wait);
      await clock.sleep(wait, signal === undefined ? {} : { signal }).catch(() => undefined);
    }
  }
}

function isTransient(error: unknown): error is ApiError {
  return (
    error instanceof ApiError && error.retriable && (error.status < 400 || error.status >= 500 || error.status === 429)
  );
}
