import type { Condition, ObjectMeta, Resource } from './meta.ts';

/** v1 ConfigMap. */
export interface ConfigMap {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly immutable?: boolean;
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

/** The kind ConfigMap. */
export const ConfigMap: Resource<ConfigMap> = core('ConfigMap', 'configmaps');

/** v1 Secret; values are base64. */
export interface Secret {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly type?: string;
  readonly immutable?: boolean;
  readonly data?: Readonly<Record<string, string>>;
}

/** The kind Secret. */
export const Secret: Resource<Secret> = core('Secret', 'secrets');

/** v1 Namespace. */
export interface Namespace {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly status?: { readonly phase?: string };
}

/** The kind Namespace. */
export const Namespace: Resource<Namespace> = { ...core<Namespace>('Namespace', 'namespaces'), scope: 'Cluster' };

/** apps/v1 Deployment, as far as it tells whether somebody runs. */
export interface Deployment {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly replicas?: number };
  readonly status?: {
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
  };
}

/** The kind Deployment. */
export const Deployment: Resource<Deployment> = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  scope: 'Namespaced',
};

/** coordination.k8s.io/v1 Lease. Times have six fractional digits. */
export interface Lease {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

/** The kind Lease. */
export const Lease: Resource<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  scope: 'Namespaced',
};

/** v1 Node, as far as it tells whether it is ready. */
export interface Node {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly providerID?: string;
    readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** The kind Node. */
export const Node: Resource<Node> = {
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  scope: 'Cluster',
};

/** What an event speaks of. */
export interface ObjectReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** events.k8s.io/v1 Event. `eventTime` and `series.lastObservedTime` have six fractional digits. */
export interface Event {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly eventTime: string;
  readonly reportingController?: string;
  readonly reportingInstance?: string;
  readonly action?: string;
  readonly reason?: string;
  readonly note?: string;
  readonly type?: 'Normal' | 'Warning' | (string & {});
  readonly regarding?: ObjectReference;
  readonly related?: ObjectReference;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

/** The kind Event of events.k8s.io. */
export const Event: Resource<Event> = {
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  scope: 'Namespaced',
};

/** apiextensions.k8s.io/v1 CustomResourceDefinition. A version's schema stays raw JSON here. */
export interface CustomResourceDefinition {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly group: string;
    readonly scope: 'Namespaced' | 'Cluster';
    readonly names: { readonly kind: string; readonly plural: string; readonly [key: string]: unknown };
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly storage: boolean;
      readonly schema?: { readonly openAPIV3Schema?: Readonly<Record<string, unknown>> };
      readonly [key: string]: unknown;
    }[];
    readonly [key: string]: unknown;
  };
  readonly status?: { readonly storedVersions?: readonly string[]; readonly conditions?: readonly Condition[] };
}

/** The kind CustomResourceDefinition. */
export const CustomResourceDefinition: Resource<CustomResourceDefinition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  scope: 'Cluster',
};

function core<T extends { readonly metadata: ObjectMeta }>(kind: string, plural: string): Resource<T> {
  return { group: '', version: 'v1', kind, plural, scope: 'Namespaced' };
}
