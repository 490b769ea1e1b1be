import { jsonEqual } from '../../json/json-equal.ts';
import { type JsonObject, listOf, objectOf, shown, without } from './json.ts';
import { isNamespace, type ServedKind, served } from './kinds.ts';
import { applied, isUnchanged, recordUpdate } from './managers.ts';
import {
  metadataOf,
  nameOf,
  seconds,
  withGeneration,
  withKeptMetadata,
  withMetadata,
  withNewMetadata,
  withoutServerFields,
} from './metadata.ts';
import { applicable, withoutStatus, withSpec, withStatus } from './object-halves.ts';
import type { ServerPorts } from './ports.ts';
import { alreadyExists, conflict, invalid, notFound, notServed, type Refusal, serverError } from './refusal.ts';
import type { Steps } from './steps.ts';
import { storageKey } from './storage-keys.ts';
import { type Store, storeId } from './store.ts';
import {
  checkApplied,
  checkName,
  checkNamespace,
  checkNamespaceOpen,
  checkObject,
  checkTyped,
  isTyped,
} from './write-checks.ts';
import { decoded } from './write-decoding.ts';
import { admissionOf, contextOf, idOf, managerOf, type WriteTarget } from './write-target.ts';

/** An answer with its HTTP code. */
export interface Written {
  readonly code: number;
  readonly object: JsonObject;
}

/** Writes as the server does: decoding, ownership, admission, defaults, validation, generation, finalizers. */
export interface Writer {
  create(target: WriteTarget, body: JsonObject): Steps<Written>;
  /** PUT. */
  replace(target: WriteTarget, body: JsonObject): Steps<Written>;
  /** Patches other than apply: `change` gets the current object. */
  patch(target: WriteTarget, change: (current: JsonObject) => JsonObject): Steps<Written>;
  apply(target: WriteTarget, body: JsonObject, force: boolean): Steps<Written>;
}

/** Another write changed the object between its reading and its storing: the attempt is repeated. */
class ConcurrentWrite extends Error {
  override readonly name = 'ConcurrentWrite';
}

/** Attempts of a write without a resourceVersion before the client gets the conflict. */
const ATTEMPTS = 5;

