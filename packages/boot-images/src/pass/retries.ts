/**
 * How soon a failed set is looked at again, by what the look costs. `soon`: time alone may cure it. `look`: a person has to act, and a few
 * reads tell whether one did. `late`: a person has to act, and only another download or upload would tell.
 */
export type Pace = 'soon' | 'look' | 'late';

/** First and longest pause at each pace, in ms; every pause doubles the one before. Upstream never repeats failed items (BI-G3). */
export const pauses: Readonly<Record<Pace, { readonly first: number; readonly longest: number }>> = {
  soon: { first: 5_000, longest: 300_000 },
  look: { first: 10_000, longest: 300_000 },
  late: { first: 300_000, longest: 300_000 },
};

/** What went wrong with a set. */
export interface Failure {
  /** Another code starts the pauses again: something has changed. Texts do not tell, because they may name the call. */
  readonly code: string;
  /** Condition text of the item; absent where it only waits, for example for another process's upload. */
  readonly text: string | undefined;
  readonly pace: Pace;
}

/** Failures by set, so that each is repeated at its own pace and stays reported in between. */
export interface Retries {
  /** The failure, and whether it is time to look again. */
  readonly get: (set: string, now: number) => (Failure & { readonly due: boolean }) | undefined;
  /** Condition texts of the sets that failed. */
  readonly texts: () => ReadonlyMap<string, string>;
  readonly fail: (set: string, failure: Failure, now: number) => void;
  readonly clear: (set: string) => void;
  /** Forgets sets that are not among these. */
  readonly keep: (sets: ReadonlySet<string>) => void;
  /** Ms until the next look is due; undefined when none is. */
  readonly nextIn: (now: number) => number | undefined;
}

/** An empty memory. */
export function createRetries(): Retries {
  const failures = new Map<
    string,
    Failure & { readonly count: number; readonly pause: number; readonly since: number }
  >();
  // A clock that was set back would make the pause as long as the step; then it is over.
  const left = ({ since, pause }: { readonly since: number; readonly pause: number }, now: number): number =>
    now < since ? 0 : Math.max(0, since + pause - now);
  return {
    get: (set, now) => {
      const failure = failures.get(set);
      return failure === undefined ? undefined : { ...failure, due: left(failure, now) === 0 };
    },
    texts: () => {
      const texts = new Map<string, string>();
      for (const [set, { text }] of failures) if (text !== undefined) texts.set(set, text);
      return texts;
    },
    fail: (set, failure, now) => {
      const last = failures.get(set);
      const count = last?.code === failure.code ? last.count + 1 : 0;
      const { first, longest } = pauses[failure.pace];
      const pause = Math.min(first * 2 ** Math.min(count, 20), longest);
      failures.set(set, { ...failure, count, pause, since: now });
    },
    clear: (set) => void failures.delete(set),
    keep: (sets) => {
      for (const set of failures.keys()) if (!sets.has(set)) failures.delete(set);
    },
    nextIn: (now) => {
      const next = Math.min(...failures.values().map((failure) => left(failure, now)));
      return Number.isFinite(next) ? Math.max(1, next) : undefined;
    },
  };
}
