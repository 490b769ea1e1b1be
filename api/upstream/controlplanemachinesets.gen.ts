// Generated from controlplanemachinesets.machine.openshift.io v1 by `npm run generate`. Do not edit.
import type { ObjectMeta, Resource } from '../src/meta.ts';

export interface ControlPlaneMachineSet {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: ControlPlaneMachineSetSpec;
  readonly status?: ControlPlaneMachineSetStatus;
}

export interface ControlPlaneMachineSetSpec {
  readonly machineNamePrefix?: string;
  readonly replicas: 3 | 5;
  readonly selector: ControlPlaneMachineSetSpecSelector;
  readonly state?: 'Active' | 'Inactive';
  readonly strategy?: ControlPlaneMachineSetSpecStrategy;
  readonly template: ControlPlaneMachineSetSpecTemplate;
}

export interface ControlPlaneMachineSetSpecSelector {
  readonly matchExpressions?: readonly ControlPlaneMachineSetSpecSelectorMatchExpression[];
  readonly matchLabels?: Readonly<Record<string, string>>;
}

export interface ControlPlaneMachineSetSpecSelectorMatchExpression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface ControlPlaneMachineSetSpecStrategy {
  readonly type?: 'RollingUpdate' | 'OnDelete';
}

export interface ControlPlaneMachineSetSpecTemplate {
  readonly machineType: 'machines_v1beta1_machine_openshift_io';
  readonly machines_v1beta1_machine_openshift_io?: ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIo;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIo {
  readonly failureDomains?: ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomains;
  readonly metadata: ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoMetadata;
  readonly spec: ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpec;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomains {
  readonly aws?: readonly ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsAw[];
  readonly azure?: readonly ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsAzureItem[];
  readonly gcp?: readonly ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsGcpItem[];
  readonly nutanix?: readonly ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsNutanixItem[];
  readonly openstack?: readonly ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsOpenstackItem[];
  readonly platform: '' | 'AWS' | 'Azure' | 'BareMetal' | 'GCP' | 'Libvirt' | 'OpenStack' | 'None' | 'VSphere' | 'oVirt' | 'IBMCloud' | 'KubeVirt' | 'EquinixMetal' | 'PowerVS' | 'AlibabaCloud' | 'Nutanix' | 'External';
  readonly vsphere?: readonly ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsVsphereItem[];
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsAw {
  readonly placement?: ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsAwPlacement;
  readonly subnet?: ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsAwSubnet;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsAwPlacement {
  readonly availabilityZone: string;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsAwSubnet {
  readonly arn?: string;
  readonly filters?: readonly ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsAwSubnetFilter[];
  readonly id?: string;
  readonly type: 'ID' | 'ARN' | 'Filters';
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsAwSubnetFilter {
  readonly name: string;
  readonly values?: readonly string[];
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsAzureItem {
  readonly subnet?: string;
  readonly zone: string;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsGcpItem {
  readonly zone: string;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsNutanixItem {
  readonly name: string;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsOpenstackItem {
  readonly availabilityZone?: string;
  readonly rootVolume?: ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsOpenstackItemRootVolume;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsOpenstackItemRootVolume {
  readonly availabilityZone?: string;
  readonly volumeType: string;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoFailureDomainsVsphereItem {
  readonly name: string;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoMetadata {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpec {
  readonly lifecycleHooks?: ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpecLifecycleHooks;
  readonly metadata?: ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpecMetadata;
  readonly providerID?: string;
  readonly providerSpec?: ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpecProviderSpec;
  readonly taints?: readonly ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpecTaint[];
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpecLifecycleHooks {
  readonly preDrain?: readonly ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpecLifecycleHooksPreDrainItem[];
  readonly preTerminate?: readonly ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpecLifecycleHooksPreTerminateItem[];
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpecLifecycleHooksPreDrainItem {
  readonly name: string;
  readonly owner: string;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpecLifecycleHooksPreTerminateItem {
  readonly name: string;
  readonly owner: string;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpecMetadata {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly generateName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly namespace?: string;
  readonly ownerReferences?: readonly ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpecMetadataOwnerReference[];
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpecMetadataOwnerReference {
  readonly apiVersion: string;
  readonly blockOwnerDeletion?: boolean;
  readonly controller?: boolean;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpecProviderSpec {
  readonly value?: Readonly<Record<string, unknown>>;
}

export interface ControlPlaneMachineSetSpecTemplateMachinesV1beta1MachineOpenshiftIoSpecTaint {
  readonly effect: string;
  readonly key: string;
  readonly timeAdded?: string;
  readonly value?: string;
}

export interface ControlPlaneMachineSetStatus {
  readonly conditions?: readonly ControlPlaneMachineSetStatusCondition[];
  readonly observedGeneration?: number;
  readonly readyReplicas?: number;
  readonly replicas?: number;
  readonly unavailableReplicas?: number;
  readonly updatedReplicas?: number;
}

export interface ControlPlaneMachineSetStatusCondition {
  readonly lastTransitionTime: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly reason: string;
  readonly status: 'True' | 'False' | 'Unknown' | (string & {});
  readonly type: string;
}

/** The kind ControlPlaneMachineSet of machine.openshift.io/v1. */
export const ControlPlaneMachineSet: Resource<ControlPlaneMachineSet> = {
  group: 'machine.openshift.io',
  version: 'v1',
  kind: 'ControlPlaneMachineSet',
  plural: 'controlplanemachinesets',
  scope: 'Namespaced',
};
