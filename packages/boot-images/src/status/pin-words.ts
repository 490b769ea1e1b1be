import type { BootImageStatus, BootImageStatusCondition } from '@drydock/api';
import { shortText } from '@drydock/api/text';
import { type FoundPin, lapsesSoonReason, pinnedReason, pinText, warnsFrom } from '../way-back/pin.ts';
import { transitionTime } from './conditions.ts';
import type { SetOutcome, StatusSubject } from './subject.ts';

/** Longest message, in UTF-16 units. */
const LONGEST = 4096;

interface Words {
  readonly reason: string;
  readonly message: string;
  readonly nextStep?: string;
}

/** What is said of a set, with its pin: a set that has the pinned image is not there because the release asks for it, and one that is left alone does not obey its pin. */
export function pinWords(
  words: Words,
  kind: SetOutcome['kind'],
  { set, now, facts: { pin } }: Pick<StatusSubject, 'set' | 'now' | 'facts'>,
): Words {
  if (pin === undefined) return words;
  const text = sentenceOf(pin);
  switch (kind) {
    case 'current': {
      const nextStep = `drydock image release ${pin.of ?? set}`;
      return { reason: reasonOf(pin, now), message: `${words.message}: it is ${text}`, nextStep };
    }
    case 'skip':
      return { ...words, message: `${words.message}; it is ${text}, which is not obeyed as long as this is so` };
    default: {
      const message = `${words.message}; it is ${text}`;
      if (kind !== 'failed' || !ABOUT_IMAGE.test(words.reason)) return { ...words, message };
      const steps = [words.nextStep, unpinning(set, pin.of ?? set)].filter((step) => step !== undefined);
      return { ...words, message, nextStep: steps.join('; or ') };
    }
  }
}

/** Reasons that are about the pinned image itself. */
const ABOUT_IMAGE = /^(?:Pinned)?Image/;

/** What a person can do about a pin that cannot be obeyed: said here alone, because whoever is about to pin has no pin to lift. */
function unpinning(set: string, of: string): string {
  return `drydock image history ${set} shows what can be gone back to, drydock image release ${of} lifts the pin`;
}

/** Condition Pinned; none where there is no pin. */
export function pinnedConditions(
  previous: BootImageStatus | undefined,
  { now, facts: { pin } }: Pick<StatusSubject, 'now' | 'facts'>,
  rfc3339: string,
): readonly BootImageStatusCondition[] {
  if (pin === undefined) return [];
  return [
    {
      ...{ type: 'Pinned', status: 'True', reason: reasonOf(pin, now) },
      message: shortText(sentenceOf(pin), LONGEST),
      lastTransitionTime: transitionTime(previous?.conditions, { type: 'Pinned', status: 'True' }, rfc3339),
    },
  ];
}

function reasonOf({ pin }: FoundPin, now: Date): string {
  return now.getTime() >= (warnsFrom(pin) ?? Number.POSITIVE_INFINITY) ? lapsesSoonReason : pinnedReason;
}

function sentenceOf({ pin, of }: FoundPin): string {
  return of === undefined ? pinText(pin) : `${pinText(pin)}, by the pin of ${of}, which has the same name`;
}
