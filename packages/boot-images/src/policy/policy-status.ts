import type { BootImagePolicy, BootImagePolicyStatus } from '@drydock/api';
import { shortText } from '@drydock/api/text';
import { rfc3339 } from '../status/conditions.ts';
import { type PolicyFault, type PolicySubject, readPolicy } from './policy-for.ts';

/** Longest message (UTF-16 units): a condition takes 32,768. */
const LONGEST = 4096;

/** The status of a policy: whether it can be followed, and how many of the sets it selects. `refused`: why not, besides what it says itself. */
export function policyStatus(
  policy: BootImagePolicy,
  sets: readonly PolicySubject[],
  now: Date,
  refused?: PolicyFault,
): BootImagePolicyStatus {
  const { metadata, status: previous } = policy;
  const read = readPolicy(policy);
  const selected = sets.filter(read.selects).length;
  const fault = read.fault ?? refused;
  const status = fault === undefined ? 'True' : 'False';
  const old = previous?.conditions?.find(({ type }) => type === 'Accepted');
  const generation = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation };
  const since = old?.status === status ? old.lastTransitionTime : undefined;
  const text =
    fault === undefined
      ? `it can be followed, and selects ${selected} ${selected === 1 ? 'set' : 'sets'}`
      : `${fault.message}; the sets that it would decide about keep their images until it is corrected: kubectl edit bootimagepolicy ${metadata.name}`;
  const accepted = {
    ...{ type: 'Accepted', status, reason: fault?.reason ?? 'Accepted', message: shortText(text, LONGEST) },
    ...generation,
    lastTransitionTime: since ?? rfc3339(now),
  };
  const others = previous?.conditions?.filter(({ type }) => type !== 'Accepted') ?? [];
  return { ...generation, selected, conditions: [...others, accepted] };
}
