import { BootImageError, type BootImageErrorCode, errorText } from '../errors.ts';
import type { ImageFacts, Verified } from '../image-facts.ts';

/** Whether machines can start from an image where a set makes them. That the cloud did not answer is none of these: that is thrown, and asked again. */
export type Availability =
  /** `note`: what is to be known of it all the same, as that it is deprecated. */
  | { readonly kind: 'available'; readonly note?: string }
  /** It is known not to start there. */
  | {
      readonly kind: 'unusable';
      readonly reason: Extract<BootImageErrorCode, `Image${string}`>;
      /** A sentence that names the image. */
      readonly message: string;
      /** Absent for a pinned image: lifting the pin is what helps. */
      readonly nextStep?: string;
    }
  | Unverified;

/** Nobody could look: `missing` is the right, or what else it takes. */
export interface Unverified {
  readonly kind: 'unverified';
  readonly missing: string;
  readonly message: string;
}

/** What a cloud says of a name. */
export type Answer<T> =
  | { readonly kind: 'found'; readonly found: T }
  /** `refusal`: in the cloud's words, where it has any. */
  | { readonly kind: 'absent'; readonly refusal?: string | undefined }
  | Unverified;

/** What is said of an image that was looked at. */
export function verifiedBy(image: string, availability: Availability): Verified {
  switch (availability.kind) {
    case 'available': {
      const { note } = availability;
      return note === undefined
        ? { status: 'True', reason: 'Verified', message: `image ${image} is there, and machines can start from it` }
        : { status: 'True', reason: 'Deprecated', message: `image ${image} ${note}` };
    }
    case 'unusable':
      return { status: 'False', reason: availability.reason, message: availability.message };
    case 'unverified':
      return {
        status: 'Unknown',
        reason: 'Unverified',
        message: `nobody could look whether image ${image} is there: ${availability.message}; missing: ${availability.missing}`,
      };
  }
}

/** For a set that is about to be pointed at the image (`aim`: as a spec refers to it): what is said of it, or, where it is known not to start there, an error that blocks the set. */
export function verifiedTarget(
  image: string,
  availability: Availability,
  facts: ImageFacts,
  aim: string = image,
): Verified {
  const verified = verifiedBy(image, availability);
  if (availability.kind !== 'unusable') return verified;
  const { reason, message, nextStep } = availability;
  // A person acts, and nothing tells of it: such a failure is looked at again, each time a little later.
  throw new BootImageError(reason, message, {
    ...{ retriable: false, facts: { ...facts, verified, aim } },
    ...(nextStep === undefined ? {} : { nextStep }),
  });
}

/** For a set that stays as it is: a cloud that does not answer is no failure of it. */
export async function verifiedCurrent(
  image: string,
  look: () => Promise<Availability>,
  signal: AbortSignal | undefined,
): Promise<Verified> {
  try {
    return verifiedBy(image, await look());
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof BootImageError)) throw error;
    return { status: 'Unknown', reason: error.code, message: `image ${image} was not looked at: ${errorText(error)}` };
  }
}
