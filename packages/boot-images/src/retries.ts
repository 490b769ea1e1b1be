import type { SetOutcome } from './boot-image.ts';

/** First and longest pause between attempts at one failing set, in ms. Upstream never repeats failed items (BI-G3). */
export const retryBounds = { first: 5_000, longest: 300_000 } as const;

/** The failures of one set. */
export interface Failure {
  readonly outcome: SetOutcome;
  /** Condition text of the item; absent where it only waits, for example for another process's upload. */
  readonly text: string | undefined;
  readonly attempts: number;
  /** When to try again (ms). */
  readonly due: number;
}

/** Remembers failed sets, so that each is repeated at its own pace and stays reported in between. */
export interface Retries {
  readonly get: (set: string) => Failure | undefined;
  readonly fail: (set: string, outcome: SetOutcome, text: string | undefined, retriable: boolean, now: number) => void;
  readonly clear: (set: string) => void;
  /** Forgets sets that are not among these. */
  readonly keep: (sets: ReadonlySet<string>) => void;
  /** Ms until the next attempt is due; undefined when none is. */
  readonly nextIn: (now: number) => number | undefined;
}

/** An empty memory. */
export function createRetries(bounds: { readonly first: number; readonly longest: number } = retryBounds): Retries {
  const failures = new Map<string, Failure>();
  return {
    get: (set) => failures.get(set),
    fail: (set, outcome, text, retriable, now) => {
      const attempts = (failures.get(set)?.attempts ?? 0) + 1;
      // What repetition alone cannot cure is still looked at, slowly: the cure may happen where nothing is watched.
      const pause = retriable
        ? Math.min(bounds.first * 2 ** Math.min(attempts - 1, 20), bounds.longest)
        : bounds.longest;
      failures.set(set, { outcome, text, attempts, due: now + pause });
    },
    clear: (set) => void failures.delete(set),
    keep: (sets) => {
      for (const set of failures.keys()) if (!sets.has(set)) failures.delete(set);
    },
    nextIn: (now) => {
      const dues = [...failures.values()].map((failure) => failure.due);
      return dues.length === 0 ? undefined : Math.max(1, Math.min(...dues) - now);
    },
  };
}
