import { type Counter, type Counters, countedKinds, finished } from './counters.ts';

/** One entry of `MachineConfiguration.status.conditions`. */
export interface ConditionLike {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** What a pass found out, in the form from which both conditions are computed. */
export interface PassSummary {
  readonly counters: Counters;
  /** Error texts of all kinds together, in order (one Degraded for everything: no kind masks another, BI-G1). */
  readonly errors: readonly string[];
  /** Event name that caused the pass: the `reason` of both conditions. */
  readonly reason: string;
}

/** Condition types. */
export const progressingType = 'BootImageUpdateProgressing';
/** Condition types. */
export const degradedType = 'BootImageUpdateDegraded';

/** The most characters that the schema of a condition takes (metav1.Condition); more, and the whole status is refused. */
const messageLimit = 32_768;

/** Both conditions as they stand before the first pass; the missing word in Degraded's last part is upstream's (§2.6). */
export function defaultConditions(now: Date): readonly ConditionLike[] {
  const at = { reason: 'NA', lastTransitionTime: rfc3339(now) };
  return [
    {
      type: progressingType,
      status: 'False',
      message: countedKinds.map((kind) => `Reconciled 0 of 0 ${kind}`).join(' | '),
      ...at,
    },
    {
      type: degradedType,
      status: 'False',
      message:
        '0 Degraded MAPI MachineSets | 0 Degraded ControlPlaneMachineSets | 0 Degraded CAPI MachineSets | 0 CAPI MachineDeployments',
      ...at,
    },
  ];
}

/** Message and status of Progressing. */
export function progressing(summary: PassSummary): ConditionLike {
  const kinds = countedKinds.map((kind) => ({ kind, counter: summary.counters[kind] }));
  return {
    type: progressingType,
    status: kinds.every(({ counter }) => finished(counter)) ? 'False' : 'True',
    reason: summary.reason,
    message: kinds.map(({ kind, counter }) => reconciledText(kind, counter)).join(' | '),
  };
}

/** Message and status of Degraded. */
export function degraded(summary: PassSummary): ConditionLike {
  const counts = countedKinds.map((kind) => `${summary.counters[kind].errored} Degraded ${kind}`).join(' | ');
  const prefix = `${counts} | Error(s): `;
  const errors = aggregate(summary.errors, messageLimit - prefix.length);
  return {
    type: degradedType,
    status: errors === undefined ? 'False' : 'True',
    reason: summary.reason,
    message: errors === undefined ? counts : `${prefix}${errors}`,
  };
}

/** One text of many: a single error is its own text, distinct ones stand in brackets, duplicates collapse. Beyond `limit` characters the rest is counted. */
export function aggregate(errors: readonly string[], limit: number = messageLimit): string | undefined {
  const distinct = [...new Set(errors)];
  if (distinct.length <= 1) return distinct[0] === undefined ? undefined : cut(distinct[0], limit);
  const whole = `[${distinct.join(', ')}]`;
  if (whole.length <= limit) return whole;
  const rest = (told: number): string => `, and ${distinct.length - told} more]`;
  let [text, told] = ['[', 0];
  for (const error of distinct) {
    const next = `${text}${told === 0 ? '' : ', '}${error}`;
    if (next.length + rest(told + 1).length > limit) break;
    text = next;
    told += 1;
  }
  return told === 0 ? cut(whole, limit) : `${text}${rest(told)}`;
}

function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1).toWellFormed()}…`;
}

/**
 * The list with the given conditions put in. `lastTransitionTime` moves only when a condition's status changes (the API
 * convention; upstream moves it with every message). Returns the same array when nothing changed, so that no write follows.
 */
export function upsertConditions(
  current: readonly ConditionLike[] | undefined,
  wanted: readonly ConditionLike[],
  now: Date,
): readonly ConditionLike[] {
  const start = current ?? [];
  const result = [...start];
  let changed = false;
  for (const want of wanted) {
    const at = result.findIndex((c) => c.type === want.type);
    const old = result[at];
    if (old !== undefined && old.status === want.status && old.reason === want.reason && old.message === want.message)
      continue;
    const next = { ...old, ...want, lastTransitionTime: transitionTime(result, want, rfc3339(now)) };
    if (old === undefined) result.push(next);
    else result[at] = next;
    changed = true;
  }
  return changed ? result : start;
}

/** Since when a condition has this status: as it was said before, where it had it then. */
export function transitionTime(
  before: readonly Partial<ConditionLike>[] | undefined,
  { type, status }: Pick<ConditionLike, 'type' | 'status'>,
  now: string,
): string {
  const old = before?.find((one) => one.type === type);
  return old?.status === status ? (old.lastTransitionTime ?? now) : now;
}

/** RFC 3339 with whole seconds, the only precision that `metav1.Time` keeps. */
export function rfc3339(time: Date): string {
  return time.toISOString().replace(/\.\d{3}Z$/, 'Z');
}

function reconciledText(kind: string, counter: Counter): string {
  const tail = counter.skipped === 0 ? '' : ` (${counter.skipped} skipped)`;
  return `Reconciled ${counter.reconciled - counter.skipped} of ${counter.total} ${kind}${tail}`;
}
