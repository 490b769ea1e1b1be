import type { HistoryEntry } from './history.ts';

/** What somebody asks for: an image, a version, or both. */
export interface TargetWish {
  readonly image?: string;
  readonly version?: string;
}

/** A release that can be gone to. */
export interface Release {
  readonly version: string;
  readonly image: string;
}

/** Where to go. */
export type Target =
  | {
      readonly kind: 'release';
      readonly image: string /** What the payload must say of itself; undefined: anything. */;
      readonly version?: string;
    }
  /** Nothing is asked for, and nothing has been applied yet. */
  | { readonly kind: 'none' }
  /** The wish cannot be followed; `message` says what to ask for instead. */
  | {
      readonly kind: 'refused';
      readonly reason: 'UnknownVersion' | 'AmbiguousVersion' | 'NoDigest';
      readonly message: string;
    };

const DIGEST = /@sha256:[0-9a-f]{64}$/;

/**
 * Chooses the release that is meant. A version alone is looked for among the updates on offer and in the history, so that the way back needs no image to be remembered; where it stands for two
 * images, nothing is guessed. Nothing asked for means the release of the newest entry. Only an image with its digest is ever gone to, also where a history was edited.
 */
export function targetOf(
  wish: TargetWish,
  { history, available = [] }: { readonly history: readonly HistoryEntry[]; readonly available?: readonly Release[] },
): Target {
  const { image, version } = wish;
  if (image !== undefined && image !== '') {
    if (!DIGEST.test(image)) return noDigest(image, 'Name it with @sha256: and the digest');
    return { kind: 'release', image, ...(version === undefined || version === '' ? {} : { version }) };
  }
  if (version === undefined || version === '') {
    const [head] = history;
    if (head === undefined) return { kind: 'none' };
    if (!DIGEST.test(head.image)) return noDigest(head.image, 'Ask for an image with its digest');
    return { kind: 'release', image: head.image, ...(head.version === '' ? {} : { version: head.version }) };
  }
  const images = [
    ...new Set(
      [...available, ...history].filter((one) => one.version === version && one.image !== '').map((one) => one.image),
    ),
  ];
  const [only, ...others] = images;
  if (only === undefined)
    return {
      kind: 'refused',
      reason: 'UnknownVersion',
      message: `The version ${version} is neither on offer nor in the history. Ask for it by its image, with its digest.`,
    };
  if (others.length > 0)
    return {
      kind: 'refused',
      reason: 'AmbiguousVersion',
      message: `The version ${version} stands for ${images.length} images: ${images.slice(0, 4).join(', ')}. Ask for one of them by its image.`,
    };
  if (!DIGEST.test(only)) return noDigest(only, 'Ask for an image with its digest');
  return { kind: 'release', image: only, version };
}

function noDigest(image: string, next: string): Target {
  return {
    kind: 'refused',
    reason: 'NoDigest',
    message: `The image ${image} has no digest, so that it may mean something else tomorrow. ${next}.`,
  };
}