/** Writes into a store. `now` is wall-clock time, `uid` makes identities. */
export function createWriter(store: Store, now: () => Date, uid: () => string, ports: ServerPorts = {}): Writer {
  const time = (): string => seconds(now());

  /** Lets admission change an object. The result is decoded like a client's body. */
  function* mutated(target: WriteTarget, object: JsonObject, old: JsonObject | undefined): Steps<JsonObject> {
    if (ports.mutate === undefined) return object;
    const admission = admissionOf(target, object, old);
    const changed = yield* ports.mutate(admission);
    return changed === admission.object ? object : decoded({ ...target, validation: 'Ignore' }, changed);
  }

  function* admitted(target: WriteTarget, object: JsonObject, old: JsonObject | undefined): Steps<void> {
    if (ports.validate !== undefined) yield* ports.validate(admissionOf(target, object, old));
  }

  /** A stored object in the version of the request. */
  function* inVersion(object: JsonObject, { kind, version }: WriteTarget): Steps<JsonObject> {
    if (ports.convert === undefined || ports.converts?.(kind) !== true) return object;
    const [converted = object] = yield* ports.convert(kind, [object], version);
    return without(converted, 'apiVersion', 'kind');
  }

  /** An object in its storage version. */
  function* storable(object: JsonObject, { kind, version }: WriteTarget): Steps<JsonObject> {
    if (ports.convert === undefined || ports.converts?.(kind) !== true) return object;
    const [converted = object] = yield* ports.convert(kind, [served(object, kind, version)], kind.storageVersion ?? '');
    return converted;
  }

  function* created(target: WriteTarget, object: JsonObject): Steps<Written> {
    const { kind, version } = target;
    checkNamespaceOpen(store, target, nameOf(object));
    const admissible = yield* mutated(target, withoutStatus(without(object, 'apiVersion', 'kind'), kind), undefined);
    const made = withNamespaceFields(kind, withNewMetadata(admissible, kind, target.namespace, uid(), time()));
    const whole = kind.rules?.create?.(made, contextOf(target)) ?? made;
    checkObject(target, whole, undefined);
    yield* admitted(target, whole, undefined);
    const stored = yield* storable(whole, target);
    // Admission and conversion may have taken time.
    checkNamespaceOpen(store, target, nameOf(whole));
    const id = storeId(kind.namespaced ? target.namespace : undefined, nameOf(whole));
    const existing = store.get(kind, id);
    if (existing !== undefined) {
      throw alreadyExists(kind, nameOf(whole), metadataOf(existing)['deletionTimestamp'] !== undefined);
    }
    const answer = target.dryRun ? whole : withVersionOf(store.put(kind, id, stored), whole);
    return { code: 201, object: served(answer, kind, version) };
  }

  /** A new object whose fields all belong to its author. A status is dropped, so nobody owns it. */
  function* createdBy(target: WriteTarget, asked: JsonObject): Steps<Written> {
    const { kind, version } = target;
    const object = withoutServerFields(withoutStatus(asked, kind));
    if (!isTyped(target, asked)) return yield* created(target, object);
    const empty = without(kind.rules?.empty?.() ?? {}, 'metadata');
    const owned = recordUpdate(empty, object, kind.schema(version), managerOf(target, 'Update'), time());
    return yield* created(target, owned);
  }

  /** The object that a write makes of the current one, after ownership, admission, the kind's rules and validation. */
  function* next(
    target: WriteTarget,
    current: JsonObject,
    asked: JsonObject,
    owners: JsonObject | undefined,
  ): Steps<JsonObject> {
    const { kind, version, subresource } = target;
    const base = withKeptMetadata(current, without(asked, 'apiVersion', 'kind'), kind);
    const half = subresource === 'status' ? withStatus(current, base, kind) : withSpec(current, base, kind);
    // A status write leaves metadata as it is, but its author owns or gives up the metadata that it names.
    const keepsAll = subresource === 'status' && kind.rules?.statusKeeps === 'metadata';
    const named = keepsAll ? half : withMetadata(half, metadataOf(base));
    const managedFields = ownersOf(
      target,
      asked,
      owners,
      owners ?? recordUpdate(current, named, kind.schema(version), managerOf(target, 'Update'), time()),
    );
    const admissible = withMetadata(half, { ...metadataOf(half), managedFields });
    const mutant = yield* mutated(target, admissible, current);
    const own = mutant === admissible ? admissible : withKeptMetadata(current, mutant, kind);
    const object = withGeneration(current, kind.rules?.update?.(own, current, contextOf(target)) ?? own, kind);
    checkObject(target, object, current);
    yield* admitted(target, object, current);
    return object;
  }

  /** Writes an existing object. `owners` has the managed fields, if they are not those of an update. */
  function* updated(
    target: WriteTarget,
    stored: JsonObject,
    current: JsonObject,
    asked: JsonObject,
    owners?: JsonObject,
  ): Steps<Written> {
    const { kind, version } = target;
    const { resourceVersion } = metadataOf(asked);
    const guarded = resourceVersion !== undefined && resourceVersion !== '';
    if (guarded && resourceVersion !== metadataOf(current)['resourceVersion']) throw conflict(kind, target.name);
    const object = yield* next(target, current, asked, owners);
    const unchanged = isUnchanged(current, object);
    const put = unchanged ? stored : yield* storable(object, target);
    const id = idOf(target);
    if (store.get(kind, id) !== stored) {
      if (guarded) throw conflict(kind, target.name);
      throw new ConcurrentWrite();
    }
    const answer = (written: JsonObject): Written => ({ code: 200, object: served(written, kind, version) });
    if (unchanged) return answer(current);
    if (target.dryRun) return answer(object);
    if (!isDeletable(object, kind)) return answer(withVersionOf(store.put(kind, id, put), object));
    store.remove(kind, id);
    return answer(object);
  }

  function existing(target: WriteTarget): JsonObject {
    if (target.subresource === 'status' && !target.kind.status) throw notServed();
    const object = store.get(target.kind, idOf(target));
    if (object === undefined) throw notFound(target.kind, target.name);
    return object;
  }

  function* retried(target: WriteTarget, attempt: () => Steps<Written>): Steps<Written> {
    for (let left = ATTEMPTS; ; left -= 1) {
      try {
        return yield* attempt();
      } catch (error) {
        if (!(error instanceof ConcurrentWrite)) throw error;
        if (left <= 1) throw conflict(target.kind, target.name);
      }
    }
  }

  function* replaced(target: WriteTarget, body: JsonObject): Steps<Written> {
    const { kind, name } = target;
    const asked = withDistinctOwners(target, decoded(target, body));
    checkName(target, body);
    checkNamespace(target, body);
    const { uid: given, resourceVersion } = metadataOf(body);
    const isAbsent = target.subresource === undefined && store.get(kind, idOf(target)) === undefined;
    if (kind.createOnPut === true && isAbsent) {
      if (given !== undefined) throw staleUid(target, given, '');
      return yield* createdBy(target, asked);
    }
    const stored = existing(target);
    const current = yield* inVersion(stored, target);
    const { uid: own } = metadataOf(current);
    if (given !== undefined && given !== own) throw staleUid(target, given, own);
    if (!resourceVersion && (!kind.builtIn || kind.rules?.guarded === true)) {
      const message = 'Invalid value: 0: must be specified for an update';
      throw invalid(
        kind,
        name,
        [{ reason: 'FieldValueInvalid', message, field: 'metadata.resourceVersion' }],
        kind.plural,
      );
    }
    return yield* updated(target, stored, current, asked);
  }

  function* patched(target: WriteTarget, change: (current: JsonObject) => JsonObject): Steps<Written> {
    const stored = existing(target);
    const current = yield* inVersion(stored, target);
    const asked = decoded(target, change(served(current, target.kind, target.version)));
    checkName(target, asked);
    const { resourceVersion, ...metadata } = metadataOf(asked);
    // A patch that does not change the resourceVersion names none.
    const isGuarded = resourceVersion !== metadataOf(current)['resourceVersion'];
    return yield* updated(target, stored, current, isGuarded ? asked : withMetadata(asked, metadata));
  }

  function* serverSideApplied(target: WriteTarget, body: JsonObject, force: boolean): Steps<Written> {
    const { kind, version, subresource } = target;
    checkApplied(target, body);
    if (subresource !== undefined) existing(target);
    checkTyped(target, body);
    const schema = kind.schema(version);
    const manager = { ...managerOf(target, 'Apply'), force };
    if (nameOf(body) !== '') checkName(target, body);
    checkNamespace(target, body);
    const wanted = applicable(body, kind, subresource);
    const applying = { ...target, applied: { namespace: shown(metadataOf(body)['namespace'] ?? '') } };
    if (subresource === undefined && store.get(kind, idOf(target)) === undefined) {
      checkName(target, body);
      const { managedFields } = metadataOf(applied({}, wanted, schema, manager, time()));
      const { resourceVersion: _, ...metadata } = metadataOf(wanted);
      const object = withoutServerFields(withMetadata(wanted, { ...metadata, namespace: target.namespace }));
      const owned = withMetadata(object, { ...metadataOf(object), managedFields });
      return yield* created(target, decoded(applying, owned, 'keep'));
    }
    const stored = existing(target);
    const current = yield* inVersion(stored, target);
    const half = applicable(current, kind, subresource);
    // The server counts a change of the half that it does not write as a change of the object.
    const touches =
      subresource === undefined &&
      kind.status &&
      'status' in body &&
      !jsonEqual(body['status'] ?? null, current['status']);
    const merged = applied(served(current, kind, version), wanted, schema, { ...manager, touches }, time(), half);
    const { uid: id, resourceVersion } = metadataOf(body);
    const asked = withMetadata(merged, { ...metadataOf(merged), uid: id, resourceVersion });
    return yield* updated(target, stored, current, decoded(applying, asked, 'keep'), merged);
  }

  return {
    *create(target, body) {
      if (metadataOf(body)['resourceVersion']) {
        throw serverError('resourceVersion should not be set on objects to be created');
      }
      const asked = withDistinctOwners(target, decoded(target, body));
      checkNamespace(target, body);
      return yield* createdBy(target, asked);
    },
    replace: (target, body) => retried(target, () => replaced(target, body)),
    patch: (target, change) => retried(target, () => patched({ ...target, patched: true }, change)),
    apply: (target, body, force) => retried(target, () => serverSideApplied(target, body, force)),
  };
}

