import { BootImageError } from '../errors.ts';
import type { ImageFacts } from '../image-facts.ts';
import { idOf, setText } from '../observe/kept-set.ts';
import type { LeafEdit } from '../observe/provider-spec.ts';
import type { PlatformInput, PlatformPlan } from '../platform.ts';
import { type Pin, pinnedName } from '../way-back/pin.ts';
import { type Availability, verifiedCurrent, verifiedTarget } from './availability.ts';

/** A pinned set of a cloud. */
export interface PinnedMove {
  readonly input: PlatformInput;
  /** The image, as `Platform.imageOf` says it. */
  readonly reference: string;
  /** None where the set has it. */
  readonly edits: readonly LeafEdit[];
  /** With the pin's image as the target. */
  readonly facts: ImageFacts;
  /** Whether machines can start from it; undefined where nobody is asked. */
  readonly look: (() => Promise<Availability>) | undefined;
  readonly signal: AbortSignal | undefined;
}

/** What a pin makes of a set: it is pointed at the image if that still exists. Throws what is wrong with the image where machines are known not to start from it. */
export async function pinnedPlan(move: PinnedMove): Promise<PlatformPlan> {
  const { input, reference, edits, facts, look, signal } = move;
  if (edits.length === 0) {
    const verified = look === undefined ? undefined : await verifiedCurrent(reference, look, signal);
    return { kind: 'current', ...facts, ...(verified === undefined ? {} : { verified }) };
  }
  const availability = await look?.();
  const usable = availability?.kind === 'unusable' ? pinnedTo(input, availability) : availability;
  const verified = usable === undefined ? undefined : verifiedTarget(reference, usable, facts);
  return {
    ...{ kind: 'switch', image: { edits, reference }, hotLoopValue: reference, ...facts },
    ...(verified === undefined ? {} : { verified }),
  };
}

function pinnedTo(
  { set }: PlatformInput,
  { reason, message }: Availability & { readonly kind: 'unusable' },
): Availability {
  return { kind: 'unusable', reason, message: `${setText(set)} is pinned to it: ${message}` };
}

/** For a pin whose image is none of this cloud. */
export function notAnImage({ set }: PlatformInput, pin: Pin, expected: string): BootImageError {
  const message = `${setText(set)} is pinned to ${pinnedName(pin)}, which is not ${expected}`;
  return new BootImageError('PinInvalid', message, {
    ...{ retriable: false, nextStep: `write one that is: drydock image revert ${idOf(set)}` },
  });
}
