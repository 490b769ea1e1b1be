import {
  inTime,
  type JsonObject,
  jsonEqual,
  listOf,
  metadataOf,
  nameOf,
  objectOf,
  type ServedKind,
  type Server,
  type Store,
  served,
  withMetadata,
} from '@drydock/kube/testing/api-server';
import type { ApiServerEra } from '../../era.ts';
import type { ServedResource } from './contract.ts';
import { CLEANUP } from './crd-checks.ts';
import { customKind, scalePathsOf, servedResources } from './crd-kinds.ts';
import { crdStatus, isEstablished } from './crd-names.ts';
import type { ScalePaths } from './subresources.ts';

/** What the registry needs of its server. */
export interface RegistryHost {
  readonly store: Store;
  readonly kinds: ServedKind[];
  readonly era: ApiServerEra;
  readonly server: () => Server;
  now(): string;
  /** After what is served has changed. */
  changed(): void;
}

/** The custom kinds: served, changed and removed as their CRDs come and go. */
export interface CrdRegistry {
  /** A stored CRD has changed. */
  changed(crd: JsonObject): void;
  removed(crd: JsonObject): void;
  /** An object of a custom kind is gone: its CRD may wait for that. */
  emptied(kind: ServedKind): void;
  /** Serves what is stored already. */
  restore(): void;
  resources(): readonly ServedResource[];
  scaleOf(kind: ServedKind, version: string): ScalePaths | undefined;
  crdOf(kind: ServedKind): JsonObject | undefined;
}

/** Follows the CRDs of a store. `kind` is theirs. */
export function createCrdRegistry(host: RegistryHost, kind: ServedKind): CrdRegistry {
  const { store, kinds } = host;
  const live = new Map<string, { readonly crd: JsonObject; readonly kind: ServedKind }>();
  const pending = new Set<string>();

  const idOf = (name: string): string => `/${name}`;
  const keyOf = (of: ServedKind): string => `${of.plural}.${of.group}`;

  function serve(crd: JsonObject): void {
    const name = nameOf(crd);
    const before = live.get(name);
    if (before !== undefined && jsonEqual(before.crd['spec'], crd['spec']) && sameNames(before.crd, crd)) {
      live.set(name, { ...before, crd });
      return;
    }
    const next = customKind(crd, host.era);
    // In place: the store knows its objects by the kind itself.
    const known = before?.kind;
    if (known === undefined) kinds.push(next);
    else Object.assign(known, next);
    live.set(name, { crd, kind: known ?? next });
    host.changed();
  }

  function sameNames(a: JsonObject, b: JsonObject): boolean {
    const dying = (one: JsonObject): boolean => metadataOf(one)['deletionTimestamp'] !== undefined;
    return (
      jsonEqual(objectOf(a['status'])['acceptedNames'], objectOf(b['status'])['acceptedNames']) && dying(a) === dying(b)
    );
  }

  function withdraw(name: string): void {
    const gone = live.get(name);
    if (gone === undefined) return;
    live.delete(name);
    kinds.splice(kinds.indexOf(gone.kind), 1);
    store.drop(gone.kind);
    host.changed();
  }

  /** What the controllers do about a CRD some time after it was written. */
  async function reconcile(name: string): Promise<void> {
    const crd = store.get(kind, idOf(name));
    if (crd === undefined) {
      withdraw(name);
      return;
    }
    if (metadataOf(crd)['deletionTimestamp'] !== undefined) {
      serveIfEstablished(crd);
      await clean(crd);
      return;
    }
    const others = store.list(kind).map(([, one]) => one);
    const status = crdStatus(crd, others, host.now());
    if (jsonEqual(status, crd['status'])) {
      serveIfEstablished(crd);
      return;
    }
    await writeStatus(crd, status);
  }

  /** Writes a status as the server's own controllers do. The write is what calls `reconcile` again. */
  async function writeStatus(crd: JsonObject, status: JsonObject): Promise<void> {
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${nameOf(crd)}/status`;
    const body = { ...served(crd, kind, 'v1'), status };
    await inTime(host.server().steps({ method: 'PUT', path, body, agent: 'kube-apiserver', user: CONTROLLER }));
  }

  function serveIfEstablished(crd: JsonObject): void {
    if (isEstablished(crd)) serve(crd);
  }

  /** Deletes the objects of a CRD that goes, then the CRD. */
  async function clean(crd: JsonObject): Promise<void> {
    const name = nameOf(crd);
    const own = live.get(name)?.kind;
    const { finalizers } = metadataOf(crd);
    if (!listOf(finalizers).includes(CLEANUP)) return;
    for (const [id, object] of own === undefined ? [] : store.list(own)) {
      const metadata = metadataOf(object);
      if (listOf(metadata['finalizers']).length === 0) store.remove(own as ServedKind, id);
      else if (metadata['deletionTimestamp'] === undefined) {
        const generation = Number(metadata['generation'] ?? 0) + 1;
        const marks = { deletionTimestamp: host.now(), deletionGracePeriodSeconds: 0, generation };
        store.put(own as ServedKind, id, withMetadata(object, { ...metadata, ...marks }));
      }
    }
    if (own !== undefined && store.list(own).length > 0) {
      await inProgress(crd);
      return;
    }
    const left = listOf(finalizers).filter((one) => one !== CLEANUP);
    const now = store.get(kind, idOf(name));
    if (now === undefined) return;
    if (left.length === 0) store.remove(kind, idOf(name));
    else store.put(kind, idOf(name), withMetadata(now, { ...metadataOf(now), finalizers: left }));
  }

  async function inProgress(crd: JsonObject): Promise<void> {
    const status = objectOf(crd['status']);
    const conditions = listOf(status['conditions']).map((one) => {
      const condition = objectOf(one);
      if (condition['type'] !== 'Terminating' || condition['reason'] === 'InstanceDeletionInProgress') return condition;
      return { ...condition, reason: 'InstanceDeletionInProgress', message: 'CustomResource deletion is in progress' };
    });
    if (jsonEqual(conditions, status['conditions'])) return;
    await writeStatus(crd, { ...status, conditions });
  }

  function later(name: string): void {
    if (pending.has(name)) return;
    pending.add(name);
    queueMicrotask(() => {
      pending.delete(name);
      reconcile(name).catch((error: unknown) => {
        // A bug of ours: it must be seen, and it must not end the process.
        process.emitWarning(error instanceof Error ? error : String(error));
      });
    });
  }

  return {
    changed: (crd) => later(nameOf(crd)),
    removed: (crd) => {
      withdraw(nameOf(crd));
      // Somebody else may have waited for its names.
      for (const [, other] of store.list(kind)) later(nameOf(other));
    },
    emptied: (of) => {
      const name = keyOf(of);
      const crd = store.get(kind, idOf(name));
      if (crd !== undefined && metadataOf(crd)['deletionTimestamp'] !== undefined) later(name);
    },
    restore: () => {
      for (const [, crd] of store.list(kind)) {
        if (isEstablished(crd)) serve(crd);
        later(nameOf(crd));
      }
    },
    resources: () => [...live.values()].flatMap(({ crd }) => servedResources(crd)),
    scaleOf: (of, version) => {
      const crd = live.get(keyOf(of))?.crd;
      return crd === undefined ? undefined : scalePathsOf(crd, version);
    },
    crdOf: (of) => live.get(keyOf(of))?.crd,
  };
}

/** Who writes what the server itself finds out. */
export const CONTROLLER = { username: 'system:apiserver', groups: ['system:masters', 'system:authenticated'] } as const;
