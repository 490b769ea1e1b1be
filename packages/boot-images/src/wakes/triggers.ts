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
export function machineSetTrigger({ old, now }: ObjectChange<KeptSet>): string | undefined {
  if (old === undefined) return 'MAPIMachineSetAdded';
  if (now === undefined) return 'MAPIMachineSetDeleted';
  return isDeepStrictEqual(relevant(old), relevant(now)) ? undefined : 'MAPIMachineSetUpdated';
}

/** The same of the control plane's. */
export function controlPlaneTrigger({ old, now }: ObjectChange<KeptSet>): string | undefined {
  if (old === undefined) return 'ControlPlaneMachineSetAdded';
  if (now === undefined) return 'ControlPlaneMachineSetDeleted';
  return isDeepStrictEqual(relevant(old), relevant(now)) ? undefined : 'ControlPlaneMachineSetUpdated';
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
export function goldenTrigger({ old, now }: ObjectChange<ConfigMap>): string | undefined {
  if ((now ?? old)?.metadata.name !== goldenName) return undefined;
  return named('BootImageConfigMap', old, now);
}

/** Event name of a MachineConfiguration change; the skew record counts only while its gate is on. */
export function machineConfigurationTrigger(
  { old, now }: ObjectChange<MachineConfiguration>,
  options: { readonly skewGate: boolean },
): string | undefined {
  if ((now ?? old)?.metadata.name !== machineConfigurationName) return undefined;
  if (old === undefined) return 'BootImageUpdateConfigurationAdded';
  if (now === undefined) return 'BootImageUpdateConfigurationDeleted';
  const part = (mc: MachineConfiguration): readonly unknown[] => [
    mc.status?.managedBootImagesStatus,
    options.skewGate ? mc.status?.bootImageSkewEnforcementStatus : undefined,
  ];
  return isDeepStrictEqual(part(old), part(now)) ? undefined : 'BootImageUpdateConfigurationUpdated';
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
  { old, now }: ObjectChange<{ readonly metadata: ObjectMeta }>,
): string | undefined {
  return named(prefix, old, now);
}

/** Event name of a policy whose words changed; what we write into its status is none. */
export function policyTrigger({ old, now }: ObjectChange<BootImagePolicy>): string | undefined {
  if (old === undefined) return 'BootImagePolicyAdded';
  if (now === undefined) return 'BootImagePolicyDeleted';
  return isDeepStrictEqual(old.spec, now.spec) ? undefined : 'BootImagePolicyUpdated';
}

/** Event name of the upstream controller coming or going; what it does meanwhile is none. */
export function upstreamTrigger({ old, now }: ObjectChange<Deployment>): string | undefined {
  if (old === undefined) return 'UpstreamControllerAdded';
  return now === undefined ? 'UpstreamControllerDeleted' : undefined;
}

function named(
  prefix: string,
  old: { readonly metadata: ObjectMeta } | undefined,
  now: { readonly metadata: ObjectMeta } | undefined,
): string | undefined {
  if (old === undefined) return `${prefix}Added`;
  if (now === undefined) return `${prefix}Deleted`;
  return old.metadata.resourceVersion === now.metadata.resourceVersion ? undefined : `${prefix}Updated`;
}
