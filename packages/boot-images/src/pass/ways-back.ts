import type { ImageThere } from '../image-facts.ts';
import { compareReleases } from '../observe/version.ts';
import type { SetOutcome } from '../status/subject.ts';

/** What was found in the places of sets when these were last looked at. */
export interface WaysBack {
  /** Images that are there for a set. True where that is news. */
  readonly found: (set: string, images: readonly ImageThere[]) => boolean;
  /** What was found before lacks the template that the set came from. */
  readonly switched: (set: string) => void;
  /** The outcome with its way back, where that can be told. */
  readonly told: (set: string, outcome: SetOutcome) => SetOutcome;
  /** Forgets sets that are not among these. */
  readonly keep: (sets: ReadonlySet<string>) => void;
}

/** An empty memory: until a place was looked at nothing is said of it. */
export function createWaysBack(): WaysBack {
  const known = new Map<string, readonly ImageThere[]>();
  return {
    found: (set, images) => {
      const before = known.get(set);
      known.set(set, images);
      return before === undefined || namesIn(before) !== namesIn(images);
    },
    switched: (set) => void known.delete(set),
    told: (set, outcome) => {
      const there = known.get(set);
      if (there === undefined || outcome.current === undefined) return outcome;
      const release = newestBelow(
        outcome.current,
        there.map((image) => image.release),
      );
      return { ...outcome, there, back: release === undefined ? {} : { release } };
    },
    keep: (sets) => {
      for (const set of known.keys()) if (!sets.has(set)) known.delete(set);
    },
  };
}

function namesIn(images: readonly ImageThere[]): string {
  return JSON.stringify(images.map(({ image, release }) => [image, release].join(' ')).toSorted());
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
