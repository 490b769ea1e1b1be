/** So many per second, after a burst of so many at once. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Hands out turns at a rate. */
export interface TokenBucket {
  /** Takes the next turn and tells how many ms from `now` (monotonic ms) it is away; 0 within the burst. */
  reserve(now: number): number;
}

/** A bucket that is full at the beginning. Keeps one number, the time at which it would be full again (GCRA). */
export function tokenBucket({ perSecond, burst }: Rate): TokenBucket {
  const interval = 1000 / perSecond;
  let full = Number.NEGATIVE_INFINITY;
  return {
    reserve(now) {
      full = Math.max(full, now) + interval;
      return Math.max(0, full - now - burst * interval);
    },
  };
}
