// Generated from clusterversions.config.openshift.io v1 by `npm run generate`. Do not edit.
import type { ObjectMeta, Resource } from '../src/meta.ts';

export interface ClusterVersion {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec: ClusterVersionSpec;
  readonly status?: ClusterVersionStatus;
}

export interface ClusterVersionSpec {
  readonly capabilities?: ClusterVersionSpecCapabilities;
  readonly channel?: string;
  readonly clusterID: string;
  readonly desiredUpdate?: ClusterVersionSpecDesiredUpdate;
  readonly overrides?: readonly ClusterVersionSpecOverride[];
  readonly upstream?: string;
}

export interface ClusterVersionSpecCapabilities {
  readonly additionalEnabledCapabilities?: readonly ('openshift-samples' | 'baremetal' | 'marketplace' | 'Console' | 'Insights' | 'Storage' | 'CSISnapshot' | 'NodeTuning' | 'MachineAPI' | 'Build' | 'DeploymentConfig' | 'ImageRegistry' | 'OperatorLifecycleManager' | 'CloudCredential' | 'Ingress' | 'CloudControllerManager' | 'OperatorLifecycleManagerV1')[];
  readonly baselineCapabilitySet?: 'None' | 'v4.11' | 'v4.12' | 'v4.13' | 'v4.14' | 'v4.15' | 'v4.16' | 'v4.17' | 'v4.18' | 'vCurrent';
}

export interface ClusterVersionSpecDesiredUpdate {
  readonly architecture?: 'Multi' | '';
  readonly force?: boolean;
  readonly image?: string;
  readonly version?: string;
}

export interface ClusterVersionSpecOverride {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  readonly unmanaged: boolean;
}

export interface ClusterVersionStatus {
  readonly availableUpdates: readonly ClusterVersionStatusAvailableUpdate[] | null;
  readonly capabilities?: ClusterVersionStatusCapabilities;
  readonly conditionalUpdates?: readonly ClusterVersionStatusConditionalUpdate[];
  readonly conditions?: readonly ClusterVersionStatusCondition[];
  readonly desired: ClusterVersionStatusDesired;
  readonly history?: readonly ClusterVersionStatusHistoryItem[];
  readonly observedGeneration: number;
  readonly versionHash: string;
}

export interface ClusterVersionStatusAvailableUpdate {
  readonly channels?: readonly string[];
  readonly image: string;
  readonly url?: string;
  readonly version: string;
}

export interface ClusterVersionStatusCapabilities {
  readonly enabledCapabilities?: readonly ('openshift-samples' | 'baremetal' | 'marketplace' | 'Console' | 'Insights' | 'Storage' | 'CSISnapshot' | 'NodeTuning' | 'MachineAPI' | 'Build' | 'DeploymentConfig' | 'ImageRegistry' | 'OperatorLifecycleManager' | 'CloudCredential' | 'Ingress' | 'CloudControllerManager' | 'OperatorLifecycleManagerV1' | (string & {}))[];
  readonly knownCapabilities?: readonly ('openshift-samples' | 'baremetal' | 'marketplace' | 'Console' | 'Insights' | 'Storage' | 'CSISnapshot' | 'NodeTuning' | 'MachineAPI' | 'Build' | 'DeploymentConfig' | 'ImageRegistry' | 'OperatorLifecycleManager' | 'CloudCredential' | 'Ingress' | 'CloudControllerManager' | 'OperatorLifecycleManagerV1' | (string & {}))[];
}

export interface ClusterVersionStatusConditionalUpdate {
  readonly conditions?: readonly ClusterVersionStatusConditionalUpdateCondition[];
  readonly release: ClusterVersionStatusConditionalUpdateRelease;
  readonly risks: readonly ClusterVersionStatusConditionalUpdateRisk[];
}

export interface ClusterVersionStatusConditionalUpdateCondition {
  readonly lastTransitionTime: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly reason: string;
  readonly status: 'True' | 'False' | 'Unknown' | (string & {});
  readonly type: string;
}

export interface ClusterVersionStatusConditionalUpdateRelease {
  readonly channels?: readonly string[];
  readonly image: string;
  readonly url?: string;
  readonly version: string;
}

export interface ClusterVersionStatusConditionalUpdateRisk {
  readonly matchingRules: readonly ClusterVersionStatusConditionalUpdateRiskMatchingRule[];
  readonly message: string;
  readonly name: string;
  readonly url: string;
}

export interface ClusterVersionStatusConditionalUpdateRiskMatchingRule {
  readonly promql?: ClusterVersionStatusConditionalUpdateRiskMatchingRulePromql;
  readonly type: 'Always' | 'PromQL' | (string & {});
}

export interface ClusterVersionStatusConditionalUpdateRiskMatchingRulePromql {
  readonly promql: string;
}

export interface ClusterVersionStatusCondition {
  readonly lastTransitionTime: string;
  readonly message?: string;
  readonly reason?: string;
  readonly status: string;
  readonly type: string;
}

export interface ClusterVersionStatusDesired {
  readonly channels?: readonly string[];
  readonly image: string;
  readonly url?: string;
  readonly version: string;
}

export interface ClusterVersionStatusHistoryItem {
  readonly acceptedRisks?: string;
  readonly completionTime: string | null;
  readonly image: string;
  readonly startedTime: string;
  readonly state: string;
  readonly verified: boolean;
  readonly version?: string;
}

/** The kind ClusterVersion of config.openshift.io/v1. */
export const ClusterVersion: Resource<ClusterVersion> = {
  group: 'config.openshift.io',
  version: 'v1',
  kind: 'ClusterVersion',
  plural: 'clusterversions',
  scope: 'Cluster',
};
