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
import { alreadyExists, conflict, invalid, notFound, notServed, serverError } from './refusal.ts';
import type { Steps } from './steps.ts';
import { type Store, storeId } from './store.ts';
import {
  checkApplied,
  checkName,
  checkNamespace,
  checkNamespaceOpen,
  checkObject,
  checkTyped,
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
  function* createdBy(target: WriteTarget, body: JsonObject): Steps<Written> {
    const { kind, version } = target;
    const object = withoutServerFields(decoded(target, withoutStatus(body, kind)));
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
    const half = subresource === 'status' ? withStatus(current, base) : withSpec(current, base, kind);
    // A status write leaves metadata as it is, but its author owns or gives up the metadata that it names.
    const named = withMetadata(half, metadataOf(base));
    const { managedFields } = metadataOf(
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
    checkName(target, body);
    checkNamespace(target, body);
    if (kind.createOnPut === true && store.get(kind, idOf(target)) === undefined) return yield* createdBy(target, body);
    const stored = existing(target);
    const current = yield* inVersion(stored, target);
    const { uid: given, resourceVersion } = metadataOf(body);
    const { uid: own } = metadataOf(current);
    if (given !== undefined && given !== own) {
      const uids = `UID in precondition: ${shown(given)}, UID in object meta: ${shown(own)}`;
      throw conflict(kind, name, `Precondition failed: ${uids}`);
    }
    const asked = decoded(target, body);
    if (!resourceVersion && !kind.builtIn) {
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
    const wanted = applicable(body, kind, subresource);
    if (subresource === undefined && store.get(kind, idOf(target)) === undefined) {
      const { managedFields } = metadataOf(applied({}, wanted, schema, manager, time()));
      const { resourceVersion: _, ...metadata } = metadataOf(wanted);
      const object = withoutServerFields(withMetadata(wanted, { ...metadata, namespace: target.namespace }));
      const owned = withMetadata(object, { ...metadataOf(object), managedFields });
      return yield* created(target, decoded(target, owned, 'keep'));
    }
    const stored = existing(target);
    const current = yield* inVersion(stored, target);
    const half = applicable(current, kind, subresource);
    const merged = applied(served(current, kind, version), wanted, schema, manager, time(), half);
    const { uid: id, resourceVersion } = metadataOf(body);
    const asked = withMetadata(merged, { ...metadataOf(merged), uid: id, resourceVersion });
    return yield* updated(target, stored, current, decoded(target, asked, 'keep'), merged);
  }

  return {
    *create(target, body) {
      if (metadataOf(body)['resourceVersion']) {
        throw serverError('resourceVersion should not be set on objects to be created');
      }
      checkNamespace(target, body);
      return yield* createdBy(target, body);
    },
    replace: (target, body) => retried(target, () => replaced(target, body)),
    patch: (target, change) => retried(target, () => patched({ ...target, patched: true }, change)),
    apply: (target, body, force) => retried(target, () => serverSideApplied(target, body, force)),
  };
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
