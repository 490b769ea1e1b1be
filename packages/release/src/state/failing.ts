import type { ApplyError } from '../apply/apply-error.ts';
import type { ApplyMode } from '../apply/owner.ts';

/** What went wrong with one object, as far as a summary needs it. */
export type Failure = Pick<ApplyError, 'object' | 'reason' | 'effect' | 'message' | 'since'>;

/** When each failure was first seen, in ms, by {@link failureKey}. */
export type Since = ReadonlyMap<string, number>;

/** Whether the application of a release fails: True, False, or Unknown where something takes longer than it should. */
export interface Failing {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** So long may something be degraded (ms). */
export const DEGRADED_FOR: number = 40 * 60_000;
/** So long may an operator take to say a new version (ms), but for the one that restarts all machines. */
export const SLOW_AFTER: number = 30 * 60_000;
const SLOW_MACHINES: number = 90 * 60_000;
const MACHINES = 'machine-config';

/** Which failure it is: another reason of the same object is another one. */
export function failureKey({ object: { group, kind, namespace, name }, reason }: Failure): string {
  return JSON.stringify([group, kind, namespace, name, reason]);
}

/** The same after one more attempt: what is still there keeps its beginning, what is over is forgotten. */
export function sinceAfter(failures: readonly Failure[], before: Since, now: number): Since {
  return new Map(failures.map(failureKey).map((key) => [key, before.get(key) ?? now]));
}

/** Sums up what stands against a release. */
export function failingOf(
  failures: readonly Failure[],
  { since, now, mode }: { readonly since: Since; readonly now: number; readonly mode: ApplyMode },
): Failing {
  const lasts = (failure: Failure): number =>
    now - Math.min(failure.since?.getTime() ?? now, since.get(failureKey(failure)) ?? now);
  const failed = failures.filter((failure) => {
    if (failure.effect === 'FailAfterInterval') return mode !== 'initializing' && lasts(failure) > DEGRADED_FOR;
    return failure.effect === 'Fail' || failure.effect === 'Report';
  });
  if (failed.length > 0) return { status: 'True', ...summaryOf(failed) };
  const slow = failures.filter((failure) => {
    const longest = failure.object.name === MACHINES ? SLOW_MACHINES : SLOW_AFTER;
    return isOperator(failure) && failure.effect === 'None' && mode !== 'initializing' && lasts(failure) > longest;
  });
  if (slow.length === 0) return { status: 'False', reason: 'AsExpected', message: '' };
  const names = slow.map(({ object }) => object.name).join(', ');
  return { status: 'Unknown', reason: 'SlowClusterOperator', message: `Waited longer than usual for ${names}.` };
}

/** One reason and one text for several failures; operators that fail alike are named together. */
function summaryOf(failures: readonly Failure[]): { readonly reason: string; readonly message: string } {
  const distinct = [...new Map(failures.map((one) => [`${one.reason} ${one.message}`, one])).values()];
  const [only, ...more] = distinct;
  if (only !== undefined && more.length === 0) return { reason: only.reason, message: only.message };
  const reasons = [...new Set(distinct.map(({ reason }) => reason))];
  if (distinct.every(isOperator)) {
    const names = [...new Set(distinct.map(({ object }) => object.name))].toSorted().join(', ');
    const kinds = reasons.map((one) => one.replace(/^ClusterOperator/, '')).toSorted();
    return {
      reason: kinds.length === 1 ? `ClusterOperators${kinds[0]}` : 'ClusterOperatorsFailing',
      message: `Cluster operators ${names}: ${kinds.join(', ')}.`,
    };
  }
  const reason = reasons.length === 1 ? (reasons[0] ?? '') : 'MultipleErrors';
  return { reason, message: distinct.map(({ message }) => message).join(' ') };
}

function isOperator({ object: { group, kind } }: Failure): boolean {
  return kind === 'ClusterOperator' && group === 'config.openshift.io';
}
