import type { ImageThere } from '../image-facts.ts';
import type { SetOutcome } from '../status/subject.ts';

/** What was found in the places of sets when these were last looked at. */
export interface WaysBack {
  /** Images that are there for a set. True where that is news. */
  readonly found: (set: string, images: readonly ImageThere[]) => boolean;
  /** What was found before lacks the template that the set came from. */
  readonly switched: (set: string) => void;
  /** The outcome with what was found. */
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
      return there === undefined || outcome.current === undefined ? outcome : { ...outcome, there };
    },
    keep: (sets) => {
      for (const set of known.keys()) if (!sets.has(set)) known.delete(set);
    },
  };
}

function namesIn(images: readonly ImageThere[]): string {
  return JSON.stringify(
    images.map(({ image, release, refused = '' }) => [image, release, refused].join(' ')).toSorted(),
  );
}