/** The managed fields after a write: those of its owners, or those recorded for an update. */
function ownersOf(
  target: WriteTarget,
  asked: JsonObject,
  owners: JsonObject | undefined,
  recorded: JsonObject,
): readonly unknown[] | undefined {
  // The server forgets all owners if a value has a wrong type in the half that is not written.
  if (owners === undefined && !isTyped(target, asked)) return undefined;
  const all = listOf(metadataOf(recorded)['managedFields']);
  const isUnowned = target.unowned?.() === true;
  const entries = isUnowned ? all.filter((one) => objectOf(one)['subresource'] !== target.subresource) : all;
  return entries.length === 0 ? undefined : entries;
}

const DUPLICATE_OWNERS =
  '.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests';

/** An object that names each owner once. */
function withDistinctOwners(target: WriteTarget, object: JsonObject): JsonObject {
  const metadata = metadataOf(object);
  const owners = listOf(metadata['ownerReferences']);
  const distinct = owners.filter((one, at) => owners.findIndex((other) => jsonEqual(one, other)) === at);
  if (distinct.length === owners.length) return object;
  const uids = owners.filter((one) => !distinct.includes(one)).map((one) => shown(objectOf(one)['uid']));
  target.warn(`${DUPLICATE_OWNERS}; duplicate UID(s) observed: ${[...new Set(uids)].join(', ')}`);
  return withMetadata(object, { ...metadata, ownerReferences: distinct });
}

