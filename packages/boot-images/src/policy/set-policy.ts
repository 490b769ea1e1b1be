import type { BootImagePolicy, BootImagePolicySpec } from '@drydock/api';
import { shownText } from '@drydock/api/text';
import { type Skip, skip } from '../decide/decide.ts';
import { BootImageError, orBootImageError } from '../errors.ts';
import { type KeptSet, kindOf, machineSets, setText, specOf } from '../observe/kept-set.ts';
import type { World } from '../observe/world.ts';
import type { Platforms } from '../platforms.ts';
import { type PolicySubject, type PolicyVerdict, policyFor, type ReadPolicy, readPolicy } from './policy-for.ts';

/** What is read to tell which policy decides about a set. */
export interface PolicyPorts {
  readonly world: Pick<World, 'bootImagePolicies' | 'infrastructure' | 'canaryMissing'>;
  readonly platforms: Platforms;
}

/** The policy that decides about a set, and that can be followed. */
export interface SetPolicy {
  readonly name: string;
  readonly uid: string | undefined;
  readonly generation: number | undefined;
  readonly spec: BootImagePolicySpec;
  readonly read: ReadPolicy;
}

/** A set as policies select it. */
export function subjectOf(set: KeptSet, { world, platforms }: PolicyPorts): PolicySubject {
  const { labels } = set.metadata;
  return { kind: kindOf(set).resource.kind, labels, failureDomain: failureDomainOf(set, world, platforms) };
}

/** Where the machines of a set are; undefined where they are in several places, or where nobody can tell. */
export function failureDomainOf(
  set: KeptSet,
  { infrastructure }: Pick<World, 'infrastructure'>,
  platforms: Platforms,
): string | undefined {
  const found = infrastructure();
  const spec = specOf(set);
  if (found === undefined || spec === undefined || kindOf(set) !== machineSets) return undefined;
  return platforms.get(found.status?.platformStatus?.type ?? '')?.failureDomainOf?.(spec, found);
}

/** Which policy decides about a set now. */
export function verdictOn(set: KeptSet, ports: PolicyPorts): PolicyVerdict {
  const policies = ports.world.bootImagePolicies();
  return policies.length === 0 ? {} : policyFor(subjectOf(set, ports), policies);
}

/**
 * The policy by which a set is kept, undefined where none decides, or why it is left alone by one. Throws `PolicyConflict` and `PolicyRefused` where its image must stay as it is until a person
 * has put the policies right.
 */
export function policyOn(set: KeptSet, ports: PolicyPorts): SetPolicy | Skip | undefined {
  const { policy, conflict } = verdictOn(set, ports);
  if (conflict !== undefined) throw conflictOf(set, conflict);
  if (policy === undefined) return undefined;
  const { metadata, spec = {} } = policy;
  const read = readPolicy(policy);
  if (read.fault !== undefined)
    throw new BootImageError(
      'PolicyRefused',
      `${textOf(policy)} decides about ${setText(set)} and cannot be followed: ${read.fault.message}`,
      { retriable: false, nextStep: `correct it: kubectl edit bootimagepolicy ${metadata.name}` },
    );
  const missing = spec.canary?.mode === 'Machine' ? ports.world.canaryMissing?.(policy) : undefined;
  if (missing !== undefined)
    throw new BootImageError(
      'PolicyRefused',
      `${textOf(policy)} decides about ${setText(set)} and cannot be followed: ${missing}`,
      {
        retriable: false,
        nextStep: 'grant it: kubectl apply -k deploy/rbac/canary',
      },
    );
  if (spec.optOut === undefined)
    return { name: metadata.name, uid: metadata.uid, generation: metadata.generation, spec, read };
  const why = shownText(spec.optOut.reason);
  return skip(
    kindOf(set) === machineSets,
    'OptedOut',
    `by policy ${metadata.name}`,
    `${setText(set)} is left alone by ${textOf(policy)}: ${why}`,
    { nextStep: `to have it kept current, take spec.optOut off: kubectl edit bootimagepolicy ${metadata.name}` },
  );
}

/** The policy of a set that is pinned: a pin needs none, so that none that is in order is none. */
export function followedOn(set: KeptSet, ports: PolicyPorts): SetPolicy | Skip | undefined {
  const policy = orBootImageError(() => policyOn(set, ports));
  return policy instanceof BootImageError ? undefined : policy;
}

function conflictOf(set: KeptSet, names: readonly string[]): BootImageError {
  const shown = names.slice(0, MOST_NAMED).join(', ');
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  return new BootImageError(
    'PolicyConflict',
    `bootimagepolicies ${shown}${more} have the same priority and select ${setText(set)}: none of them decides, and its image stays as it is`,
    {
      retriable: false,
      nextStep: `give one of them a higher spec.priority, or let one not select it: kubectl edit bootimagepolicy ${names[0]}`,
    },
  );
}

const MOST_NAMED = 5;

function textOf({ metadata }: BootImagePolicy): string {
  return `bootimagepolicy ${metadata.name}`;
}
