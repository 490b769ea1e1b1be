import type { StatusCause } from '../../status-object.ts';
import { isObject, type JsonObject, listOf, objectOf, shown, without } from './json.ts';
import type { ServedKind } from './kinds.ts';
import { applied, isUnchanged, type Manager, recordUpdate } from './managers.ts';
import { born, generated, kept, metadataOf, metadataViolations, nameOf, seconds, withMetadata } from './metadata.ts';
import { alreadyExists, badRequest, conflict, invalid, notFound, notServed, Refusal, serverError } from './refusal.ts';
import { type Nulls, type Schema, settle } from './schema.ts';
import { type Store, storeId } from './store.ts';
import { typedViolation } from './typed.ts';
import { violations } from './validation.ts';

/** Where a write goes, by whom, and how. */
export interface WriteTarget {
  readonly kind: ServedKind;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource?: 'status' | undefined;
  readonly manager: string;
  readonly dryRun: boolean;
  /** Refuse undeclared fields rather than drop them. */
  readonly strict: boolean;
  /** The content comes from a patch: then what cannot be decoded is the patch's fault. */
  readonly patched?: boolean;
}

/** An answer with its HTTP code. */
export interface Written {
  readonly code: number;
  readonly object: JsonObject;
}

/** The server's way of writing: pruning, defaulting, validation, ownership, generation, finalizers. */
export interface Writer {
  create(target: WriteTarget, body: JsonObject): Written;
  /** PUT. */
  replace(target: WriteTarget, body: JsonObject): Written;
  /** JSON patch and merge patch: `change` gets the current object. */
  patch(target: WriteTarget, change: (current: JsonObject) => JsonObject): Written;
  apply(target: WriteTarget, body: JsonObject, force: boolean): Written;
}

