import type { ClusterVersion } from '@drydock/api';
import { factsOf } from '../image-facts.ts';
import { controlPlanes, type KeptSet, kindOf, setText } from '../observe/kept-set.ts';
import type { PlatformPlan } from '../platform.ts';
import { type Skip, skip } from './decide.ts';

/** The explicit yes: whoever sets it to `Accepted` accepts that every machine of the control plane may be replaced. */
export const replacementAnnotation = 'drydock.dev/control-plane-replacement';

/** Since then the operator of control plane machine sets does not compare images (openshift/cluster-control-plane-machine-set-operator#368). */
const SINCE = [4, 21] as const;

/**
 * The plan for a set, where it may be carried out. A set of the control plane that would be changed is left alone while its own operator may answer that by
 * replacing machine after machine, which it does before 4.21, unless a person has said yes to that.
 */
export function permitted(set: KeptSet, plan: PlatformPlan, clusterVersion: ClusterVersion | undefined): PlatformPlan {
  // Control planes have no counter for what is skipped.
  if (plan.kind === 'skip') return { ...plan, counted: plan.counted && kindOf(set) !== controlPlanes };
  if (plan.kind === 'current') return plan;
  const held = heldBack(set, clusterVersion);
  return held === undefined ? plan : { ...held, ...factsOf(plan) };
}

/** Why a set must not be changed for now, although its image should be another one. */
export function heldBack(set: KeptSet, clusterVersion: ClusterVersion | undefined): Skip | undefined {
  if (kindOf(set) !== controlPlanes || set.metadata.annotations?.[replacementAnnotation] === 'Accepted')
    return undefined;
  const release = clusterVersion?.status?.history?.[0]?.version;
  if (ignoresImages(release)) return undefined;
  const text = setText(set);
  return skip(
    false,
    'ReplacementNotAccepted',
    'needs an explicit yes',
    `${text}: before release 4.21 its own operator replaces every machine of the control plane when the image changes, and this cluster has ${release ?? 'no release that is known'}`,
    {
      nextStep: `upgrade to 4.21, or accept that the control plane is replaced: kubectl -n openshift-machine-api annotate ${text} ${replacementAnnotation}=Accepted`,
    },
  );
}

/** A release that is not finished tells nothing: it may have been built before. */
function ignoresImages(release: string | undefined): boolean {
  const [, major, minor, patch, rest] = /^(\d{1,4})\.(\d{1,4})\.(\d{1,4})(.*)$/.exec(release ?? '') ?? [];
  if (major === undefined) return false;
  const difference = Number(major) - SINCE[0] || Number(minor) - SINCE[1];
  return difference > 0 || (difference === 0 && (Number(patch) > 0 || rest === ''));
}
