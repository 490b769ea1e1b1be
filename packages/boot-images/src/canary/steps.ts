import { shownText } from '@drydock/api/text';
import { ApiError } from '@drydock/kube';
import { BootImageError } from '../errors.ts';
import type { ImageFacts } from '../image-facts.ts';
import type { SetOutcome } from '../status/subject.ts';
import type { CanaryMachine, CanaryStep, CanaryVerdict } from './decide.ts';
import type { CanaryGroup } from './machine.ts';
import type { CanarySettling } from './settling.ts';

/** One canary, in either API: how it is looked at, and what its steps do. Each is one write at most. */
export interface SteppedCanary {
  /** Of this process, by group. */
  readonly verdicts: Map<string, CanaryVerdict>;
  readonly settling: CanarySettling;
  readonly look: () => Promise<{ readonly machine: CanaryMachine | undefined; readonly next: CanaryStep }>;
  /** Absent where no look asks for one. */
  readonly create?: () => Promise<void>;
  /** Adds to a verdict what else is known of the machine. */
  readonly judged: (verdict: CanaryVerdict, machine: CanaryMachine | undefined) => Promise<CanaryVerdict>;
  /** Writes it into the BootImage of the set. */
  readonly record: (canary: NonNullable<ImageFacts['canary']>) => Promise<void>;
  readonly remove: (uid: string) => Promise<void>;
}

/** How a look at a canary ends. */
export type CanaryEnd = Exclude<CanaryStep, { readonly kind: 'create' | 'record' | 'remove' }>;

/** More than any look takes: create, or record, then remove, then the end. */
const STEPS = 6;

/** Takes steps until the look ends. */
export async function stepCanary(group: CanaryGroup, canary: SteppedCanary): Promise<CanaryEnd> {
  const { verdicts, settling, look, create, judged, record, remove } = canary;
  for (let count = 0; count < STEPS; count += 1) {
    const { machine, next } = await look();
    switch (next.kind) {
      case 'create':
        await create?.();
        break;
      case 'record': {
        const verdict = await judged(next.verdict, machine);
        await record({ ...namesOf(group), ...verdict });
        verdicts.set(group.id, verdict);
        settling.judged(group);
        break;
      }
      case 'remove':
        await remove(next.uid);
        break;
      default:
        return next;
    }
  }
  throw new BootImageError('CanaryUnsettled', `the canary ${group.machine} is not settled after ${STEPS} steps`);
}

/** Words for a canary. */
export interface CanaryWords {
  /** Name of the policy that wants it. */
  readonly policy: string;
  /** Whether a machine that failed stays. */
  readonly kept: boolean;
  readonly namespace: string;
  /** As kubectl takes it. */
  readonly kind: string;
  readonly facts?: ImageFacts;
}

/** What an end says of the set: undefined where its image has passed, else how its canary stands. Throws `CanaryFailed` and `CanaryRefused`. */
export function outcomeOf(end: CanaryEnd, group: CanaryGroup, words: CanaryWords): SetOutcome | undefined {
  const { policy, kept, namespace, kind, facts } = words;
  const step = { ...facts, kind: 'step', phase: 'Publishing', reason: 'Canary' } as const;
  const { machine: name, image } = group;
  const known = { retriable: false, ...(facts === undefined ? {} : { facts }) };
  switch (end.kind) {
    case 'go':
      return undefined;
    case 'fail':
      throw new BootImageError(
        'CanaryFailed',
        `the canary of ${image} failed, and nothing is pointed at it: ${end.message}; it is not tried again before another release is wanted or bootimagepolicy ${policy} changes`,
        {
          ...known,
          nextStep: kept
            ? `look at it: kubectl -n ${namespace} describe ${kind} ${name}, and at its console: govc vm.console ${name}`
            : `to have the machine kept for a look, set spec.canary.keepOnFailure: kubectl edit bootimagepolicy ${policy}`,
        },
      );
    case 'taken':
      throw new BootImageError('CanaryRefused', end.message, {
        ...known,
        nextStep: `who made it so? kubectl -n ${namespace} get ${kind} ${name} -o yaml --show-managed-fields; once it is gone (kubectl -n ${namespace} delete ${kind} ${name}) another one is made`,
      });
    case 'goes':
      return { ...step, brief: 'canary: goes', note: end.message };
    case 'wait': {
      const { reason = step.reason, brief, message } = end;
      return { ...step, reason, brief, note: message, canary: { ...namesOf(group), message } };
    }
  }
}

/** The error for a set of which no canary is made, by a reason as a clause: nothing is changed then. */
export function canaryUnsupported(set: string, policy: string, why: string): BootImageError {
  return new BootImageError(
    'CanaryUnsupported',
    `bootimagepolicy ${policy} wants a canary for ${set}, and none is made: ${why}`,
    { retriable: false, nextStep: `give ${set} a policy without a canary: kubectl edit bootimagepolicy ${policy}` },
  );
}

/** What a BootImage names of a canary. */
export function namesOf({ id, machine, image }: CanaryGroup): {
  readonly group: string;
  readonly machine: string;
  readonly image: string;
} {
  return { group: id, machine, image };
}

/** Answers by which a server says that it will not have a machine. */
const REFUSED: ReadonlySet<string> = new Set(['Forbidden', 'Invalid', 'BadRequest']);

/** The error for a canary that could not be made; `grant`: the manifest of the rights that it takes. */
export function creationFailure(
  error: unknown,
  { grant, policy, facts }: { readonly grant: string; readonly policy: string; readonly facts?: ImageFacts },
): unknown {
  if (!(error instanceof ApiError) || !REFUSED.has(error.code)) return error;
  return new BootImageError('CanaryRefused', `no canary could be made: ${error.message}`, {
    ...{ cause: error, retriable: false, ...(facts === undefined ? {} : { facts }) },
    nextStep: `make room for it, or grant what is missing (kubectl apply -k ${grant}), or do without: kubectl edit bootimagepolicy ${policy}`,
  });
}

/** What a machine that failed shows on its platform is told while it is there: only its console tells more. */
export async function withGuest(
  verdict: CanaryVerdict,
  machine: CanaryMachine | undefined,
  guest:
    | ((uid: string, call: { readonly signal?: AbortSignal | undefined }) => Promise<string | undefined>)
    | undefined,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<CanaryVerdict> {
  if (verdict.verdict === 'Passed' || machine === undefined || guest === undefined) return verdict;
  const said = await guest(machine.uid, call).catch((error: unknown) => {
    call.signal?.throwIfAborted();
    return `its platform could not be asked: ${error instanceof Error ? error.message : String(error)}`;
  });
  return said === undefined ? verdict : { ...verdict, message: `${verdict.message}; ${shownText(said)}` };
}
