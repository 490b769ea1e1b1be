// Generated from machines.machine.openshift.io v1beta1 by `npm run generate`. Do not edit.
import type { ObjectMeta, Resource } from '../src/meta.ts';

export interface Machine {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: MachineSpec;
  readonly status?: MachineStatus;
}

export interface MachineSpec {
  readonly lifecycleHooks?: MachineSpecLifecycleHooks;
  readonly metadata?: MachineSpecMetadata;
  readonly providerID?: string;
  readonly providerSpec?: MachineSpecProviderSpec;
  readonly taints?: readonly MachineSpecTaint[];
}

export interface MachineSpecLifecycleHooks {
  readonly preDrain?: readonly MachineSpecLifecycleHooksPreDrainItem[];
  readonly preTerminate?: readonly MachineSpecLifecycleHooksPreTerminateItem[];
}

export interface MachineSpecLifecycleHooksPreDrainItem {
  readonly name: string;
  readonly owner: string;
}

export interface MachineSpecLifecycleHooksPreTerminateItem {
  readonly name: string;
  readonly owner: string;
}

export interface MachineSpecMetadata {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly generateName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly namespace?: string;
  readonly ownerReferences?: readonly MachineSpecMetadataOwnerReference[];
}

export interface MachineSpecMetadataOwnerReference {
  readonly apiVersion: string;
  readonly blockOwnerDeletion?: boolean;
  readonly controller?: boolean;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface MachineSpecProviderSpec {
  readonly value?: Readonly<Record<string, unknown>>;
}

export interface MachineSpecTaint {
  readonly effect: string;
  readonly key: string;
  readonly timeAdded?: string;
  readonly value?: string;
}

export interface MachineStatus {
  readonly addresses?: readonly MachineStatusAddress[];
  readonly conditions?: readonly MachineStatusCondition[];
  readonly errorMessage?: string;
  readonly errorReason?: string;
  readonly lastOperation?: MachineStatusLastOperation;
  readonly lastUpdated?: string;
  readonly nodeRef?: MachineStatusNodeRef;
  readonly phase?: string;
  readonly providerStatus?: Readonly<Record<string, unknown>>;
}

export interface MachineStatusAddress {
  readonly address: string;
  readonly type: string;
}

export interface MachineStatusCondition {
  readonly lastTransitionTime: string;
  readonly message?: string;
  readonly reason?: string;
  readonly severity?: string;
  readonly status: string;
  readonly type: string;
}

export interface MachineStatusLastOperation {
  readonly description?: string;
  readonly lastUpdated?: string;
  readonly state?: string;
  readonly type?: string;
}

export interface MachineStatusNodeRef {
  readonly apiVersion?: string;
  readonly fieldPath?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly resourceVersion?: string;
  readonly uid?: string;
}

/** The kind Machine of machine.openshift.io/v1beta1. */
export const Machine: Resource<Machine> = {
  group: 'machine.openshift.io',
  version: 'v1beta1',
  kind: 'Machine',
  plural: 'machines',
  scope: 'Namespaced',
};
