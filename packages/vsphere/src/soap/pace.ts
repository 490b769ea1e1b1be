const AGE_SHARE = 8;
const FASTEST_MS = 5;

/** The longest pause between two looks. */
export const SLOWEST_MS = 2_000;

/**
 * How long to wait for the next look at something that has taken `age` milliseconds so far: an eighth of that. Its end is then seen at most an eighth later than
 * it came, what is short costs no time, and what is long few calls.
 */
export function nextLook(age: number): number {
  return Math.min(SLOWEST_MS, Math.max(FASTEST_MS, age / AGE_SHARE));
}
