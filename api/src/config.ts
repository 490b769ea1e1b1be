import type { Condition, ObjectMeta, Resource } from './meta.ts';

/** One failure domain of vSphere: a vCenter, a place in it, and the region and zone it stands for. */
export interface VSphereFailureDomain {
  readonly name: string;
  readonly region?: string;
  readonly zone?: string;
  /** Host name of the vCenter, one of `vcenters[].server`. */
  readonly server: string;
  readonly regionAffinity?: { readonly type?: string };
  readonly zoneAffinity?: {
    readonly type?: string;
    readonly hostGroup?: { readonly vmGroup?: string; readonly hostGroup?: string; readonly vmHostRule?: string };
  };
  /** Inventory paths, except the data centre, the networks and the host names. */
  readonly topology: {
    readonly datacenter: string;
    readonly computeCluster: string;
    readonly networks?: readonly string[];
    readonly datastore: string;
    readonly resourcePool?: string;
    readonly folder?: string;
    readonly template?: string;
  };
}

/** One vCenter of the cluster. */
export interface VSphereVCenter {
  readonly server: string;
  readonly port?: number;
  readonly datacenters?: readonly string[];
}

/** config.openshift.io/v1 Infrastructure; one, named `cluster`. */
export interface Infrastructure {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly platformSpec?: {
      readonly type?: string;
      readonly vsphere?: {
        readonly vcenters?: readonly VSphereVCenter[];
        readonly failureDomains?: readonly VSphereFailureDomain[];
      };
    };
  };
  readonly status?: {
    readonly infrastructureName?: string;
    readonly platform?: string;
    /** `https://api-int.<cluster>:6443`: where machines reach the API server. */
    readonly apiServerInternalURI?: string;
    readonly controlPlaneTopology?: string;
    readonly infrastructureTopology?: string;
    readonly platformStatus?: {
      readonly type?: string;
      readonly aws?: {
        readonly region?: string;
        readonly serviceEndpoints?: readonly { readonly name?: string; readonly url?: string }[];
      };
      readonly azure?: { readonly cloudName?: string; readonly armEndpoint?: string };
    };
  };
}

/** The kind Infrastructure. */
export const Infrastructure: Resource<Infrastructure> = {
  group: 'config.openshift.io',
  version: 'v1',
  kind: 'Infrastructure',
  plural: 'infrastructures',
  scope: 'Cluster',
};

/** config.openshift.io/v1 ClusterVersion; one, named `version`. */
export interface ClusterVersion {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly clusterID?: string;
    readonly channel?: string;
    readonly overrides?: readonly {
      readonly group?: string;
      readonly kind?: string;
      readonly namespace?: string;
      readonly name?: string;
      readonly unmanaged?: boolean;
    }[];
    readonly desiredUpdate?: { readonly image?: string; readonly version?: string; readonly force?: boolean };
    readonly capabilities?: {
      readonly baselineCapabilitySet?: string;
      readonly additionalEnabledCapabilities?: readonly string[];
    };
  };
  readonly status?: {
    readonly desired?: { readonly version?: string; readonly image?: string; readonly architecture?: string };
    readonly availableUpdates?: readonly { readonly version?: string; readonly image?: string }[] | null;
    readonly versionHash?: string;
    readonly capabilities?: {
      readonly knownCapabilities?: readonly string[];
      readonly enabledCapabilities?: readonly string[];
    };
    /** Newest first. */
    readonly history?: readonly {
      readonly state?: 'Completed' | 'Partial' | (string & {});
      readonly version?: string;
      readonly image?: string;
      readonly startedTime?: string;
      readonly completionTime?: string | null;
      readonly verified?: boolean;
      readonly acceptedRisks?: string;
    }[];
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
  };
}

/** The kind ClusterVersion. */
export const ClusterVersion: Resource<ClusterVersion> = {
  group: 'config.openshift.io',
  version: 'v1',
  kind: 'ClusterVersion',
  plural: 'clusterversions',
  scope: 'Cluster',
};

/** config.openshift.io/v1 ClusterOperator: the verdict of one operator, which the release manager obeys. */
export interface ClusterOperator {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: Readonly<Record<string, never>>;
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly versions?: readonly { readonly name: string; readonly version: string }[];
    readonly relatedObjects?: readonly {
      readonly group: string;
      readonly resource: string;
      readonly namespace?: string;
      readonly name: string;
    }[];
  };
}

/** The kind ClusterOperator. */
export const ClusterOperator: Resource<ClusterOperator> = {
  group: 'config.openshift.io',
  version: 'v1',
  kind: 'ClusterOperator',
  plural: 'clusteroperators',
  scope: 'Cluster',
};

/** config.openshift.io/v1 FeatureGate; one, named `cluster`. */
export interface FeatureGate {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly status?: {
    /** One entry for each version in the history of the cluster. */
    readonly featureGates?: readonly {
      readonly version?: string;
      readonly enabled?: readonly { readonly name: string }[];
      readonly disabled?: readonly { readonly name: string }[];
    }[];
  };
}

/** The kind FeatureGate. */
export const FeatureGate: Resource<FeatureGate> = {
  group: 'config.openshift.io',
  version: 'v1',
  kind: 'FeatureGate',
  plural: 'featuregates',
  scope: 'Cluster',
};
