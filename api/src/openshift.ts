import type { Condition, LabelSelector, ObjectMeta, Resource } from './meta.ts';

/** The platform's own part of a machine: raw JSON whose shape the platform decides. */
export interface ProviderSpec {
  readonly value?: Readonly<Record<string, unknown>>;
}

/** Metadata of a template inside another object. */
export interface TemplateMeta {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** `spec` of a Machine and of a machine template. */
export interface MachineSpec {
  readonly metadata?: TemplateMeta;
  readonly providerID?: string;
  readonly providerSpec?: ProviderSpec;
}

/** machine.openshift.io/v1beta1 Machine. */
export interface Machine {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: MachineSpec;
  readonly status?: {
    readonly phase?: string;
    readonly nodeRef?: { readonly name?: string; readonly uid?: string };
    readonly lastUpdated?: string;
    readonly errorReason?: string;
    readonly errorMessage?: string;
    /** Raw JSON of the platform; vSphere keeps `instanceId`, `instanceState` and `taskRef` here. */
    readonly providerStatus?: Readonly<Record<string, unknown>>;
    readonly conditions?: readonly Condition[];
  };
}

/** The kind Machine. */
export const Machine: Resource<Machine> = {
  group: 'machine.openshift.io',
  version: 'v1beta1',
  kind: 'Machine',
  plural: 'machines',
  scope: 'Namespaced',
};

/** machine.openshift.io/v1beta1 MachineSet. */
export interface MachineSet {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly replicas?: number;
    readonly selector?: LabelSelector;
    readonly template?: { readonly metadata?: TemplateMeta; readonly spec?: MachineSpec };
  };
  readonly status?: {
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
  };
}

/** The kind MachineSet of OpenShift (not cluster-api's). */
export const MachineSet: Resource<MachineSet> = {
  group: 'machine.openshift.io',
  version: 'v1beta1',
  kind: 'MachineSet',
  plural: 'machinesets',
  scope: 'Namespaced',
};

/** The only template type a ControlPlaneMachineSet has: machine.openshift.io/v1beta1 Machines. */
export interface ControlPlaneMachineTemplate {
  readonly failureDomains?: Readonly<Record<string, unknown>>;
  readonly metadata?: TemplateMeta;
  readonly spec?: MachineSpec;
}

/** machine.openshift.io/v1 ControlPlaneMachineSet; one, named `cluster`. */
export interface ControlPlaneMachineSet {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly replicas?: number;
    readonly state?: 'Active' | 'Inactive';
    readonly selector?: LabelSelector;
    readonly template?: {
      readonly machineType?: string;
      readonly machines_v1beta1_machine_openshift_io?: ControlPlaneMachineTemplate;
    };
  };
  readonly status?: {
    readonly replicas?: number;
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
  };
}

/** The kind ControlPlaneMachineSet. */
export const ControlPlaneMachineSet: Resource<ControlPlaneMachineSet> = {
  group: 'machine.openshift.io',
  version: 'v1',
  kind: 'ControlPlaneMachineSet',
  plural: 'controlplanemachinesets',
  scope: 'Namespaced',
};

/** Which sets of one kind are kept current. `partial` is present if and only if the mode is Partial. */
export interface MachineManager {
  readonly resource: 'machinesets' | 'controlplanemachinesets' | (string & {});
  readonly apiGroup: 'machine.openshift.io' | (string & {});
  readonly selection: {
    readonly mode: 'All' | 'Partial' | 'None' | (string & {});
    readonly partial?: { readonly machineResourceSelector?: LabelSelector };
  };
}

/** A list of managers. Absent and empty differ: empty is the old way to opt out of everything. */
export interface ManagedBootImages {
  readonly machineManagers?: readonly MachineManager[];
}

/** A boot image written down by a person: the member that `mode` names is present. */
export interface ManualBootImage {
  readonly mode?: 'OCPVersion' | 'RHCOSVersion' | (string & {});
  readonly ocpVersion?: string;
  readonly rhcosVersion?: string;
}

/** operator.openshift.io/v1 MachineConfiguration; one, named `cluster`. */
export interface MachineConfiguration {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly managementState?: string;
    readonly managedBootImages?: ManagedBootImages;
    readonly bootImageSkewEnforcement?: { readonly mode?: 'Manual' | 'None'; readonly manual?: ManualBootImage };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
    readonly managedBootImagesStatus?: ManagedBootImages;
    readonly bootImageSkewEnforcementStatus?: {
      readonly mode?: 'Automatic' | 'Manual' | 'None' | (string & {});
      readonly automatic?: { readonly ocpVersion?: string; readonly rhcosVersion?: string };
      readonly manual?: ManualBootImage;
    };
    /** Fields of other controllers are carried through unchanged. */
    readonly [key: string]: unknown;
  };
}

/** The kind MachineConfiguration. */
export const MachineConfiguration: Resource<MachineConfiguration> = {
  group: 'operator.openshift.io',
  version: 'v1',
  kind: 'MachineConfiguration',
  plural: 'machineconfigurations',
  scope: 'Cluster',
};

/** machineconfiguration.openshift.io/v1 MachineConfigPool, as far as it tells what its nodes run. */
export interface MachineConfigPool {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly configuration?: { readonly name?: string } };
  readonly status?: {
    readonly configuration?: { readonly name?: string };
    readonly updatedMachineCount?: number;
    readonly conditions?: readonly Condition[];
  };
}

/** The kind MachineConfigPool. */
export const MachineConfigPool: Resource<MachineConfigPool> = {
  group: 'machineconfiguration.openshift.io',
  version: 'v1',
  kind: 'MachineConfigPool',
  plural: 'machineconfigpools',
  scope: 'Cluster',
};

/** machineconfiguration.openshift.io/v1 MachineConfig, by its annotations alone. */
export interface MachineConfig {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** The kind MachineConfig. */
export const MachineConfig: Resource<MachineConfig> = {
  group: 'machineconfiguration.openshift.io',
  version: 'v1',
  kind: 'MachineConfig',
  plural: 'machineconfigs',
  scope: 'Cluster',
};

/** metal3.io/v1alpha1 Provisioning of a bare-metal cluster; one, named `provisioning-configuration`. */
export interface Provisioning {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly provisioningOSDownloadURL?: string };
}

/** The kind Provisioning. */
export const Provisioning: Resource<Provisioning> = {
  group: 'metal3.io',
  version: 'v1alpha1',
  kind: 'Provisioning',
  plural: 'provisionings',
  scope: 'Cluster',
};
