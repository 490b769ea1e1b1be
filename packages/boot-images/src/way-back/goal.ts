import type { BootImageStatus } from '@drydock/api';
import { type HistoryEntry, historyOutcomes, isSameImage } from './history.ts';
import type { Pin } from './pin.ts';

/** The image of a pin. */
export type Goal = Pick<Pin, 'release' | 'image' | 'digest'>;

/** Shortest beginning of an identifier that is taken for it. */
const SHORTEST_ID = 6;

/**
 * Where a set can go back to by its history, the likeliest first. Without `to`: what it had before, newest first, but for what was gone back from. With it: what has this
 * identifier, image, digest or release, the one in use among them, which a pin then holds; where the history has none, the release as it was given.
 */
export function goalsOf(status: BootImageStatus | undefined, to: string | undefined): readonly Goal[] {
  const history = status?.history ?? [];
  const inUse = history.find(({ until }) => until === undefined);
  if (to !== undefined) {
    const named = history.filter((entry) => isNamed(entry, to));
    return named.length === 0 ? [{ release: to }] : distinct(named).map(goalOf);
  }
  const bad = history.filter(({ outcome }) => outcome === historyOutcomes.revertedFrom);
  const before = history.filter(
    (entry) =>
      entry !== inUse && ![...(inUse === undefined ? [] : [inUse]), ...bad].some((one) => isSameImage(one, entry)),
  );
  return distinct(before).map(goalOf);
}

/** What a revert goes back to where nobody says where to; undefined where nothing is, or where the last look at its place found its image gone. */
export function revertGoal(status: BootImageStatus | undefined): HistoryEntry | undefined {
  const [goal] = goalsOf(status, undefined);
  const entry = goal && status?.history?.find((one) => isSameImage(one, { id: '', ...goal }));
  return entry?.revertable === false ? undefined : entry;
}

/** {@link revertGoal} as people call it. */
export function revertTo(status: BootImageStatus | undefined): string | undefined {
  const { release, image } = revertGoal(status) ?? {};
  return release ?? image;
}

/** Whether going there means that the content under a name changes, and not the name (swap mode). */
export function keepsName(status: BootImageStatus | undefined, goal: Goal): boolean {
  const [inUse, ...others] = status?.history ?? [];
  if (inUse?.image === undefined) return status?.template?.retired !== undefined && goal.image === undefined;
  const isOther = ({ image, release }: Goal): boolean => image === inUse.image && release !== inUse.release;
  // While a swap is under way nothing bears the name, and only the history knows of those before it.
  const swaps = status?.template?.retired !== undefined || others.some(isOther);
  return isOther(goal) || (swaps && (goal.image === undefined || goal.image === inUse.image));
}

function isNamed({ id, image, release, digest }: HistoryEntry, to: string): boolean {
  return [image, release, digest].includes(to) || (to.length >= SHORTEST_ID && id.startsWith(to));
}

function distinct(entries: readonly HistoryEntry[]): readonly HistoryEntry[] {
  return entries.filter((entry, at) => entries.findIndex((one) => isSameImage(one, entry)) === at);
}

function goalOf({ release, image, digest }: HistoryEntry): Goal {
  return {
    ...(release === undefined ? {} : { release }),
    ...(image === undefined ? {} : { image }),
    ...(digest === undefined ? {} : { digest }),
  };
}
