import { createHash } from 'node:crypto';
import { Machine, type MachineSet } from '@drydock/api';
import { apiVersionOf } from '@drydock/kube';
import { labelSelector } from '../decide/selection.ts';
import { BootImageError, orBootImageError } from '../errors.ts';
import { type JsonObject, list, object, withLeaf } from '../observe/json.ts';
import { type KeptSet, kindOf, machineSets, setText } from '../observe/kept-set.ts';
import type { LeafEdit } from '../observe/provider-spec.ts';
import type { PointedImage } from '../platform.ts';
import type { SetPolicy } from '../policy/set-policy.ts';
import { userDataSecret } from '../user-data/user-data.ts';

/** Sets whose new machines start alike: one canary speaks for all of them. */
export interface CanaryGroup {
  /** What is tried: a hash over policy, place, stub and image. */
  readonly id: string;
  /** Name of its machine. It follows from the group, so that there is never a second one. */
  readonly machine: string;
  /** The image that is tried, as a set would refer to it. */
  readonly image: string;
  /** What stays when another image is wanted, or the policy is edited: the same policy, place and stub. */
  readonly line: string;
}

/** Says on a machine of which group it is the canary. */
export const canaryLabel = 'drydock.dev/canary';
/** Keeps workloads off a canary. */
export const canaryTaint = { key: 'drydock.dev/canary', value: 'true', effect: 'NoSchedule' } as const;

const NAME = /^drydock-canary-[0-9a-f]{12}$/;
/** Machine API passes over a machine without it, not even saying so; no set tells its machines by it alone. */
const CLUSTER_LABEL = 'machine.openshift.io/cluster-api-cluster';
const ROLE_LABEL = 'machine.openshift.io/cluster-api-machine-role';

/** Whether a machine can be a canary, by its name: a name is given once, so that no label makes one of another machine. */
export function isCanaryName(name: string): boolean {
  return NAME.test(name);
}

/** The group of a set that is to be pointed at this image. A policy that changes, or another image, makes another group. */
export function groupOf(
  set: KeptSet,
  policy: SetPolicy,
  { edits, reference, identity }: PointedImage,
  { failureDomain, architecture }: { readonly failureDomain: string | undefined; readonly architecture: string },
): CanaryGroup {
  const image = reference ?? JSON.stringify(edits.map(({ path, to }) => [path, to]));
  const stub = userDataSecret(set) ?? '';
  // Without a failure domain nobody knows which sets are equal.
  const place = failureDomain ?? setText(set);
  const { name, uid, generation } = policy;
  const tried = [name, uid, generation, place, architecture, stub, identity ?? image];
  return canaryGroup(tried, [name, uid, place, architecture, stub], image);
}

/** The group that follows from what is tried; `line`: what of that stays. */
export function canaryGroup(tried: readonly unknown[], line: readonly unknown[], image: string): CanaryGroup {
  const id = createHash('sha256').update(JSON.stringify(tried)).digest('hex').slice(0, 12);
  return { id, machine: `drydock-canary-${id}`, image, line: JSON.stringify(line) };
}

/** Why no canary is made for a set, as a clause; undefined where one can be. */
export function unsupported(set: KeptSet, sets: readonly MachineSet[]): string | undefined {
  if (kindOf(set) !== machineSets) return 'a machine of the control plane would join etcd';
  const labels = set.spec?.template?.metadata?.labels ?? {};
  if (labels[ROLE_LABEL] === 'master') return 'its machines are masters';
  if (labels[CLUSTER_LABEL] === undefined)
    return `its machines lack label ${CLUSTER_LABEL}, and Machine API passes over a machine without it`;
  const own = labelsOf(set, '');
  const counted = sets.find((one) => selects(one, own));
  return counted === undefined ? undefined : `machineset ${counted.metadata.name} would count it as one of its own`;
}

/**
 * The canary of a group: a machine as the set would make it, from the image that is tried. It lacks owner and labels of the set, so that no set, autoscaler or health check counts it, its hooks,
 * which nobody would lift, and it keeps workloads off.
 */
export function canaryMachine(set: KeptSet, group: CanaryGroup, image: PointedImage): Machine {
  const { namespace } = set.metadata;
  const { lifecycleHooks: _, ...spec } = (set.spec?.template?.spec ?? {}) as Readonly<Record<string, unknown>>;
  const providerSpec = object(spec['providerSpec']);
  return {
    apiVersion: apiVersionOf(Machine),
    kind: Machine.kind,
    metadata: {
      name: group.machine,
      ...(namespace === undefined ? {} : { namespace }),
      labels: labelsOf(set, group.id),
    },
    spec: {
      ...spec,
      providerSpec: { ...providerSpec, value: withEdits(providerSpec['value'], image.edits) },
      taints: [...list(spec['taints']), canaryTaint],
    } as Machine['spec'] & object,
  };
}

function labelsOf(set: KeptSet, group: string): Readonly<Record<string, string>> {
  const cluster = set.spec?.template?.metadata?.labels?.[CLUSTER_LABEL];
  return {
    ...(cluster === undefined ? {} : { [CLUSTER_LABEL]: cluster }),
    ...canaryLabels(group),
  };
}

/** By which a machine is known as the canary of a group. */
export function canaryLabels(group: string): Readonly<Record<string, string>> {
  return { [canaryLabel]: group, 'app.kubernetes.io/managed-by': 'drydock' };
}

/** What cannot be read selects whatever it may. */
function selects({ spec }: MachineSet, labels: Readonly<Record<string, string>>): boolean {
  const includes = orBootImageError(() => labelSelector(spec?.selector));
  return includes instanceof BootImageError || includes(labels);
}

/** A value with some of its leaves exchanged; the value itself stays what it is. */
export function withEdits(value: unknown, edits: readonly LeafEdit[]): JsonObject {
  return object(edits.reduce((whole: unknown, { path, to }) => withLeaf(whole, path, to), value));
}
