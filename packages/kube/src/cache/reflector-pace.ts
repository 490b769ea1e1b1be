import { ApiError } from '../errors.ts';

/** First and longest pause (ms) after a failure; it doubles in between. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 30_000;

/**
 * First span (ms) before a list that is repeated. A restarted server refuses every version of every watch at the same moment, and lists are
 * what hurts it: each waits for a random part of this.
 */
const FIRST_LIST_SPAN = 1_000;

/** How long a reflector waits. */
export interface Pace {
  /** An event came, or a watch lasted. */
  wentWell(): void;
  /** Half to all of a span that doubles with each failure, and at least what the server asked for, spread by a tenth. */
  afterFailure(error: unknown): number;
  /** Any part of a span that doubles with each list in a row that did not last. */
  beforeList(error: unknown): number;
}

/** Counts failures of one reflector. `random` is 0 ≤ n < 1. */
export function pacer(random: () => number): Pace {
  let failures = 0;
  let lists = 0;

  function asked(error: unknown): number {
    const wish = error instanceof ApiError ? (error.retryAfter ?? 0) : 0;
    // Whoever was told the same number must not come back at the same moment.
    return wish * (1 + random() / 10);
  }

  return {
    wentWell: () => {
      failures = 0;
      lists = 0;
    },
    afterFailure: (error) => {
      const span = Math.min(FIRST_PAUSE * 2 ** failures, LONGEST_PAUSE);
      failures = Math.min(failures + 1, 20);
      return Math.max(asked(error), span / 2 + (random() * span) / 2);
    },
    beforeList: (error) => {
      // The server answered, so it is there again; only its memory is new.
      failures = 0;
      const span = Math.min(FIRST_LIST_SPAN * 2 ** lists, LONGEST_PAUSE);
      lists = Math.min(lists + 1, 20);
      return Math.max(asked(error), random() * span);
    },
  };
}
