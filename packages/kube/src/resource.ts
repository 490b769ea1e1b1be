import type { KubeObject } from '@drydock/api';

// The shapes of the API itself belong to api; the client's users get them from one place.
export type { KubeObject, ObjectMeta, OwnerReference, Resource } from '@drydock/api';

/** Names one object of a kind; `namespace` is absent for cluster-scoped kinds. */
export interface Key {
  readonly namespace?: string;
  readonly name: string;
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