/** Writes into a store. `now` is wall-clock time, `uid` makes identities. */
export function createWriter(store: Store, now: () => Date, uid: () => string): Writer {
  const namespaces = (): ServedKind | undefined => {
    for (const [kind] of store.all()) if (kind.kind === 'Namespace') return kind;
    return undefined;
  };
  const time = (): string => seconds(now());
  const idOf = ({ kind, namespace, name }: WriteTarget): string =>
    storeId(kind.namespaced ? namespace : undefined, name);
  const managerOf = (target: WriteTarget, operation: Manager['operation']): Manager => ({
    manager: target.manager,
    operation,
    apiVersion: apiVersion(target),
    subresource: target.subresource,
  });

  function openNamespace({ kind, namespace }: WriteTarget, name: string): void {
    if (!kind.namespaced || namespace === undefined) return;
    const of = namespaces();
    const found = of === undefined ? undefined : store.get(of, storeId(undefined, namespace));
    if (found === undefined) throw notFound({ group: '', kind: 'Namespace', plural: 'namespaces' }, namespace);
    if (metadataOf(found)['deletionTimestamp'] === undefined) return;
    const said = `unable to create new content in namespace ${namespace} because it is being terminated`;
    const cause = {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    };
    const details = { name, ...(kind.group === '' ? {} : { group: kind.group }), kind: kind.plural, causes: [cause] };
    throw new Refusal({
      code: 403,
      reason: 'Forbidden',
      message: `${kind.plural} "${name}" is forbidden: ${said}`,
      details,
    });
  }

  function created(target: WriteTarget, object: JsonObject): Written {
    const { kind, version } = target;
    openNamespace(target, nameOf(object));
    const whole = named(kind, without(object, 'apiVersion', 'kind', ...(kind.status ? ['status'] : [])));
    validate(target, whole, undefined);
    const id = storeId(kind.namespaced ? target.namespace : undefined, nameOf(whole));
    const existing = store.get(kind, id);
    if (existing !== undefined) {
      throw alreadyExists(kind, nameOf(whole), metadataOf(existing)['deletionTimestamp'] !== undefined);
    }
    if (target.dryRun) return { code: 201, object: served(whole, kind, version) };
    return { code: 201, object: served(store.put(kind, id, whole), kind, version) };
  }

  /** Everything that happens to a changed object after its new content is known. */
  function changed(target: WriteTarget, current: JsonObject, asked: JsonObject, owners?: JsonObject): Written {
    const { kind, version, subresource } = target;
    const { resourceVersion } = metadataOf(asked);
    if (
      resourceVersion !== undefined &&
      resourceVersion !== '' &&
      resourceVersion !== metadataOf(current)['resourceVersion']
    ) {
      throw conflict(kind, target.name);
    }
    const base = kept(current, without(asked, 'apiVersion', 'kind'), kind);
    const half = subresource === 'status' ? statusOf(current, base) : specOf(current, base, kind);
    const next = generated(current, half, kind);
    validate(target, next, current);
    const recorded =
      owners === undefined
        ? // A status write leaves metadata as it is, but what it says about metadata is what its author owns or gives up.
          recordUpdate(
            current,
            withMetadata(next, metadataOf(base)),
            kind.schema(version),
            managerOf(target, 'Update'),
            time(),
          )
        : owners;
    const owned = withMetadata(next, { ...metadataOf(next), managedFields: metadataOf(recorded)['managedFields'] });
    const answer = (object: JsonObject): Written => ({ code: 200, object: served(object, kind, version) });
    if (isUnchanged(current, owned)) return answer(current);
    if (target.dryRun) return answer(owned);
    const { deletionTimestamp, finalizers } = metadataOf(owned);
    if (deletionTimestamp !== undefined && listOf(finalizers).length === 0 && kind.kind !== 'Namespace') {
      store.remove(kind, idOf(target));
      return answer(owned);
    }
    return answer(store.put(kind, idOf(target), owned));
  }

  function current(target: WriteTarget): JsonObject {
    if (target.subresource === 'status' && !target.kind.status) throw notServed();
    const found = store.get(target.kind, idOf(target));
    if (found === undefined) throw notFound(target.kind, target.name);
    return found;
  }

  return {
    create: (target, body) => {
      if (metadataOf(body)['resourceVersion']) {
        throw serverError('resourceVersion should not be set on objects to be created');
      }
      // A status is dropped, so nobody owns it.
      const main = target.kind.status ? without(body, 'status') : body;
      const object = settled(target, born(main, target.kind, target.namespace, uid(), time()));
      const as = managerOf(target, 'Update');
      return created(target, recordUpdate({}, object, target.kind.schema(target.version), as, time()));
    },
    replace: (target, body) => {
      const { kind, name } = target;
      checkName(target, body);
      const metadata = metadataOf(body);
      if (kind.createOnPut === true && store.get(kind, idOf(target)) === undefined) {
        return created(target, settled(target, born(body, kind, target.namespace, uid(), time())));
      }
      const found = current(target);
      if (metadata['uid'] !== undefined && metadata['uid'] !== metadataOf(found)['uid']) {
        const said = `UID in precondition: ${shown(metadata['uid'])}, UID in object meta: ${shown(metadataOf(found)['uid'])}`;
        throw conflict(kind, name, `Precondition failed: ${said}`);
      }
      if (!metadata['resourceVersion'] && !kind.builtIn) {
        const message = 'Invalid value: 0: must be specified for an update';
        const cause = { reason: 'FieldValueInvalid', message, field: 'metadata.resourceVersion' };
        throw invalid(kind, name, [cause], kind.plural);
      }
      return changed(target, found, settled(target, body));
    },
    patch: (target, change) => {
      const found = current(target);
      const asked = change(served(found, target.kind, target.version));
      checkName(target, asked);
      return changed({ ...target, patched: true }, found, settled(target, asked));
    },
    apply: (target, body, force) => {
      const { kind, version } = target;
      checkApplied(target, body);
      if (target.subresource !== undefined) current(target);
      const schema = kind.schema(version);
      const as = { ...managerOf(target, 'Apply'), force };
      const wrong = typedViolation(body, schema, '');
      if (wrong !== undefined) {
        const type = `/${target.name}; ${apiVersion(target)}, Kind=${kind.kind}`;
        throw serverError(`failed to create typed patch object (${type}): ${wrong}`);
      }
      const want = appliedHalf(target, body);
      if (target.subresource === undefined && store.get(kind, idOf(target)) === undefined) {
        const bare = withMetadata(want, {
          ...metadataOf(want),
          namespace: target.namespace,
          resourceVersion: undefined,
        });
        const object = born(bare, kind, target.namespace, uid(), time());
        const owners = applied({}, want, schema, as, time());
        const { managedFields } = metadataOf(owners);
        return created(target, settled(target, withMetadata(object, { ...metadataOf(object), managedFields }), 'keep'));
      }
      const found = current(target);
      const next = applied(served(found, kind, version), want, schema, as, time(), appliedHalf(target, found));
      const { uid: id, resourceVersion = metadataOf(found)['resourceVersion'] } = metadataOf(body);
      const asked = withMetadata(next, { ...metadataOf(next), uid: id, resourceVersion });
      return changed(target, found, settled(target, asked, 'keep'), next);
    },
  };
}

function apiVersion({ kind, version }: WriteTarget): string {
  return kind.group === '' ? version : `${kind.group}/${version}`;
}

/** A stored object, which knows neither, with apiVersion and kind. */
export function served(object: JsonObject, kind: ServedKind, version: string): JsonObject {
  return { apiVersion: kind.group === '' ? version : `${kind.group}/${version}`, kind: kind.kind, ...object };
}

