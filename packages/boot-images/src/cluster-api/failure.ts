import type { BootImagePolicy } from '@drydock/api';
import { BootImageError, errorText, thrownFacts } from '../errors.ts';
import { entryAdvice } from '../policy/catalogue-fault.ts';
import type { SetOutcome } from '../status/subject.ts';

/** What became of a set whose work threw, and when (ms) it is tried again. */
export interface RotationFailure {
  readonly outcome: SetOutcome;
  readonly after: number;
}

const SOON_MS = 10_000;
const LATE_MS = 300_000;

/** Tells what was thrown for a set. Codes of other packages pass through: they are what a person looks up. `policy`: the one that says where its image is. */
export function failureOf(thrown: unknown, policy?: BootImagePolicy): RotationFailure {
  const { code: reason, retriable, nextStep: advice } = thrownFacts(thrown);
  const message = errorText(thrown);
  if (reason === 'UploadInProgress')
    return {
      outcome: {
        ...{ kind: 'waiting', phase: 'Pending', reason, letsTry: true },
        ...{ brief: 'waits for another upload', message },
      },
      after: SOON_MS,
    };
  const blocked = !retriable;
  const nextStep = entryAdvice(reason, advice, policy && { name: policy.metadata.name, spec: policy.spec });
  return {
    outcome: {
      ...(thrown instanceof BootImageError ? thrown.facts : {}),
      ...{ kind: 'failed', blocked, reason, message },
      ...(nextStep === undefined ? {} : { nextStep }),
    },
    after: blocked ? LATE_MS : SOON_MS,
  };
}
