import type { ImportRequest, OvfDescriptor, OvfDisk } from '@drydock/vsphere';
import { TemplateError } from '../errors.ts';
import { isSpaceFault } from '../failure.ts';
import type { Place } from '../observe/place.ts';
import type { TemplateWish } from '../wish.ts';

/** Bytes that were free when an import ran out of space, by datastore and image. They last as long as the process. */
export type UsedUp = Map<string, number>;

/** Bytes that stay free on the datastore unless the wish says otherwise: machines that run there grow. */
const RESERVE_BYTES = 1 << 30;

/** Bytes of a thin disk for each byte of its compressed file. The images of CoreOS expand by about 2.5 and do not say so. */
const EXPANSION = 3;

type Datastore = Pick<Place, 'datastore' | 'datastoreName' | 'freeSpace'>;

/** Bytes that must stay free on the datastore. */
export function reserveOf({ reserveBytes = RESERVE_BYTES }: Pick<TemplateWish, 'reserveBytes'>): number {
  return reserveBytes;
}

/** Bytes that an image of which only the size is known takes on a datastore. */
export function estimatedBytes(imageBytes: number): number {
  return EXPANSION * imageBytes;
}

/** Bytes that an import takes on the datastore. `sizeOf` gives the bytes of a file that the descriptor names. */
export function importBytes(
  { files, disks }: OvfDescriptor,
  provisioning: ImportRequest['diskProvisioning'],
  sizeOf: (href: string) => number,
): number {
  const thick = provisioning === 'thick' || provisioning === 'eagerZeroedThick';
  const besides = files.filter(({ id }) => !disks.some(({ file }) => file?.id === id));
  return (
    besides.reduce((sum, { href }) => sum + sizeOf(href), 0) +
    disks.reduce((sum, disk) => sum + diskBytes(disk, thick, disk.file === undefined ? 0 : sizeOf(disk.file.href)), 0)
  );
}

function diskBytes({ capacity, populatedSize }: OvfDisk, thick: boolean, fileBytes: number): number {
  // A populated size below the size of the compressed file is not credible: some writers say 0.
  const said = populatedSize !== undefined && populatedSize >= fileBytes ? populatedSize : undefined;
  const populated = said ?? estimatedBytes(fileBytes);
  const most = capacity ?? populated;
  return Math.max(fileBytes, thick ? most : Math.min(populated, most));
}

/**
 * Fails with `NO_SPACE` unless the datastore has `needed` bytes beside the reserve: a datastore that runs full stops every machine on it. Where an import of the image ran
 * out of space there, the bytes that it used up must be free, too.
 */
export function expectSpace(usedUp: UsedUp, place: Datastore, wish: TemplateWish, needed: number): void {
  const reserve = reserveOf(wish);
  const before = usedUp.get(keyOf(place, wish)) ?? 0;
  if (place.freeSpace >= Math.max(needed, before) + reserve) return;
  const why = before > needed ? `an import of this image used up ${before}` : `the import needs ${needed}`;
  const message = `datastore ${place.datastoreName} has ${place.freeSpace} bytes free, but ${why} and ${reserve} must stay free`;
  throw new TemplateError({ code: 'NO_SPACE', message, retriable: true });
}

/**
 * Notes that an import ended with a full datastore, if `error` says so: all that was free when it began was not enough. `capacity` is the most that its disks can
 * take: whatever else was written meanwhile was written by others.
 */
export function noteSpace(
  usedUp: UsedUp,
  place: Datastore,
  wish: TemplateWish,
  capacity: number,
  error: unknown,
): void {
  if (isSpaceFault(error)) usedUp.set(keyOf(place, wish), Math.min(place.freeSpace, capacity));
}

function keyOf({ datastore }: Datastore, { placement, image }: TemplateWish): string {
  return JSON.stringify([placement.server, datastore.value, image.sha256]);
}
