import { type Skip, skip } from '../decide/decide.ts';
import { BootImageError } from '../errors.ts';
import { isObject, type JsonObject, nonEmpty } from '../observe/json.ts';
import { setText } from '../observe/kept-set.ts';
import { invalidSpec, type LeafEdit, specText } from '../observe/provider-spec.ts';
import type { PlatformInput } from '../platform.ts';
import { type ImageName, imagePath, parseImage } from './image-name.ts';

/** A disk that machines boot from. */
export interface BootDisk {
  /** Its place in `disks`. */
  readonly index: number;
  /** '' where it names none. */
  readonly image: string;
}

/** What is to become of the boot disks of a set, by its spec and the stream alone. */
export type GcpDecision =
  | Skip
  /** Without edits it has the image already. */
  | { readonly kind: 'target'; readonly target: ImageName; readonly edits: readonly LeafEdit[] };

/** Images that Red Hat publishes there belong to releases; everything else is somebody's own (boot-images.md §3.2). */
const released = 'projects/rhcos-cloud/global/images/';

/**
 * Decides about every boot disk at once: where one of them has an image of somebody's own, the whole set is left alone. Throws `StreamInvalid` where the stream
 * has no image for the architecture, and `ProviderSpecInvalid` for a spec that machine-api could not read either.
 */
export function gcpDecision(input: Pick<PlatformInput, 'set' | 'spec' | 'architecture' | 'stream'>): GcpDecision {
  const text = setText(input.set);
  const disks = bootDisks(input.spec);
  const target = streamImage(input);
  const to = typeof target === 'string' ? '' : imagePath(target);
  if (disks.length === 0) return skip(false, 'NoBootDisk', 'no boot disk', `${text} has no disk with boot: true`);
  const own = disks.find(({ image }) => image === '' || (image !== to && !image.startsWith(released)));
  if (own !== undefined) {
    const what = own.image === '' ? 'names no image' : `has image ${own.image}`;
    return skip(
      true,
      'CustomImage',
      own.image === '' ? 'no image named' : 'custom image',
      `${text}: boot disk ${own.index} ${what}, which is not one of ${released.slice(0, -1)}`,
      to === '' ? {} : { nextStep: `to have it kept current, set disks[${own.index}].image to ${to}` },
    );
  }
  if (typeof target === 'string') throw notInStream(input, target);
  return { kind: 'target', target, edits: bootEdits(disks, to) };
}

/** What gives every boot disk this image. */
export function bootEdits(disks: readonly BootDisk[], to: string): readonly LeafEdit[] {
  return disks
    .filter(({ image }) => image !== to)
    .map(({ index, image }) => ({
      path: ['disks', index, 'image'],
      from: image,
      to,
      // Somebody may have put another disk in front of it since.
      beside: [{ path: ['disks', index, 'boot'], value: true }],
    }));
}

/** The image that the stream has for an architecture; else why it has none, as a clause. */
export function streamImage({
  stream,
  architecture,
}: Pick<PlatformInput, 'stream' | 'architecture'>): ImageName | string {
  const image = stream.object(architecture, 'images', 'gcp') ?? {};
  const [project, name] = [nonEmpty(image['project']), nonEmpty(image['name'])];
  const found = parseImage(`projects/${project}/global/images/${name}`, '');
  if (project === undefined || name === undefined) return 'is not there';
  return found === undefined || found.family ? 'names no image of Compute Engine' : found;
}

function notInStream(
  { stream, architecture }: Pick<PlatformInput, 'stream' | 'architecture'>,
  why: string,
): BootImageError {
  return new BootImageError('StreamInvalid', `${stream.name}/${architecture}: image 'gcp' ${why}`, {
    retriable: false,
    nextStep: 'use a stream with images.gcp for this architecture, or opt the set out',
  });
}

/** Longest name of an image that is taken; those of Compute Engine have 200 characters at the most. */
const LONGEST = 2048;

/** The disks with `boot: true`, in their order. Throws `ProviderSpecInvalid`. */
export function bootDisks(spec: JsonObject): readonly BootDisk[] {
  const { disks = [] } = spec;
  // Null is an empty list, and a null disk is none: upstream's reader takes both.
  if (disks === null) return [];
  if (!Array.isArray(disks)) throw invalidSpec('disks', 'a list');
  return disks.flatMap((disk: unknown, index) => {
    if (disk === null) return [];
    if (!isObject(disk)) throw invalidSpec(`disks[${index}]`, 'an object');
    const { boot = false } = disk;
    if (typeof boot !== 'boolean' && boot !== null) throw invalidSpec(`disks[${index}].boot`, 'true or false');
    const image = specText(disk['image'], `disks[${index}].image`, LONGEST);
    return boot === true ? [{ index, image }] : [];
  });
}
