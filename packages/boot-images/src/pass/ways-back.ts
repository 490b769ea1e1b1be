import { compareReleases } from '../observe/version.ts';
import type { SetOutcome } from '../status/boot-image.ts';

/** What was found in the places of sets when these were last looked at. */
export interface WaysBack {
  /** Releases that are there for a set. True where that is news. */
  readonly found: (set: string, releases: readonly string[]) => boolean;
  /** What was found before lacks the template that the set came from. */
  readonly switched: (set: string) => void;
  /** The outcome with its way back, where that can be told. */
  readonly told: (set: string, outcome: SetOutcome) => SetOutcome;
  /** Forgets sets that are not among these. */
  readonly keep: (sets: ReadonlySet<string>) => void;
}

/** An empty memory: until a place was looked at nothing is said of it. */
export function createWaysBack(): WaysBack {
  const there = new Map<string, readonly string[]>();
  return {
    found: (set, releases) => {
      const before = there.get(set);
      there.set(set, releases);
      return before?.toSorted().join() !== releases.toSorted().join();
    },
    switched: (set) => void there.delete(set),
    told: (set, outcome) => {
      const releases = there.get(set);
      if (releases === undefined || outcome.current === undefined) return outcome;
      const release = newestBelow(outcome.current, releases);
      return { ...outcome, back: release === undefined ? {} : { release } };
    },
    keep: (sets) => {
      for (const set of there.keys()) if (!sets.has(set)) there.delete(set);
    },
  };
}

/** The newest of these releases that is older than the current one; what cannot be compared is none. */
export function newestBelow(current: string, releases: Iterable<string>): string | undefined {
  let newest: string | undefined;
  for (const release of releases) {
    if ((compareReleases(release, current) ?? 0) >= 0) continue;
    if (newest === undefined || (compareReleases(release, newest) ?? 0) > 0) newest = release;
  }
  return newest;
}
