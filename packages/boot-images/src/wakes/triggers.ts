import { isDeepStrictEqual } from 'node:util';
import type {
  BootImage,
  BootImagePolicy,
  ClusterVersion,
  ConfigMap,
  Deployment,
  MachineConfiguration,
  ObjectMeta,
} from '@drydock/api';
import { clusterStable } from '../decide/gates.ts';
import type { KeptSet } from '../observe/kept-set.ts';

/** One change of one object; both absent never happens. */
export interface ObjectChange<T> {
  readonly old?: T | undefined;
  readonly now?: T | undefined;
}

/** Names of the golden ConfigMap and of the MachineConfiguration that count. */
export const goldenName = 'coreos-bootimages';
/** Namespace of the golden ConfigMap. */
export const goldenNamespace = 'openshift-machine-config-operator';
/** The only MachineConfiguration. */
export const machineConfigurationName = 'cluster';

/** Event name of a MachineSet change, or undefined when it concerns nothing of ours (§1.4). */
export function machineSetTrigger(change: ObjectChange<KeptSet>): string | undefined {
  return named('MAPIMachineSet', change, relevant);
}

/** The same of the control plane's. */
export function controlPlaneTrigger(change: ObjectChange<KeptSet>): string | undefined {
  return named('ControlPlaneMachineSet', change, relevant);
}

function relevant(set: KeptSet): readonly unknown[] {
  const { labels, annotations, ownerReferences } = set.metadata;
  return [set.spec?.template?.spec?.providerSpec, labels, annotations, ownerReferences];
}

/** Event name of a change of what a person wants of the image of a set. */
export function pinTrigger({ old, now }: ObjectChange<BootImage>): string | undefined {
  return isDeepStrictEqual(old?.spec?.pin, now?.spec?.pin) ? undefined : 'BootImagePinUpdated';
}

/** Event name of a change of the golden ConfigMap. */
export function goldenTrigger(change: ObjectChange<ConfigMap>): string | undefined {
  return nameOf(change) === goldenName ? inputTrigger('BootImageConfigMap', change) : undefined;
}

/** Event name of a MachineConfiguration change; the skew record counts only while its gate is on. */
export function machineConfigurationTrigger(
  change: ObjectChange<MachineConfiguration>,
  options: { readonly skewGate: boolean },
): string | undefined {
  if (nameOf(change) !== machineConfigurationName) return undefined;
  return named('BootImageUpdateConfiguration', change, ({ status }) => [
    status?.managedBootImagesStatus,
    options.skewGate ? status?.bootImageSkewEnforcementStatus : undefined,
  ]);
}

/** A status that has just caught up with its generation opens the first gate, so it is an event besides upstream's. */
export function configurationReadyTrigger({ old, now }: ObjectChange<MachineConfiguration>): string | undefined {
  if (old === undefined || now?.metadata.name !== machineConfigurationName) return undefined;
  const ready = (mc: MachineConfiguration): boolean => mc.metadata.generation === mc.status?.observedGeneration;
  return !ready(old) && ready(now) ? 'BootImageUpdateConfigurationReady' : undefined;
}

/** `ClusterVersionStable` when an upgrade has just finished; `ClusterVersionAdded` when there is one at all. */
export function clusterVersionTrigger({ old, now }: ObjectChange<ClusterVersion>): string | undefined {
  if (now === undefined) return undefined;
  if (old === undefined) return 'ClusterVersionAdded';
  return !clusterStable(old) && clusterStable(now) ? 'ClusterVersionStable' : undefined;
}

/**
 * Event name of any other object that a decision was read from (Secrets, Infrastructure, install-config), which upstream does
 * not watch, so that there a repaired credential never clears Degraded (BI-G6). Repeats of the same version are no event.
 */
export function inputTrigger(
  prefix: string,
  change: ObjectChange<{ readonly metadata: ObjectMeta }>,
): string | undefined {
  return named(prefix, change, ({ metadata }) => metadata.resourceVersion);
}

/** Event name of a policy whose words changed; what we write into its status is none. */
export function policyTrigger(change: ObjectChange<BootImagePolicy>): string | undefined {
  return named('BootImagePolicy', change, ({ spec }) => spec);
}

/** Event name of the upstream controller coming or going; what it does meanwhile is none. */
export function upstreamTrigger(change: ObjectChange<Deployment>): string | undefined {
  return named('UpstreamController', change, () => undefined);
}

/** `Added`, `Deleted`, or, where that part differs, `Updated`. */
function named<T>(prefix: string, { old, now }: ObjectChange<T>, part: (of: T) => unknown): string | undefined {
  if (old === undefined) return `${prefix}Added`;
  if (now === undefined) return `${prefix}Deleted`;
  return isDeepStrictEqual(part(old), part(now)) ? undefined : `${prefix}Updated`;
}

function nameOf({ old, now }: ObjectChange<{ readonly metadata: ObjectMeta }>): string | undefined {
  return (now ?? old)?.metadata.name;
}
