// Generated from machineconfigurations.operator.openshift.io v1 by `npm run generate`. Do not edit.
import type { ObjectMeta, Resource } from '../src/meta.ts';

export interface MachineConfiguration {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec: MachineConfigurationSpec;
  readonly status?: MachineConfigurationStatus;
}

export interface MachineConfigurationSpec {
  readonly bootImageSkewEnforcement?: MachineConfigurationSpecBootImageSkewEnforcement;
  readonly failedRevisionLimit?: number;
  readonly forceRedeploymentReason?: string;
  readonly irreconcilableValidationOverrides?: MachineConfigurationSpecIrreconcilableValidationOverrides;
  readonly logLevel?: '' | 'Normal' | 'Debug' | 'Trace' | 'TraceAll';
  readonly managedBootImages?: MachineConfigurationSpecManagedBootImages;
  readonly managementState?: string;
  readonly nodeDisruptionPolicy?: MachineConfigurationSpecNodeDisruptionPolicy;
  readonly observedConfig?: Readonly<Record<string, unknown>> | null;
  readonly operatorLogLevel?: '' | 'Normal' | 'Debug' | 'Trace' | 'TraceAll';
  readonly succeededRevisionLimit?: number;
  readonly unsupportedConfigOverrides?: Readonly<Record<string, unknown>> | null;
}

export interface MachineConfigurationSpecBootImageSkewEnforcement {
  readonly manual?: MachineConfigurationSpecBootImageSkewEnforcementManual;
  readonly mode: 'Manual' | 'None';
}

export interface MachineConfigurationSpecBootImageSkewEnforcementManual {
  readonly mode: 'OCPVersion' | 'RHCOSVersion';
  readonly ocpVersion?: string;
  readonly rhcosVersion?: string;
}

export interface MachineConfigurationSpecIrreconcilableValidationOverrides {
  readonly storage?: readonly ('Disks' | 'FileSystems' | 'Raid')[];
}

export interface MachineConfigurationSpecManagedBootImages {
  readonly machineManagers?: readonly MachineConfigurationSpecManagedBootImagesMachineManager[];
}

export interface MachineConfigurationSpecManagedBootImagesMachineManager {
  readonly apiGroup: 'machine.openshift.io';
  readonly resource: 'machinesets' | 'controlplanemachinesets';
  readonly selection: MachineConfigurationSpecManagedBootImagesMachineManagerSelection;
}

export interface MachineConfigurationSpecManagedBootImagesMachineManagerSelection {
  readonly mode: 'All' | 'Partial' | 'None';
  readonly partial?: MachineConfigurationSpecManagedBootImagesMachineManagerSelectionPartial;
}

export interface MachineConfigurationSpecManagedBootImagesMachineManagerSelectionPartial {
  readonly machineResourceSelector: MachineConfigurationSpecManagedBootImagesMachineManagerSelectionPartialMachineResourceSelector;
}

export interface MachineConfigurationSpecManagedBootImagesMachineManagerSelectionPartialMachineResourceSelector {
  readonly matchExpressions?: readonly MachineConfigurationSpecManagedBootImagesMachineManagerSelectionPartialMachineResourceSelectorMatchExpression[];
  readonly matchLabels?: Readonly<Record<string, string>>;
}

export interface MachineConfigurationSpecManagedBootImagesMachineManagerSelectionPartialMachineResourceSelectorMatchExpression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface MachineConfigurationSpecNodeDisruptionPolicy {
  readonly files?: readonly MachineConfigurationSpecNodeDisruptionPolicyFile[];
  readonly sshkey?: MachineConfigurationSpecNodeDisruptionPolicySshkey;
  readonly units?: readonly MachineConfigurationSpecNodeDisruptionPolicyUnit[];
}

export interface MachineConfigurationSpecNodeDisruptionPolicyFile {
  readonly actions: readonly MachineConfigurationSpecNodeDisruptionPolicyFileAction[];
  readonly path: string;
}

