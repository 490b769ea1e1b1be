/** Object metadata as the API server stores it, limited to the fields controllers use. Times are RFC 3339 strings. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

/** One entry of `metadata.ownerReferences`. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** What every Kubernetes object has. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** A value that names a kind and carries its TypeScript type. `group` is '' for the core group. */
export interface Resource<T extends KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope: 'Namespaced' | 'Cluster';
  /** Never present at run time; it only carries `T`. */
  readonly _type?: T;
}

/** One condition, as upstream's kinds and ours carry them. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown' | (string & {});
  readonly reason?: string;
  readonly message?: string;
  readonly severity?: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

/** A label selector; absent parts match everything. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | (string & {});
    readonly values?: readonly string[];
  }[];
}
