import { wrapped } from '../decide/decide.ts';
import { BootImageError } from '../errors.ts';
import { type KeptSet, kindOf } from '../observe/kept-set.ts';
import { entryAdvice } from '../policy/catalogue-fault.ts';
import type { SetPolicy } from '../policy/set-policy.ts';
import type { SetOutcome } from '../status/subject.ts';
import { stubDistrusts } from '../stub-authority.ts';
import type { Failure } from './retries.ts';

/** What becomes of a set whose work threw. */
export type SetFailure = { readonly outcome: SetOutcome; readonly failure: Failure } & (
  | { readonly kind: 'failed'; readonly text: string }
  /** Another process, perhaps this one's predecessor, is importing the image: no failure, only not yet done. */
  | { readonly kind: 'waiting' }
);

/** The template store's `UPLOAD_IN_PROGRESS`. */
const uploadInProgress: string = 'UploadInProgress';

/** The template store's `NO_SPACE`: it is tried again, but a person has to make room, because nothing that is kept goes for it. */
const noSpace: string = 'NoSpace';

/** Rows of §2.3 whose text is not framed as a platform's failure. */
const unframed: ReadonlySet<string> = new Set([
  'ArchitectureInvalid',
  'CanaryFailed',
  'ClusterVersionUnreadable',
  'InfrastructureUnreadable',
  'HotLoop',
  'PatchFailed',
  ...stubDistrusts,
]);

/** Failures of the image itself: only reading all of it again tells whether it was put right. */
const ofTheImage: ReadonlySet<string> = new Set(['DigestMismatch', 'OvaInvalid', 'OvaUnsupported']);

/** Failures after which the finished import is kept: the next attempt uploads nothing. */
const kept: ReadonlySet<string> = new Set(['TagFailed', 'TagNotFound']);

/** Tells what was thrown for a set. `uploaded`: bytes of its image went to the platform before. `policy`: the one that says where its image is. */
export function failureOf(set: KeptSet, thrown: unknown, uploaded: boolean, policy?: SetPolicy): SetFailure {
  const error = thrown instanceof BootImageError && unframed.has(thrown.code) ? thrown : wrapped(set, thrown);
  const { code, message, retriable } = error;
  const nextStep = entryAdvice(code, error.nextStep, policy);
  if (code === uploadInProgress) {
    return {
      kind: 'waiting',
      outcome: {
        ...{ kind: 'waiting', phase: 'Pending', reason: code, letsTry: true },
        ...{ brief: 'waits for another upload', message },
      },
      failure: { code, text: undefined, pace: 'soon' },
    };
  }
  const costly = ofTheImage.has(code) || (uploaded && !kept.has(code));
  const text = `error syncing ${kindOf(set).item} ${set.metadata.name}: ${message}`;
  return {
    kind: 'failed',
    text,
    outcome: {
      ...error.facts,
      kind: 'failed',
      blocked: !retriable || code === noSpace,
      reason: code,
      message,
      ...(nextStep === undefined ? {} : { nextStep }),
    },
    failure: { code, text, pace: retriable ? 'soon' : costly ? 'late' : 'look' },
  };
}
