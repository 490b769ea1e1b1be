import type { BootImage } from '@drydock/api';
import type { TreeSet } from '@drydock/boot-images';
import type { Answer } from './page-state.ts';
import type { PageLeader } from './page-world.ts';

/** What one set says to whoever wants more machines of it. */
export interface SetAnswer {
  readonly answer: Answer;
  /** In the words of `drydock status`; absent where there is nothing to say. */
  readonly text?: string;
  readonly nextStep?: string;
}

const MOVING: ReadonlySet<string> = new Set(['Downloading', 'Uploading', 'Publishing', 'Switching']);

/** Reasons of a skip that nobody decided: Drydock lacks something that it must know. */
const UNDECIDED: ReadonlySet<string> = new Set([
  ...['ArchitectureUnknown', 'MarketplaceUnknown', 'NoFailureDomain', 'NoVSphereSpec', 'OwnerUnknown'],
  ...['RegionUnknown', 'UnknownInfrastructure'],
]);

/** Whether new machines of a set are what they should be. Undefined for one that is gone. */
export function setAnswer(
  { status, pin }: Pick<TreeSet, 'status' | 'pin'>,
  image: BootImage | undefined,
  leader: Pick<PageLeader, 'state'>,
): SetAnswer | undefined {
  const { phase = '', reason = '', message, nextStep, progress } = status;
  const words = (text: string | undefined): Omit<SetAnswer, 'answer'> => ({
    ...(text === undefined ? {} : { text }),
    ...(nextStep === undefined ? {} : { nextStep }),
  });
  const waits: Answer = leader.state === 'led' ? 'wait' : 'unknown';
  const told = words(message ?? progress ?? (phase === '' ? 'nobody has looked at it yet' : phase));
  if (phase === 'Current') {
    const verified = image?.status?.conditions?.find(({ type }) => type === 'Verified');
    const seen = verified?.status ?? 'True';
    if (seen !== 'True') return { answer: seen === 'False' ? 'no' : 'unknown', ...words(verified?.message ?? message) };
    // Machines that do not join are no `Current`; what nobody knows of that, or what is to come, is said.
    const stub = image?.status?.conditions?.find(({ type }) => type === 'StubTrusted');
    if (stub?.message !== undefined && stub.reason !== 'StubAuthorityTrusted')
      return { answer: 'yes', ...words(stub.message) };
    return pin === undefined ? { answer: 'yes' } : { answer: 'yes', ...words(progress ?? message) };
  }
  if (MOVING.has(phase)) return { answer: 'wait', ...told };
  // A policy holds it on purpose: sets of Cluster API wait then, those of OpenShift are skipped.
  if (reason === 'Held') return { answer: 'unmanaged', ...told };
  if (phase === 'Pending' || phase === '') return { answer: waits, ...told };
  if (phase === 'Blocked' || phase === 'Failed') return { answer: 'no', ...told };
  if (phase !== 'Skipped' || UNDECIDED.has(reason)) return { answer: 'unknown', ...told };
  return reason === 'Deleting' ? undefined : { answer: 'unmanaged', ...told };
}
