import type { BootImage, BootImageStatus } from '@drydock/api';
import type { ImageThere } from '../image-facts.ts';
import { type HistoryEntry, isSameImage } from './history.ts';
import { livePin } from './pin.ts';

/** Who needs an image although no set names it, as a clause; undefined where nobody does. `keep` counts the images of a way back. */
export type NeededImage = (image: ImageThere, keep: number) => string | undefined;

/** What the pins and histories of these BootImages need: the pinned image, and of each set the last images before the one in use. */
export function neededBy(images: readonly BootImage[], now: number): NeededImage {
  const indexes = new Map<number, ReadonlyMap<string, string>>();
  return (image, keep) => {
    const index = indexes.getOrInsertComputed(keep, () => indexOf(images, now, keep));
    const keys = [
      ...(image.digest === undefined ? [] : [`digest ${image.digest}`]),
      ...[image.image, image.stableName ?? image.image].flatMap((name) => [`${name}\n${image.release}`, `${name}\n`]),
      `\n${image.release}`,
    ];
    return keys.map((key) => index.get(key)).find((why) => why !== undefined);
  };
}

function indexOf(images: readonly BootImage[], now: number, keep: number): ReadonlyMap<string, string> {
  const index = new Map<string, string>();
  const add = (wanted: Pick<HistoryEntry, 'image' | 'release' | 'digest'>, why: string): void => {
    const { image = '', release = '', digest } = wanted;
    for (const key of [`${image}\n${release}`, ...(digest === undefined ? [] : [`digest ${digest}`])])
      index.getOrInsert(key, why);
  };
  for (const image of images) {
    const set = image.status?.set ?? image.metadata.name;
    const pin = livePin(image, now);
    if (pin !== undefined) add(pin, `${set} is pinned to it`);
  }
  for (const image of images) {
    const set = image.status?.set ?? image.metadata.name;
    for (const entry of wayBackOf(image.status, keep)) add(entry, `kept as a way back of ${set}`);
  }
  return index;
}

/** The images before the one in use that a way back of so many images needs, the newest first; an image that was used twice counts once. `same`: what is one image where the set's machines are made. */
export function wayBackOf(
  status: BootImageStatus | undefined,
  keep: number,
  same: (a: HistoryEntry, b: HistoryEntry) => boolean = isSameImage,
): readonly HistoryEntry[] {
  const [current, ...others] = status?.history ?? [];
  const kept: HistoryEntry[] = [];
  for (const entry of others) {
    if (kept.length >= keep) break;
    const known = current === undefined ? kept : [current, ...kept];
    if (!known.some((one) => same(one, entry))) kept.push(entry);
  }
  return kept;
}
