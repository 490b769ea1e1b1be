import { createHash } from 'node:crypto';
import { canonical, type JsonObject, listOf, metadataOf, objectOf } from '@drydock/kube/testing/api-server';
import type { ObjectServer, UserInfo } from '../apiserver/contract.ts';

// How the simulated controllers read and write: through the API server, so that admission, watches and ownership of fields are as with real controllers.

/** What a simulated controller sees of the cluster and does to it. */
export interface SimulatedCluster {
  /** In key order. */
  list(group: string, plural: string): readonly JsonObject[];
  create(path: string, body: JsonObject): Promise<boolean>;
  /** A merge patch; nothing is sent where nothing would change. */
  patch(path: string, now: JsonObject, change: JsonObject): Promise<void>;
  remove(object: JsonObject, path: string, grace?: number): Promise<void>;
  now(): string;
  /** Asks for another round after some milliseconds. */
  again(ms: number): void;
}

/** The cluster as one controller, which is known by its name. */
export function clusterAs(
  name: string,
  objects: ObjectServer,
  now: () => Date,
  again: (ms: number) => void,
): SimulatedCluster {
  const user: UserInfo = {
    username: `system:serviceaccount:kube-system:${name}`,
    groups: ['system:masters', 'system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
  };
  const call = (method: string, path: string, body: unknown, contentType = 'application/json') =>
    objects.answer({ ...{ method, path, body, contentType, user }, agent: name, signal: new AbortController().signal });
  return {
    list: (group, plural) => objects.list(group, plural) as readonly JsonObject[],
    create: async (path, body) => (await call('POST', path, body)).code === 201,
    patch: async (path, before, change) => {
      if (isWithin(change, before)) return;
      const { uid } = metadataOf(before);
      const whole = { ...change, metadata: { ...objectOf(change['metadata']), uid } };
      await call('PATCH', path, whole, 'application/merge-patch+json');
    },
    remove: async (object, path, grace) => {
      const { uid } = metadataOf(object);
      await call('DELETE', path, {
        ...{ apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } },
        ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
        propagationPolicy: 'Background',
      });
    },
    now: () => `${now().toISOString().slice(0, 19)}Z`,
    again,
  };
}

/** Whether a merge patch changes nothing. */
function isWithin(change: unknown, now: unknown): boolean {
  if (change === null) return now === undefined || now === null;
  if (typeof change !== 'object' || Array.isArray(change)) return canonical(change) === canonical(now ?? null);
  const before = objectOf(now);
  return Object.entries(change as JsonObject).every(([key, value]) => isWithin(value, before[key]));
}

/** The path of an object of a namespace. */
export function pathOf(group: string, plural: string, object: JsonObject): string {
  const { namespace, name } = metadataOf(object);
  return `${collectionPath(group, plural, String(namespace))}/${String(name)}`;
}

/** The path of a collection in a namespace. */
export function collectionPath(group: string, plural: string, namespace: string): string {
  return `/${group === '' ? 'api/v1' : `apis/${group}/v1`}/namespaces/${namespace}/${plural}`;
}

/** Whether an object belongs to a controller. */
export function isOwnedBy(object: JsonObject, owner: JsonObject): boolean {
  const { uid } = metadataOf(owner);
  return listOf(metadataOf(object)['ownerReferences']).some(
    (one) => objectOf(one)['uid'] === uid && objectOf(one)['controller'] === true,
  );
}

/** The reference to a controller. */
export function ownerReference(apiVersion: string, kind: string, owner: JsonObject): JsonObject {
  const { name, uid } = metadataOf(owner);
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Whether an object is being deleted. */
export function isLeaving(object: JsonObject): boolean {
  return metadataOf(object)['deletionTimestamp'] !== undefined;
}

const LETTERS = 'bcdfghjklmnpqrstvwxz2456789';

/** Letters that follow from a value, as Kubernetes puts them at the end of names: the same run gives the same names. */
export function nameSuffix(of: unknown, length: number): string {
  const digest = createHash('sha256').update(canonical(of)).digest();
  return Array.from({ length }, (_none, at) => LETTERS.charAt((digest[at] ?? 0) % LETTERS.length)).join('');
}

/** Whether a pod is ready. */
export function isReady(pod: JsonObject): boolean {
  return conditionOf(pod, 'Ready')?.['status'] === 'True';
}

/** Whether a pod has ended. */
export function hasEnded(pod: JsonObject): boolean {
  const { phase } = objectOf(pod['status']);
  return phase === 'Succeeded' || phase === 'Failed';
}

/** A condition of an object. */
export function conditionOf(object: JsonObject, type: string): JsonObject | undefined {
  return listOf(objectOf(object['status'])['conditions'])
    .map(objectOf)
    .find((one) => one['type'] === type);
}

/** The conditions of an object with one set; its time of transition changes with its status alone. */
export function withCondition(conditions: readonly JsonObject[], next: JsonObject, now: string): readonly JsonObject[] {
  const at = conditions.findIndex((one) => one['type'] === next['type']);
  const before = conditions[at];
  const lastTransitionTime = before?.['status'] === next['status'] ? before?.['lastTransitionTime'] : now;
  const made = { ...next, lastTransitionTime };
  return at === -1 ? [...conditions, made] : conditions.with(at, made);
}

/** A count or a percentage of a whole. */
export function countOf(value: unknown, whole: number, round: (of: number) => number): number {
  if (typeof value === 'number') return value;
  const percent = Number.parseInt(String(value), 10);
  return Number.isNaN(percent) ? 0 : round((percent * whole) / 100);
}
