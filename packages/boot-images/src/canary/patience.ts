import type { CanaryMachine } from './decide.ts';

/** Since when this process has looked at a canary, by its own clock, and how long it was there before, by the clock on the wall; both in ms, by uid. */
export type CanaryWaits = Map<string, { readonly since: number; readonly before: number }>;

/** The two clocks of a process. */
export interface CanaryClocks {
  readonly now: () => Date;
  /** Monotonic ms. Default: the machine's. */
  readonly elapsed?: (() => number) | undefined;
}

/** Far more than there are canaries at a time. */
const MOST = 256;

/**
 * How much of the time that a machine has is over, in ms. Only what this process saw pass by a clock that nobody sets counts in full: the clock on the wall jumps, forwards or back, and the one by which
 * the server says when the machine was made is another one. It is asked once, for what was before a process came, and answers for half of the time at the most: a process that comes after a jump
 * still gives a machine the other half, and processes that go early end its time all the same.
 */
export function waitedMs(
  waits: CanaryWaits,
  { uid, made }: Pick<CanaryMachine, 'uid' | 'made'>,
  timeoutMs: number,
  clocks: CanaryClocks,
): number {
  const elapsed = elapsedOf(clocks);
  const known = waits.get(uid) ?? { since: elapsed, before: clocks.now().getTime() - made };
  note(waits, uid, known);
  const before = Number.isFinite(known.before) ? Math.max(0, known.before) : 0;
  return elapsed - known.since + Math.min(before, timeoutMs / 2);
}

/** This process has made the machine: nothing was before. */
export function beginWait(waits: CanaryWaits, uid: string, clocks: CanaryClocks): void {
  note(waits, uid, { since: elapsedOf(clocks), before: 0 });
}

function note(waits: CanaryWaits, uid: string, one: { readonly since: number; readonly before: number }): void {
  if (uid === '') return;
  const [oldest] = waits.keys();
  if (oldest !== undefined && waits.size >= MOST && !waits.has(uid)) waits.delete(oldest);
  waits.set(uid, one);
}

/** Now, by the clock that nobody sets, in ms. */
export function elapsedOf({ elapsed = () => performance.now() }: CanaryClocks): number {
  return elapsed();
}
