import type { TemplateOperation, TemplateProgress } from '@drydock/templates';
import type { Skip } from '../decide/decide.ts';
import { factsOf, type ImageFacts } from '../image-facts.ts';
import { isUntrusted } from '../stub-authority.ts';
import type { FoundPin } from '../way-back/pin.ts';

/** How things stand with one set. */
export type SetOutcome = ImageFacts &
  (
    | {
        readonly kind: 'current';
        /** What the set was switched for in this pass, see `movers`. */
        readonly by?: string;
      }
    | Skip
    | {
        readonly kind: 'waiting';
        /** A machine that tries an image for the set is let be meanwhile: nobody decided that the set is to stay. */
        readonly letsTry?: true;
        readonly phase: 'Pending';
        readonly reason: string;
        readonly brief: string;
        readonly message: string;
        readonly nextStep?: string;
      }
    | {
        readonly kind: 'failed';
        /** True when repetition alone cannot help. */
        readonly blocked: boolean;
        readonly reason: string;
        readonly message: string;
        readonly nextStep?: string;
      }
    | {
        readonly kind: 'step';
        readonly phase: 'Downloading' | 'Uploading' | 'Publishing' | 'Switching';
        /** One CamelCase word; default the phase. */
        readonly reason?: string;
        /** A few words for a table cell, where no bytes move. */
        readonly brief?: string;
        readonly progress?: TemplateProgress;
        /** What happened on the way, as a clause. */
        readonly note?: string;
        readonly operation?: TemplateOperation;
      }
  );

/** What the status says besides the outcome. */
export interface StatusSubject {
  /** `ms/worker-a`. */
  readonly set: string;
  /** Lower case. */
  readonly platform: string;
  readonly generation: number | undefined;
  readonly now: Date;
  readonly facts: SetFacts;
}

/** What the API objects say of a set's image now, whatever became of the rest. */
export interface SetFacts {
  /** Name of the template or image that the set points at; undefined where it names none. */
  readonly reference: string | undefined;
  /** The same as a history keeps it. */
  readonly image?: string;
  /** Where the set makes its machines. */
  readonly place?: string;
  /** The pin that the set is to obey. */
  readonly pin?: FoundPin;
  /** What the release asks for; undefined where it asks for nothing, or where nobody can tell. */
  readonly target: string | undefined;
  /** Name of the policy that decides about the set; absent where none does. */
  readonly policy?: string;
}

/** The outcome as far as the stub lets it be: a set whose machines cannot join is not as it should be, whatever image they start from. */
export function withStub(outcome: SetOutcome): SetOutcome {
  const { stub } = outcome;
  if (outcome.kind !== 'current' || !isUntrusted(stub)) return outcome;
  const { reason, message, nextStep } = stub;
  return {
    ...factsOf(outcome),
    ...{ kind: 'failed', blocked: true, reason, message },
    ...(nextStep === undefined ? {} : { nextStep }),
  };
}

/**
 * Whether an outcome of a set ends what is tried for it, unjudged: the set has what it is to have, is left alone, waits for something of its own (a hold, a window, its turn), or has a stub with which no machine joins. Its machine goes then, nothing is said of
 * it any more, and another one is made when the set goes on.
 */
export function endsCanary(outcome: SetOutcome): boolean {
  switch (outcome.kind) {
    case 'current':
    case 'skip':
      return true;
    case 'waiting':
      return outcome.letsTry !== true;
    case 'failed':
      // It says nothing of the image that a machine did not join.
      return isUntrusted(outcome.stub);
    case 'step':
      return false;
  }
}
