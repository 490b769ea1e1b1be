import { createHash } from 'node:crypto';
import type { BootImageStatusHistoryItem } from '@drydock/api';
import { shortText } from '@drydock/api/text';
import type { ImageThere } from '../image-facts.ts';
import type { Pin } from './pin.ts';

/** One image in `BootImage.status.history`. */
export type HistoryEntry = BootImageStatusHistoryItem;

/** So many images are remembered of a set, the one in use among them. */
export const historyLimit = 20;

/** What a history says of who moved a set, besides the field managers of others. */
export const movers = { found: 'found', release: 'release', revert: 'revert' } as const;

/** What became of an image. */
export const historyOutcomes = {
  inUse: 'InUse',
  replaced: 'Replaced',
  revertedFrom: 'RevertedFrom',
} as const;

/** Longest text of an entry, in UTF-16 units. */
const LONGEST = 2048;

/** Of an entry whose place has no such image any more. */
export const IMAGE_GONE = 'the image is gone';

/** An image that new machines were seen to start from. */
export interface SeenImage {
  /** As the set refers to it, without its folder. */
  readonly image: string;
  /** The release, or the image where no release is known. */
  readonly release: string;
  readonly digest: string | undefined;
  readonly place: string | undefined;
  /** The operation that made it; undefined where none is known. */
  readonly operation: string | undefined;
  /** One of {@link movers}, or a field manager. */
  readonly by: string;
  /** The pin that moved the set to it. */
  readonly pin?: Pick<Pin, 'by' | 'reason'> | undefined;
  /** RFC 3339. */
  readonly now: string;
}

/** The history with what is seen now as its first entry; the same history where that is what was seen last. */
export function withImage(history: readonly HistoryEntry[], seen: SeenImage): readonly HistoryEntry[] {
  const [last, ...before] = history;
  if (last !== undefined && last.until === undefined && isSame(last, seen)) {
    const known = { ...(seen.digest === undefined ? {} : { digest: seen.digest }) };
    return last.digest === (known.digest ?? last.digest) ? history : [{ ...last, ...known }, ...before];
  }
  const { operation, now, by, pin } = seen;
  const ids = new Set(history.map(({ id }) => id));
  const wanted = operation ?? idOf(seen);
  const entry: HistoryEntry = {
    id: ids.has(wanted) ? idOf(seen, ids) : wanted,
    release: shortText(seen.release, LONGEST),
    image: shortText(seen.image, LONGEST),
    ...(seen.digest === undefined ? {} : { digest: shortText(seen.digest, LONGEST) }),
    ...(seen.place === undefined ? {} : { place: shortText(seen.place, LONGEST) }),
    since: now,
    by: shortText(last === undefined ? movers.found : by, LONGEST),
    ...(pin?.by === undefined || last === undefined ? {} : { pinnedBy: shortText(pin.by, LONGEST) }),
    ...(pin?.reason === undefined || last === undefined ? {} : { pinReason: shortText(pin.reason, LONGEST) }),
    outcome: historyOutcomes.inUse,
  };
  const outcome = by === movers.revert ? historyOutcomes.revertedFrom : historyOutcomes.replaced;
  const closed = history.map((one) => (one.until === undefined ? { ...one, until: now, outcome } : one));
  return [entry, ...closed].slice(0, historyLimit);
}

/** The history with what a look at the place found: whether each image that is not in use is there to be pointed at. */
export function withReach(
  history: readonly HistoryEntry[],
  there: readonly ImageThere[] | undefined,
): readonly HistoryEntry[] {
  if (there === undefined) return history;
  return history.map((entry) => {
    if (entry.until === undefined) return entry;
    const found = there.filter((one) => isImageOf(entry, one));
    const revertable = found.some(({ refused }) => refused === undefined);
    const why = revertable ? undefined : shortText(found[0]?.refused ?? IMAGE_GONE, LONGEST);
    if (entry.revertable === revertable && entry.why === why) return entry;
    const { why: _, ...rest } = entry;
    return { ...rest, revertable, ...(why === undefined ? {} : { why }) };
  });
}

/** Whether an image in a place is the one of an entry, also where a swap gave it another name. */
export function isImageOf(
  { image, release, digest }: Pick<HistoryEntry, 'image' | 'release' | 'digest'>,
  there: ImageThere,
): boolean {
  if (digest !== undefined && there.digest !== undefined) return digest === there.digest;
  return release === there.release && (image === undefined || image === there.image || image === there.stableName);
}

/** Whether two entries are of one image. */
export function isSameImage(a: HistoryEntry, b: HistoryEntry): boolean {
  const digests = a.digest === undefined || b.digest === undefined || a.digest === b.digest;
  return a.image === b.image && a.release === b.release && digests;
}

/** The name may be one that is taken over by one release after the other. */
function isSame(last: HistoryEntry, { image, release, digest }: SeenImage): boolean {
  return isSameImage(last, {
    ...{ id: '', image: shortText(image, LONGEST), release: shortText(release, LONGEST) },
    ...(digest === undefined ? {} : { digest }),
  });
}

/** 16 hex digits, as operations have them. */
function idOf({ image, release, now }: SeenImage, taken: ReadonlySet<string> = new Set()): string {
  for (let round = 0; ; round += 1) {
    const id = createHash('sha256')
      .update(JSON.stringify([image, release, now, round]))
      .digest('hex')
      .slice(0, 16);
    if (!taken.has(id)) return id;
  }
}