function settled(target: WriteTarget, object: JsonObject, nulls: Nulls = 'drop'): JsonObject {
  const { kind, version } = target;
  const { value, unknown } = settle(object, kind.schema(version), kind.builtIn ? 'empty' : nulls);
  if (target.strict && unknown.length > 0) {
    const list = unknown.map((field) => `unknown field "${field}"`).join(', ');
    throw badRequest(
      `${kind.kind} in version "${version}" cannot be handled as a ${kind.kind}: strict decoding error: ${list}`,
    );
  }
  return kind.builtIn ? withoutEmptyMaps(value, kind.schema(version)) : value;
}

/** Kubernetes' own types leave out empty maps. */
function withoutEmptyMaps(object: JsonObject, { properties }: Schema): JsonObject {
  const empty = (key: string, value: unknown): boolean =>
    isObject(properties?.[key]?.additionalProperties) && Object.keys(objectOf(value)).length === 0;
  return Object.fromEntries(Object.entries(object).filter(([key, value]) => !empty(key, value)));
}

/** A main write leaves the status alone, a status write everything else. */
function specOf(current: JsonObject, asked: JsonObject, kind: ServedKind): JsonObject {
  if (!kind.status) return asked;
  const rest = without(asked, 'status');
  return 'status' in current ? { ...rest, status: current['status'] } : rest;
}

function statusOf(current: JsonObject, asked: JsonObject): JsonObject {
  const rest = without(current, 'status');
  return 'status' in asked ? { ...rest, status: asked['status'] } : rest;
}

function validate(target: WriteTarget, object: JsonObject, old: JsonObject | undefined): void {
  const { kind, version } = target;
  const found = violations(object, kind.schema(version), '', old);
  const mistyped = found.find((one) => one.reason === 'FieldValueTypeInvalid');
  // Metadata and the types of Kubernetes itself are decoded before anything is validated.
  if (mistyped !== undefined && (kind.builtIn || mistyped.field?.startsWith('metadata.') === true)) {
    const message = `json: cannot unmarshal into Go struct field ${kind.kind}.${mistyped.field}: ${mistyped.message}`;
    if (target.patched === true)
      throw invalid(kind, target.name, [
        { reason: 'FieldValueInvalid', message: `Invalid value: ${message}`, field: 'patch' },
      ]);
    throw badRequest(`${kind.kind} in version "${version}" cannot be handled as a ${kind.kind}: ${message}`);
  }
  const causes = [...metadataViolations(object), ...dataViolations(object, kind), ...found];
  if (causes.length > 0) throw invalid(kind, nameOf(object), causes);
}

/** Keys of ConfigMaps and Secrets. */
function dataViolations(object: JsonObject, kind: ServedKind): StatusCause[] {
  if (!kind.builtIn || (kind.kind !== 'ConfigMap' && kind.kind !== 'Secret')) return [];
  return Object.keys(objectOf(object['data'])).flatMap((key) => {
    if (/^[-._a-zA-Z0-9]+$/.test(key)) return [];
    const said = `a valid config key must consist of alphanumeric characters, '-', '_' or '.'`;
    return [{ reason: 'FieldValueInvalid', message: `Invalid value: "${key}": ${said}`, field: `data[${key}]` }];
  });
}

function checkName({ name }: WriteTarget, body: JsonObject): void {
  const given = nameOf(body);
  if (given !== name)
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
}

function checkApplied(target: WriteTarget, body: JsonObject): void {
  const [group, version] = shown(body['apiVersion'] ?? '/').split('/');
  if (body['apiVersion'] !== apiVersion(target) || body['kind'] !== target.kind.kind) {
    throw badRequest(`invalid object type: ${group ?? ''}/${version ?? ''}, Kind=${shown(body['kind'] ?? '')}`);
  }
  if (metadataOf(body)['managedFields'] !== undefined) throw badRequest('metadata.managedFields must be nil');
  checkName(target, body);
}

/** An apply to one half of an object names nothing in the other. */
function appliedHalf({ kind, subresource }: WriteTarget, body: JsonObject): JsonObject {
  if (subresource === 'status') {
    const { apiVersion: version, kind: name, status } = body;
    return { apiVersion: version, kind: name, metadata: {}, ...(status === undefined ? {} : { status }) };
  }
  return kind.status ? without(body, 'status') : body;
}

/** What the server adds to objects of some kinds at their birth. */
function named(kind: ServedKind, object: JsonObject): JsonObject {
  if (!kind.builtIn || kind.kind !== 'Namespace') return object;
  const metadata = metadataOf(object);
  const labels = { ...objectOf(metadata['labels']), 'kubernetes.io/metadata.name': nameOf(object) };
  return {
    ...withMetadata(object, { ...metadata, labels }),
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  };
}
