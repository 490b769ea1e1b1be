// Generated from machinesets.machine.openshift.io v1beta1 by `npm run generate`. Do not edit.
import type { ObjectMeta, Resource } from '../src/meta.ts';

export interface MachineSet {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: MachineSetSpec;
  readonly status?: MachineSetStatus;
}

export interface MachineSetSpec {
  readonly deletePolicy?: 'Random' | 'Newest' | 'Oldest';
  readonly minReadySeconds?: number;
  readonly replicas?: number;
  readonly selector?: MachineSetSpecSelector;
  readonly template?: MachineSetSpecTemplate;
}

export interface MachineSetSpecSelector {
  readonly matchExpressions?: readonly MachineSetSpecSelectorMatchExpression[];
  readonly matchLabels?: Readonly<Record<string, string>>;
}

export interface MachineSetSpecSelectorMatchExpression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface MachineSetSpecTemplate {
  readonly metadata?: MachineSetSpecTemplateMetadata;
  readonly spec?: MachineSetSpecTemplateSpec;
}

export interface MachineSetSpecTemplateMetadata {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly generateName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly namespace?: string;
  readonly ownerReferences?: readonly MachineSetSpecTemplateMetadataOwnerReference[];
}

export interface MachineSetSpecTemplateMetadataOwnerReference {
  readonly apiVersion: string;
  readonly blockOwnerDeletion?: boolean;
  readonly controller?: boolean;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface MachineSetSpecTemplateSpec {
  readonly lifecycleHooks?: MachineSetSpecTemplateSpecLifecycleHooks;
  readonly metadata?: MachineSetSpecTemplateSpecMetadata;
  readonly providerID?: string;
  readonly providerSpec?: MachineSetSpecTemplateSpecProviderSpec;
  readonly taints?: readonly MachineSetSpecTemplateSpecTaint[];
}

export interface MachineSetSpecTemplateSpecLifecycleHooks {
  readonly preDrain?: readonly MachineSetSpecTemplateSpecLifecycleHooksPreDrainItem[];
  readonly preTerminate?: readonly MachineSetSpecTemplateSpecLifecycleHooksPreTerminateItem[];
}

export interface MachineSetSpecTemplateSpecLifecycleHooksPreDrainItem {
  readonly name: string;
  readonly owner: string;
}

export interface MachineSetSpecTemplateSpecLifecycleHooksPreTerminateItem {
  readonly name: string;
  readonly owner: string;
}

export interface MachineSetSpecTemplateSpecMetadata {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly generateName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly namespace?: string;
  readonly ownerReferences?: readonly MachineSetSpecTemplateSpecMetadataOwnerReference[];
}

export interface MachineSetSpecTemplateSpecMetadataOwnerReference {
  readonly apiVersion: string;
  readonly blockOwnerDeletion?: boolean;
  readonly controller?: boolean;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface MachineSetSpecTemplateSpecProviderSpec {
  readonly value?: Readonly<Record<string, unknown>>;
}

export interface MachineSetSpecTemplateSpecTaint {
  readonly effect: string;
  readonly key: string;
  readonly timeAdded?: string;
  readonly value?: string;
}

export interface MachineSetStatus {
  readonly availableReplicas?: number;
  readonly conditions?: readonly MachineSetStatusCondition[];
  readonly errorMessage?: string;
  readonly errorReason?: string;
  readonly fullyLabeledReplicas?: number;
  readonly observedGeneration?: number;
  readonly readyReplicas?: number;
  readonly replicas?: number;
}

export interface MachineSetStatusCondition {
  readonly lastTransitionTime: string;
  readonly message?: string;
  readonly reason?: string;
  readonly severity?: string;
  readonly status: string;
  readonly type: string;
}

/** The kind MachineSet of machine.openshift.io/v1beta1. */
export const MachineSet: Resource<MachineSet> = {
  group: 'machine.openshift.io',
  version: 'v1beta1',
  kind: 'MachineSet',
  plural: 'machinesets',
  scope: 'Namespaced',
};
