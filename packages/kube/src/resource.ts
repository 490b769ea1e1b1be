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

/** Names one object of a kind; `namespace` is absent for cluster-scoped kinds. */
export interface Key {
  readonly namespace?: string;
  readonly name: string;
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

/** The key of an object. */
export function keyOf(object: KubeObject): Key {
  const { name, namespace } = object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}

/** `namespace/name`, or `name` for cluster-scoped objects: the text form used in queues, logs and messages. */
export function keyText(key: Key): string {
  return key.namespace === undefined ? key.name : `${key.namespace}/${key.name}`;
}