export interface MachineConfigurationSpecNodeDisruptionPolicyFileAction {
  readonly reload?: MachineConfigurationSpecNodeDisruptionPolicyFileActionReload;
  readonly restart?: MachineConfigurationSpecNodeDisruptionPolicyFileActionRestart;
  readonly type: 'Reboot' | 'Drain' | 'Reload' | 'Restart' | 'DaemonReload' | 'None';
}

export interface MachineConfigurationSpecNodeDisruptionPolicyFileActionReload {
  readonly serviceName: string;
}

export interface MachineConfigurationSpecNodeDisruptionPolicyFileActionRestart {
  readonly serviceName: string;
}

export interface MachineConfigurationSpecNodeDisruptionPolicySshkey {
  readonly actions: readonly MachineConfigurationSpecNodeDisruptionPolicySshkeyAction[];
}

export interface MachineConfigurationSpecNodeDisruptionPolicySshkeyAction {
  readonly reload?: MachineConfigurationSpecNodeDisruptionPolicySshkeyActionReload;
  readonly restart?: MachineConfigurationSpecNodeDisruptionPolicySshkeyActionRestart;
  readonly type: 'Reboot' | 'Drain' | 'Reload' | 'Restart' | 'DaemonReload' | 'None';
}

export interface MachineConfigurationSpecNodeDisruptionPolicySshkeyActionReload {
  readonly serviceName: string;
}

export interface MachineConfigurationSpecNodeDisruptionPolicySshkeyActionRestart {
  readonly serviceName: string;
}

export interface MachineConfigurationSpecNodeDisruptionPolicyUnit {
  readonly actions: readonly MachineConfigurationSpecNodeDisruptionPolicyUnitAction[];
  readonly name: string;
}

export interface MachineConfigurationSpecNodeDisruptionPolicyUnitAction {
  readonly reload?: MachineConfigurationSpecNodeDisruptionPolicyUnitActionReload;
  readonly restart?: MachineConfigurationSpecNodeDisruptionPolicyUnitActionRestart;
  readonly type: 'Reboot' | 'Drain' | 'Reload' | 'Restart' | 'DaemonReload' | 'None';
}

export interface MachineConfigurationSpecNodeDisruptionPolicyUnitActionReload {
  readonly serviceName: string;
}

export interface MachineConfigurationSpecNodeDisruptionPolicyUnitActionRestart {
  readonly serviceName: string;
}

export interface MachineConfigurationStatus {
  readonly bootImageSkewEnforcementStatus?: MachineConfigurationStatusBootImageSkewEnforcementStatus;
  readonly conditions?: readonly MachineConfigurationStatusCondition[];
  readonly managedBootImagesStatus?: MachineConfigurationStatusManagedBootImagesStatus;
  readonly nodeDisruptionPolicyStatus?: MachineConfigurationStatusNodeDisruptionPolicyStatus;
  readonly observedGeneration?: number;
}

export interface MachineConfigurationStatusBootImageSkewEnforcementStatus {
  readonly automatic?: MachineConfigurationStatusBootImageSkewEnforcementStatusAutomatic;
  readonly manual?: MachineConfigurationStatusBootImageSkewEnforcementStatusManual;
  readonly mode: 'Automatic' | 'Manual' | 'None' | (string & {});
}

export interface MachineConfigurationStatusBootImageSkewEnforcementStatusAutomatic {
  readonly ocpVersion?: string;
  readonly rhcosVersion?: string;
}

export interface MachineConfigurationStatusBootImageSkewEnforcementStatusManual {
  readonly mode: 'OCPVersion' | 'RHCOSVersion' | (string & {});
  readonly ocpVersion?: string;
  readonly rhcosVersion?: string;
}

export interface MachineConfigurationStatusCondition {
  readonly lastTransitionTime: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly reason: string;
  readonly status: 'True' | 'False' | 'Unknown' | (string & {});
  readonly type: string;
}

