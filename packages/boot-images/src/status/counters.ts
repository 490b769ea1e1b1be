/** The four kinds that both conditions name, in the order of the message grammar. */
export const countedKinds = [
  'MAPI MachineSets',
  'ControlPlaneMachineSets',
  'CAPI MachineSets',
  'CAPI MachineDeployments',
] as const;

/** One of {@link countedKinds}. */
export type CountedKind = (typeof countedKinds)[number];

/** Counters of one kind. `reconciled` counts items without error, including the skipped ones (boot-images.md §2.6). */
export interface Counter {
  readonly total: number;
  readonly reconciled: number;
  readonly skipped: number;
  readonly errored: number;
}

/** Counters of all kinds. */
export type Counters = Readonly<Record<CountedKind, Counter>>;

/** A counter of nothing. */
export const zeroCounter: Counter = { total: 0, reconciled: 0, skipped: 0, errored: 0 };

/** Counters before the first pass. */
export const zeroCounters: Counters = {
  'MAPI MachineSets': zeroCounter,
  ControlPlaneMachineSets: zeroCounter,
  'CAPI MachineSets': zeroCounter,
  'CAPI MachineDeployments': zeroCounter,
};

/** How one item ended, as far as counting goes; `pending` items are in the total only. */
export type CountedOutcome = 'reconciled' | 'skipped' | 'error' | 'pending';

/** Counts the outcomes of one kind. */
export function countOutcomes(outcomes: readonly CountedOutcome[]): Counter {
  const count = (wanted: CountedOutcome): number => outcomes.filter((o) => o === wanted).length;
  return {
    total: outcomes.length,
    reconciled: count('reconciled') + count('skipped'),
    skipped: count('skipped'),
    errored: count('error'),
  };
}

/** True when nothing of the kind is pending. */
export function finished(counter: Counter): boolean {
  return counter.total === counter.reconciled + counter.errored;
}