/** 409: the object is not the one that the writer read. */
function staleUid({ kind, namespace, name, dryRun }: WriteTarget, asked: unknown, uid: unknown): Refusal {
  const key = storageKey(kind, namespace, name, dryRun);
  const stale = `invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed`;
  const uids = `UID in precondition: ${shown(asked)}, UID in object meta: ${shown(uid)}`;
  return conflict(kind, name, `StorageError: ${stale}: ${uids}`);
}

/** Whether nothing keeps a deleted object any more. A namespace also waits for the finalizers of its spec. */
function isDeletable(object: JsonObject, kind: ServedKind): boolean {
  const { deletionTimestamp, finalizers, deletionGracePeriodSeconds = 0 } = metadataOf(object);
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds !== 0) return false;
  const more = isNamespace(kind) ? listOf(objectOf(object['spec'])['finalizers']) : [];
  return listOf(finalizers).length === 0 && more.length === 0;
}

/** An object with the resourceVersion that it got in the store. */
function withVersionOf(stored: JsonObject, object: JsonObject): JsonObject {
  return withMetadata(object, { ...metadataOf(object), resourceVersion: metadataOf(stored)['resourceVersion'] });
}

/** A new namespace has a label with its name, a finalizer and a phase. */
function withNamespaceFields(kind: ServedKind, object: JsonObject): JsonObject {
  if (!isNamespace(kind)) return object;
  const metadata = metadataOf(object);
  const labels = { ...objectOf(metadata['labels']), 'kubernetes.io/metadata.name': nameOf(object) };
  return {
    ...withMetadata(object, { ...metadata, labels }),
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  };
}