export interface MachineConfigurationStatusManagedBootImagesStatus {
  readonly machineManagers?: readonly MachineConfigurationStatusManagedBootImagesStatusMachineManager[];
}

export interface MachineConfigurationStatusManagedBootImagesStatusMachineManager {
  readonly apiGroup: 'machine.openshift.io' | (string & {});
  readonly resource: 'machinesets' | 'controlplanemachinesets' | (string & {});
  readonly selection: MachineConfigurationStatusManagedBootImagesStatusMachineManagerSelection;
}

export interface MachineConfigurationStatusManagedBootImagesStatusMachineManagerSelection {
  readonly mode: 'All' | 'Partial' | 'None' | (string & {});
  readonly partial?: MachineConfigurationStatusManagedBootImagesStatusMachineManagerSelectionPartial;
}

export interface MachineConfigurationStatusManagedBootImagesStatusMachineManagerSelectionPartial {
  readonly machineResourceSelector: MachineConfigurationStatusManagedBootImagesStatusMachineManagerSelectionPartialMachineResourceSelector;
}

export interface MachineConfigurationStatusManagedBootImagesStatusMachineManagerSelectionPartialMachineResourceSelector {
  readonly matchExpressions?: readonly MachineConfigurationStatusManagedBootImagesStatusMachineManagerSelectionPartialMachineResourceSelectorMatchExpression[];
  readonly matchLabels?: Readonly<Record<string, string>>;
}

export interface MachineConfigurationStatusManagedBootImagesStatusMachineManagerSelectionPartialMachineResourceSelectorMatchExpression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface MachineConfigurationStatusNodeDisruptionPolicyStatus {
  readonly clusterPolicies?: MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPolicies;
}

export interface MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPolicies {
  readonly files?: readonly MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesFile[];
  readonly sshkey?: MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesSshkey;
  readonly units?: readonly MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesUnit[];
}

export interface MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesFile {
  readonly actions: readonly MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesFileAction[];
  readonly path: string;
}

export interface MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesFileAction {
  readonly reload?: MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesFileActionReload;
  readonly restart?: MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesFileActionRestart;
  readonly type: 'Reboot' | 'Drain' | 'Reload' | 'Restart' | 'DaemonReload' | 'None' | 'Special' | (string & {});
}

export interface MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesFileActionReload {
  readonly serviceName: string;
}

export interface MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesFileActionRestart {
  readonly serviceName: string;
}

export interface MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesSshkey {
  readonly actions: readonly MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesSshkeyAction[];
}

export interface MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesSshkeyAction {
  readonly reload?: MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesSshkeyActionReload;
  readonly restart?: MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesSshkeyActionRestart;
  readonly type: 'Reboot' | 'Drain' | 'Reload' | 'Restart' | 'DaemonReload' | 'None' | 'Special' | (string & {});
}

export interface MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesSshkeyActionReload {
  readonly serviceName: string;
}

export interface MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesSshkeyActionRestart {
  readonly serviceName: string;
}

export interface MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesUnit {
  readonly actions: readonly MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesUnitAction[];
  readonly name: string;
}

export interface MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesUnitAction {
  readonly reload?: MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesUnitActionReload;
  readonly restart?: MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesUnitActionRestart;
  readonly type: 'Reboot' | 'Drain' | 'Reload' | 'Restart' | 'DaemonReload' | 'None' | 'Special' | (string & {});
}

export interface MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesUnitActionReload {
  readonly serviceName: string;
}

export interface MachineConfigurationStatusNodeDisruptionPolicyStatusClusterPoliciesUnitActionRestart {
  readonly serviceName: string;
}

/** The kind MachineConfiguration of operator.openshift.io/v1. */
export const MachineConfiguration: Resource<MachineConfiguration> = {
  group: 'operator.openshift.io',
  version: 'v1',
  kind: 'MachineConfiguration',
  plural: 'machineconfigurations',
  scope: 'Cluster',
};
