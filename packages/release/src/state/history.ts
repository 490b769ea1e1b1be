import { minorOf } from './versions.ts';

/** One release that was applied, or begun: as `status.history` has it, the newest first. */
export interface HistoryEntry {
  /** `Completed` or `Partial`. */
  readonly state: string;
  readonly version: string;
  readonly image: string;
  /** RFC 3339. */
  readonly startedTime: string;
  /** When it was complete, or when another one was begun instead. */
  readonly completionTime?: string;
  /** Whether a signature was seen. Never taken back. */
  readonly verified: boolean;
  /** What was known to be wrong and was accepted, in words. */
  readonly acceptedRisks?: string;
  /** RFC 3339; since when it is final. Never taken back. */
  readonly finalisedTime?: string;
}

/** How far a release has come. */
export interface Attained {
  /** '' where it is not known yet. */
  readonly version: string;
  /** '' where nothing is wanted. */
  readonly image: string;
  readonly completed: boolean;
  readonly verified: boolean;
  /** '' or undefined: nothing had to be, or is asked again once it is there. What was written stays. */
  readonly acceptedRisks?: string;
}

/** So many entries are kept. */
export const MAX_HISTORY = 100;
/** More than this nobody has without an editor: what is between is dropped unread. */
const MAX_READ = 2 * MAX_HISTORY;
/** These stay whatever happens: the newest ones. */
const NEWEST = 4;

/**
 * The history after one more look, as openshift/cluster-version-operator writes it: the same release again fills its entry in, another one is put before it, and what was not complete stays
 * Partial. Going back puts the older release there once more. Never longer than `max`.
 */
export function mergeHistory(
  history: readonly HistoryEntry[],
  attained: Attained,
  now: string,
  max: number = MAX_HISTORY,
): readonly HistoryEntry[] {
  let merged = withAttained(bounded(history), attained, now);
  while (merged.length > max) merged = pruneHistory(merged, max);
  return merged;
}

function withAttained(
  history: readonly HistoryEntry[],
  { version, image, completed, verified, acceptedRisks }: Attained,
  now: string,
): readonly HistoryEntry[] {
  if (image === '') return history;
  const [head, ...older] = history;
  const done = completed ? { state: 'Completed' } : {};
  const risks = acceptedRisks === undefined || acceptedRisks === '' ? {} : { acceptedRisks };
  if (head !== undefined && isSame(head, { version, image })) {
    const filled: HistoryEntry = {
      ...head,
      version: version === '' ? head.version : version,
      image,
      verified: head.verified || verified,
      ...done,
      ...(completed ? { completionTime: head.completionTime ?? now } : {}),
      ...risks,
    };
    return [filled, ...older];
  }
  const begun: HistoryEntry = {
    state: 'Partial',
    ...{ version, image, verified, startedTime: now },
    ...done,
    ...(completed ? { completionTime: now } : {}),
    ...risks,
  };
  return head === undefined ? [begun] : [begun, { ...head, completionTime: head.completionTime ?? now }, ...older];
}

/** The same image and no other version, or the same version and no other image: of a release that was only begun one of them may not be known. */
function isSame(a: Pick<HistoryEntry, 'version' | 'image'>, b: Pick<HistoryEntry, 'version' | 'image'>): boolean {
  const fits = (x: string, y: string): boolean => x === y || x === '' || y === '';
  return fits(a.version, b.version) && fits(a.image, b.image) && (a.image === b.image || a.version === b.version);
}

function bounded(history: readonly HistoryEntry[]): readonly HistoryEntry[] {
  return history.length <= MAX_READ ? history : [...history.slice(0, MAX_READ - 1), ...history.slice(-1)];
}

/**
 * Takes one entry out of a history that is longer than `max`: the one that tells least. The oldest, the newest ones and the newest that is complete stay; then what was first or last of its
 * minor; attempts between two minors tell more than attempts between two patches. Majors are told apart.
 */
export function pruneHistory(history: readonly HistoryEntry[], max: number = MAX_HISTORY): readonly HistoryEntry[] {
  if (history.length <= max) return history;
  const completed = history.flatMap(({ state }, at) => (state === 'Completed' ? [at] : []));
  const [newest] = completed;
  const minors = history.map(({ version }) => minorOf(version));
  let next = 0;
  const scores = history.map(({ state }, at): number => {
    // Both lists run the same way, so that the neighbours are found by going along.
    while (next < completed.length && (completed[next] ?? 0) < at) next += 1;
    const newer = completed[next - 1];
    const older = completed[completed[next] === at ? next + 1 : next];
    if (at === history.length - 1 || at <= NEWEST || at === newest) return 1_000;
    const isEdge = (neighbour: number | undefined): boolean =>
      neighbour === undefined || minors[neighbour] !== minors[at];
    if (state === 'Completed') return (isEdge(newer) || isEdge(older) ? 30 : 0) - 1.01 * at;
    if (newer === undefined || older === undefined) return -1.01 * at;
    if (minors[newer] !== minors[older]) return 20 - 1.01 * at;
    return (history[newer]?.version === history[older]?.version ? 0 : -20) - 1.01 * at;
  });
  const least = scores.indexOf(scores.reduce((a, b) => Math.min(a, b)));
  return history.toSpliced(least, 1);
}
