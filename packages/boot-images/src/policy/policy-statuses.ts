import { BootImagePolicy, type BootImagePolicyStatus } from '@drydock/api';
import { shortText } from '@drydock/api/text';
import type { Projector } from '@drydock/crd';
import {
  type Cache,
  type CallOptions,
  type Client,
  type Controller,
  controller,
  isNotFound,
  type Key,
  keyOf,
  type Source,
  statusWriter,
} from '@drydock/kube';
import { rfc3339, transitionTime } from '../status/conditions.ts';
import { type Definitions, hooksOf } from '../status/definitions.ts';
import { type PolicyFault, type PolicySubject, readPolicy } from './policy-for.ts';

/** The sets of one world of machines, OpenShift's or Cluster API's, as policies select them. */
export interface PolicyWorld {
  readonly policies: Pick<Cache<BootImagePolicy>, 'get' | 'all' | 'subscribe' | 'synced'>;
  readonly projector: Projector;
  readonly changes: Definitions['changes'];
  /** What may be other sets than before is work for these keys. */
  readonly watches: (keys: () => readonly Key[]) => readonly Source[];
  readonly subjects: () => Promise<readonly PolicySubject[]>;
  /** Why a policy cannot be followed there, besides what it says itself. */
  readonly refused: (policy: BootImagePolicy, call: CallOptions) => Promise<PolicyFault | undefined>;
}

/** What {@link policyStatuses} needs besides. */
export interface PolicyStatusesOptions {
  readonly client: Client;
  readonly now?: () => Date;
}

const AGAIN_MS = 30_000;

/** Tells of each policy whether it can be followed, and how many sets it selects in all worlds together. There is one writer, however many worlds: the first one's watch of policies is used. */
export function policyStatuses(
  [first, ...others]: readonly [PolicyWorld, ...PolicyWorld[]],
  { client, now = () => new Date() }: PolicyStatusesOptions,
): Controller {
  const { policies, projector } = first;
  const writer = statusWriter<BootImagePolicy>({ client, resource: BootImagePolicy, ...hooksOf(projector) });
  const all = (): readonly Key[] => Array.from(policies.all(), keyOf);
  const worlds = [first, ...others];
  return controller<BootImagePolicy>({
    name: 'boot-image-policies',
    for: policies,
    watches: [...worlds.flatMap(({ watches }) => watches(all)), first.changes(all)],
    backOff: { first: 500, longest: 60_000 },
    reconcile: async (key, { signal }) => {
      const current = policies.get(key);
      if (current === undefined) return undefined;
      const { selects } = readPolicy(current);
      const subjects: PolicySubject[] = [];
      let refused: PolicyFault | undefined;
      for (const world of worlds) {
        const own = await world.subjects();
        subjects.push(...own);
        // What a world lacks is nothing to a policy that selects nothing there.
        if (refused === undefined && (others.length === 0 || own.some(selects)))
          refused = await world.refused(current, { signal });
      }
      try {
        await writer.write(key, (live) => policyStatus(live, subjects, now(), refused), { current });
      } catch (error) {
        // It was deleted meanwhile.
        if (!isNotFound(error)) throw error;
      }
      // A right that is granted tells nobody.
      const again = refused === undefined ? undefined : AGAIN_MS;
      const retry = projector.retryIn() ?? again;
      return retry === undefined ? undefined : { after: Math.max(100, retry) };
    },
  });
}

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
  const generation = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation };
  const text =
    fault === undefined
      ? `it can be followed, and selects ${selected} ${selected === 1 ? 'set' : 'sets'}`
      : `${fault.message}; the sets that it would decide about keep their images until it is corrected: kubectl edit bootimagepolicy ${metadata.name}`;
  const accepted = {
    ...{ type: 'Accepted', status, reason: fault?.reason ?? 'Accepted', message: shortText(text, LONGEST) },
    ...generation,
    lastTransitionTime: transitionTime(previous?.conditions, { type: 'Accepted', status }, rfc3339(now)),
  };
  const others = previous?.conditions?.filter(({ type }) => type !== 'Accepted') ?? [];
  return { ...generation, selected, conditions: [...others, accepted] };
}
