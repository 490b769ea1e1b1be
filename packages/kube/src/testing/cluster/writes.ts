import { exactText } from '../../json/exact-integers.ts';
import { jsonEqual } from '../../json/json-equal.ts';
import type { StatusCause } from '../../status-object.ts';
import { isObject, type JsonObject, listOf, objectOf, shown, sortedKeys, without } from './json.ts';
import { METADATA, type ServedKind } from './kinds.ts';
import { applied, isUnchanged, type Manager, recordUpdate } from './managers.ts';
import {
  bareBirth,
  born,
  generated,
  kept,
  metadataOf,
  metadataViolations,
  nameOf,
  seconds,
  withMetadata,
} from './metadata.ts';
import type { Admission, ServerPorts } from './ports.ts';
import { alreadyExists, badRequest, conflict, invalid, notFound, notServed, Refusal, serverError } from './refusal.ts';
import { type RuleContext, Undecodable } from './rules.ts';
import { type Nulls, type Schema, type Settled, settle } from './schema.ts';
import type { Steps } from './steps.ts';
import { storageKey } from './storage-keys.ts';
import { type Store, storeId } from './store.ts';
import { typedViolation } from './typed.ts';
import { violations } from './validation.ts';

/** Where a write goes, by whom, and how. */
export interface WriteTarget {
  readonly kind: ServedKind;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource?: string | undefined;
  readonly manager: string;
  readonly dryRun: boolean;
  /** What becomes of undeclared fields: refused, dropped with a warning, or dropped. */
  readonly validation: 'Strict' | 'Warn' | 'Ignore';
  /** The content comes from a patch: then what cannot be decoded is the patch's fault. */
  readonly patched?: boolean;
  /** Asked after a patch: whether nobody owns what it changed. */
  readonly unowned?: () => boolean;
  /** The content was applied; with the namespace that it names. */
  readonly applied?: { readonly namespace: string };
  readonly user?: unknown;
  readonly options?: JsonObject;
  /** Gets warnings for the client. */
  readonly warn: (text: string) => void;
}

/** An answer with its HTTP code. */
export interface Written {
  readonly code: number;
  readonly object: JsonObject;
}

/** The server's way of writing: pruning, defaulting, validation, ownership, generation, finalizers. */
export interface Writer {
  create(target: WriteTarget, body: JsonObject): Steps<Written>;
  /** PUT. */
  replace(target: WriteTarget, body: JsonObject): Steps<Written>;
  /** Patches other than apply: `change` gets the current object. */
  patch(target: WriteTarget, change: (current: JsonObject) => JsonObject): Steps<Written>;
  apply(target: WriteTarget, body: JsonObject, force: boolean): Steps<Written>;
}

/** Another write came between the reading and the storing of an object: the server begins again. */
class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

/** How often a write that names no version begins again before its client is told of the conflict. */
const ATTEMPTS = 5;

/** Writes into a store. `now` is wall-clock time, `uid` makes identities. */
export function createWriter(store: Store, now: () => Date, uid: () => string, ports: ServerPorts = {}): Writer {
  const namespaces = (): ServedKind | undefined => {
    for (const [kind] of store.all()) if (kind.kind === 'Namespace' && kind.group === '') return kind;
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
  const contextOf = ({ version, subresource, dryRun, warn }: WriteTarget): RuleContext => ({
    version,
    subresource,
    dryRun,
    warn,
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
    const of_ = kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`;
    throw new Refusal({ code: 403, reason: 'Forbidden', message: `${of_} "${name}" is forbidden: ${said}`, details });
  }

  /** Lets admission change an object. What it makes of it is read like what a client sends. */
  function* mutated(target: WriteTarget, object: JsonObject, old: JsonObject | undefined): Steps<JsonObject> {
    if (ports.mutate === undefined) return object;
    const admission = admissionOf(target, object, old);
    const changed = yield* ports.mutate(admission);
    if (changed === admission.object) return object;
    return settled({ ...target, validation: 'Ignore' }, changed);
  }

  function* admitted(target: WriteTarget, object: JsonObject, old: JsonObject | undefined): Steps<void> {
    if (ports.validate !== undefined) yield* ports.validate(admissionOf(target, object, old));
  }

  /** The object as the version of the request has it, and as it is stored. */
  function* inVersion(object: JsonObject, { kind, version }: WriteTarget): Steps<JsonObject> {
    if (ports.convert === undefined || ports.converts?.(kind) !== true) return object;
    const [converted = object] = yield* ports.convert(kind, [object], version);
    return without(converted, 'apiVersion', 'kind');
  }

  function* storable(object: JsonObject, { kind, version }: WriteTarget): Steps<JsonObject> {
    if (ports.convert === undefined || ports.converts?.(kind) !== true) return object;
    const [converted = object] = yield* ports.convert(kind, [served(object, kind, version)], kind.storageVersion ?? '');
    return converted;
  }

  function* created(target: WriteTarget, object: JsonObject): Steps<Written> {
    const { kind, version } = target;
    openNamespace(target, nameOf(object));
    const bare = without(object, 'apiVersion', 'kind', ...(kind.status ? ['status'] : []));
    const admissible = yield* mutated(target, bare, undefined);
    const made = born(admissible, kind, target.namespace, uid(), time());
    const context = contextOf(target);
    const whole = kind.rules?.create?.(named(kind, made), context) ?? named(kind, made);
    validate(target, whole, undefined);
    yield* admitted(target, whole, undefined);
    const id = storeId(kind.namespaced ? target.namespace : undefined, nameOf(whole));
    const stored = yield* storable(whole, target);
    // Whoever was asked in between may have taken their time.
    openNamespace(target, nameOf(whole));
    const existing = store.get(kind, id);
    if (existing !== undefined) {
      throw alreadyExists(kind, nameOf(whole), metadataOf(existing)['deletionTimestamp'] !== undefined);
    }
    if (target.dryRun) return { code: 201, object: served(whole, kind, version) };
    const now = store.put(kind, id, stored);
    return { code: 201, object: served(answerOf(whole, now), kind, version) };
  }

  /** Everything that happens to a changed object after its new content is known. */
  function* changed(
    target: WriteTarget,
    stored: JsonObject,
    current: JsonObject,
    asked: JsonObject,
    owners?: JsonObject,
  ): Steps<Written> {
    const { kind, version, subresource } = target;
    const { resourceVersion } = metadataOf(asked);
    const guarded = resourceVersion !== undefined && resourceVersion !== '';
    if (guarded && resourceVersion !== metadataOf(current)['resourceVersion']) throw conflict(kind, target.name);
    const base = kept(current, without(asked, 'apiVersion', 'kind'), kind);
    const half = subresource === 'status' ? statusOf(current, base, kind) : specOf(current, base, kind);
    const recorded =
      owners === undefined
        ? // A status write leaves metadata as it is, but what it says about metadata is what its author owns or gives up.
          recordUpdate(
            current,
            subresource === 'status' && kind.rules?.statusKeeps === 'metadata'
              ? half
              : withMetadata(half, metadataOf(base)),
            kind.schema(version),
            managerOf(target, 'Update'),
            time(),
          )
        : owners;
    const list = listOf(metadataOf(recorded)['managedFields']);
    const entries =
      target.unowned?.() === true ? list.filter((one) => objectOf(one)['subresource'] !== subresource) : list;
    // The server forgets all owners when it cannot tell them: a value has a wrong type in the half that is not written.
    const untold = owners === undefined && !isTyped(target, asked);
    const admissible = withMetadata(half, {
      ...metadataOf(half),
      managedFields: untold || entries.length === 0 ? undefined : entries,
    });
    const mine = yield* mutated(target, admissible, current);
    const own = mine === admissible ? admissible : kept(current, mine, kind);
    const owned = generated(current, kind.rules?.update?.(own, current, contextOf(target)) ?? own, kind);
    validate(target, owned, current);
    yield* admitted(target, owned, current);
    const answer = (object: JsonObject): Written => ({ code: 200, object: served(object, kind, version) });
    const unchanged = isUnchanged(current, owned);
    const put = unchanged ? stored : yield* storable(owned, target);
    const id = idOf(target);
    if (store.get(kind, id) !== stored) {
      if (guarded) throw conflict(kind, target.name);
      throw new Overtaken();
    }
    if (unchanged) return answer(current);
    if (target.dryRun) return answer(owned);
    const { deletionTimestamp, finalizers, deletionGracePeriodSeconds } = metadataOf(owned);
    if (
      deletionTimestamp !== undefined &&
      listOf(finalizers).length === 0 &&
      (deletionGracePeriodSeconds === undefined || deletionGracePeriodSeconds === 0) &&
      // A namespace stays until its own finalizers, too, are gone.
      (!isNamespace(kind) || listOf(objectOf(owned['spec'])['finalizers']).length === 0)
    ) {
      store.remove(kind, id);
      return answer(owned);
    }
    return answer(answerOf(owned, store.put(kind, id, put)));
  }

  function found(target: WriteTarget): JsonObject {
    if (target.subresource === 'status' && !target.kind.status) throw notServed();
    const object = store.get(target.kind, idOf(target));
    if (object === undefined) throw notFound(target.kind, target.name);
    return object;
  }

  /** Begins again when another write was faster, as the server does for clients that name no version. */
  function* again(target: WriteTarget, attempt: () => Steps<Written>): Steps<Written> {
    for (let left = ATTEMPTS; ; left -= 1) {
      try {
        return yield* attempt();
      } catch (error) {
        if (!(error instanceof Overtaken)) throw error;
        if (left <= 1) throw conflict(target.kind, target.name);
      }
    }
  }

  return {
    *create(target, body) {
      if (metadataOf(body)['resourceVersion']) {
        throw serverError('resourceVersion should not be set on objects to be created');
      }
      // A status is dropped, so nobody owns it.
      const whole = withoutTwins(target, settled(target, body));
      const object = bareBirth(target.kind.status ? without(whole, 'status') : whole);
      inNamespace(target, body);
      const as = managerOf(target, 'Update');
      const told = isTyped(target, whole)
        ? recordUpdate(nothing(target.kind), object, target.kind.schema(target.version), as, time())
        : object;
      return yield* created(target, told);
    },
    replace: (target, body) =>
      again(target, function* () {
        const { kind, name } = target;
        const asked = withoutTwins(target, settled(target, body));
        checkName(target, body);
        inNamespace(target, body);
        const metadata = metadataOf(body);
        const absent = target.subresource === undefined && store.get(kind, idOf(target)) === undefined;
        if (kind.createOnPut === true && absent) {
          if (metadata['uid'] !== undefined) throw staleUid(target, metadata['uid'], '');
          const object = bareBirth(kind.status ? without(asked, 'status') : asked);
          const as = managerOf(target, 'Update');
          return yield* created(target, recordUpdate(nothing(kind), object, kind.schema(target.version), as, time()));
        }
        const stored = found(target);
        const current = yield* inVersion(stored, target);
        if (metadata['uid'] !== undefined && metadata['uid'] !== metadataOf(current)['uid']) {
          throw staleUid(target, metadata['uid'], metadataOf(current)['uid']);
        }
        if (!metadata['resourceVersion'] && (!kind.builtIn || kind.rules?.guarded === true)) {
          const message = 'Invalid value: 0: must be specified for an update';
          const cause = { reason: 'FieldValueInvalid', message, field: 'metadata.resourceVersion' };
          throw invalid(kind, name, [cause], kind.plural);
        }
        return yield* changed(target, stored, current, asked);
      }),
    patch: (target, change) =>
      again(target, function* () {
        const stored = found(target);
        const current = yield* inVersion(stored, target);
        const patched = { ...target, patched: true };
        const made = change(served(current, target.kind, target.version));
        checkKind(patched, made);
        const asked = settled(patched, made);
        checkName(target, asked);
        const { resourceVersion } = metadataOf(asked);
        // A patch that leaves the version as it found it names none.
        const same = resourceVersion === metadataOf(current)['resourceVersion'];
        const free = same ? withMetadata(asked, without(metadataOf(asked), 'resourceVersion')) : asked;
        return yield* changed(patched, stored, current, free);
      }),
    apply: (target, body, force) =>
      again(target, function* () {
        const { kind, version } = target;
        checkApplied(target, body);
        const schema = kind.schema(version);
        const as = { ...managerOf(target, 'Apply'), force };
        if (target.subresource !== undefined && !kind.builtIn) found(target);
        const wrong = typedViolation(body, schema);
        if (wrong !== undefined) {
          const { namespace } = metadataOf(body);
          const of = `${kind.group}/${version}, Kind=${kind.kind}`;
          const type = `${typeof namespace === 'string' ? namespace : ''}/${nameOf(body)}; ${of}`;
          throw serverError(`failed to create typed patch object (${type}): ${wrong}`);
        }
        if (target.subresource !== undefined) found(target);
        const from = { namespace: shown(metadataOf(body)['namespace'] ?? '') };
        const reading = { ...target, applied: from };
        const checkPlace = (): void => {
          if (nameOf(body) !== '') checkName(target, body);
          inNamespace(target, body);
        };
        const want = appliedHalf(target, body);
        if (target.subresource === undefined && store.get(kind, idOf(target)) === undefined) {
          const bare = withMetadata(want, {
            ...metadataOf(want),
            namespace: target.namespace,
            resourceVersion: undefined,
          });
          const object = bareBirth(bare);
          const owners = applied({}, want, schema, as, time());
          const { managedFields } = metadataOf(owners);
          const owned = withMetadata(object, { ...metadataOf(object), managedFields });
          const made = settled(reading, owned, 'keep');
          checkName(target, body);
          checkPlace();
          return yield* created(target, made);
        }
        const stored = found(target);
        const current = yield* inVersion(stored, target);
        // What is not written of an applied object counts as a change of it all the same.
        const other = target.subresource === undefined && kind.status && 'status' in body;
        const how = { ...as, touches: other && !jsonEqual(body['status'] ?? null, current['status']) };
        const next = applied(served(current, kind, version), want, schema, how, time(), appliedHalf(target, current));
        const { uid: id, resourceVersion } = metadataOf(body);
        const asked = withMetadata(next, { ...metadataOf(next), uid: id, resourceVersion });
        const made = settled(reading, asked, 'keep');
        checkPlace();
        // What an apply without a name makes of an object has none, unless it makes nothing.
        if (nameOf(body) === '' && !isSameBut(next, current, 'managedFields')) checkName(target, body);
        return yield* changed(target, stored, current, made, next);
      }),
  };
}

/** Whether two objects differ in nothing but one field of their metadata. */
function isSameBut(one: JsonObject, other: JsonObject, field: string): boolean {
  const bare = (object: JsonObject): JsonObject =>
    withMetadata(without(object, 'apiVersion', 'kind'), without(metadataOf(object), field));
  return jsonEqual(bare(one), bare(other));
}

/** Whether the server can tell the fields of an object: else it notes no owners. */
function isTyped({ kind, version }: WriteTarget, object: JsonObject): boolean {
  return typedViolation(object, kind.schema(version), 'taken') === undefined;
}

/** An object that names each owner once. */
function withoutTwins(target: WriteTarget, object: JsonObject): JsonObject {
  const metadata = metadataOf(object);
  const owners = listOf(metadata['ownerReferences']);
  const unique = owners.filter((one, at) => owners.findIndex((other) => jsonEqual(one, other)) === at);
  if (unique.length === owners.length) return object;
  const twins = owners.filter((one) => !unique.includes(one)).map((one) => shown(objectOf(one)['uid']));
  target.warn(`${TWINS}; duplicate UID(s) observed: ${[...new Set(twins)].join(', ')}`);
  return withMetadata(object, { ...metadata, ownerReferences: unique });
}

const TWINS =
  '.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests';

/** What a new object is compared with. */
function nothing({ rules }: ServedKind): JsonObject {
  return without(rules?.empty?.() ?? {}, 'metadata');
}

/** 409: the object is another one than the writer had seen. */
function staleUid({ kind, namespace, name, dryRun }: WriteTarget, asked: unknown, uid: unknown): Refusal {
  const key = storageKey(kind, namespace, name, dryRun);
  const said = `UID in precondition: ${shown(asked)}, UID in object meta: ${shown(uid)}`;
  const stale = `invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed`;
  return conflict(kind, name, `StorageError: ${stale}: ${said}`);
}

function isNamespace({ kind, group }: ServedKind): boolean {
  return kind === 'Namespace' && group === '';
}

/** What was written, with the version it got. */
function answerOf(object: JsonObject, stored: JsonObject): JsonObject {
  return withMetadata(object, { ...metadataOf(object), resourceVersion: metadataOf(stored)['resourceVersion'] });
}

function admissionOf(target: WriteTarget, object: JsonObject, old: JsonObject | undefined): Admission {
  const { kind, version, namespace, name, subresource, dryRun, user, options = {}, warn } = target;
  return {
    operation: old === undefined ? 'CREATE' : 'UPDATE',
    kind,
    version,
    namespace,
    name: name === '' ? nameOf(object) : name,
    subresource,
    object: served(object, kind, version),
    old: old === undefined ? undefined : served(old, kind, version),
    options,
    dryRun,
    user,
    warn,
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
  const { value, unknown } = read(target, object, nulls);
  decoded(target, value);
  if (unknown.length > 0 && target.validation !== 'Ignore') {
    const list = unknown.map((field) => (field.includes(' ') ? field : `unknown field "${field}"`));
    if (target.validation === 'Strict') throw undecodable(target, `strict decoding error: ${list.join(', ')}`, object);
    for (const one of list) target.warn(one);
  }
  return kind.builtIn && kind.rules?.read === undefined ? withoutEmptyMaps(value, kind.schema(version)) : value;
}

function read(target: WriteTarget, object: JsonObject, nulls: Nulls): Settled {
  const { kind, version } = target;
  if (kind.rules?.read === undefined) return settle(object, kind.schema(version), kind.builtIn ? 'empty' : nulls);
  try {
    return kind.rules.read(object, version, nulls);
  } catch (error) {
    throw error instanceof Undecodable ? undecodable(target, error.message, object) : error;
  }
}

/** What the types of a kind cannot hold: the patch's fault, or that of the whole request. */
function undecodable(target: WriteTarget, said: string, object: JsonObject): Refusal {
  const { kind, version, patched, applied: apply } = target;
  // Applied objects are not read from JSON.
  const [, float] = /cannot unmarshal number \d+\.\d+ into .* of type (int\d+)$/.exec(said) ?? [];
  if (apply !== undefined && kind.builtIn) {
    const of = `${kind.group}/${version}, Kind=${kind.kind}`;
    const what = `new object (${apply.namespace}/${nameOf(object)}; ${of}) to proper version`;
    return serverError(
      `failed to convert ${what}: unable to convert unstructured object to ${of}: ${float === undefined ? said : `cannot convert float64 to ${float}`}`,
    );
  }
  if (patched === true) {
    const text = JSON.stringify(exactText(sortedKeys(object)));
    const cause = { reason: 'FieldValueInvalid', message: `Invalid value: ${text}: ${said}`, field: 'patch' };
    return invalid({ group: '', kind: '', plural: '' }, '', [cause]);
  }
  return badRequest(`${kind.kind} in version "${version}" cannot be handled as a ${kind.kind}: ${said}`);
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

function statusOf(current: JsonObject, asked: JsonObject, { rules }: ServedKind): JsonObject {
  const keeps = rules?.read === undefined ? 'metadata' : rules.statusKeeps;
  const { labels } = metadataOf(current);
  const metadata = { ...metadataOf(asked), ...(keeps === 'labels' ? { labels } : {}) };
  const whole = keeps === 'metadata' ? current : withMetadata(current, metadata);
  const rest = without(whole, 'status');
  return 'status' in asked ? { ...rest, status: asked['status'] } : rest;
}

function validate(target: WriteTarget, object: JsonObject, old: JsonObject | undefined): void {
  const { kind, version, subresource, dryRun, warn } = target;
  const { rules } = kind;
  const ofMetadata = metadataViolations(object, kind);
  const context = {
    version,
    subresource,
    dryRun,
    warn,
    metadataRefused: ofMetadata.some(({ reason }) => reason === 'FieldValueRequired'),
  };
  const found = rules?.violations?.(object, old, context) ?? [
    ...dataViolations(object, kind),
    ...violations(object, kind.schema(version), '', old),
  ];
  // The server checks the metadata of custom objects that change again and again.
  const again = old === undefined || kind.builtIn ? ofMetadata : ofMetadata.flatMap((one) => [one, one, one]);
  const causes = [...again, ...found.filter((one) => one.reason !== DUPLICATE || !inMetadata(one))];
  if (causes.length > 0) throw invalid(kind.storedAs ?? kind, nameOf(object), causes);
  for (const text of rules?.warnings?.(object, old, context) ?? []) target.warn(text);
}

/** Go's types of the lists in metadata. */
const LISTS: Readonly<Record<string, string>> = {
  finalizers: '[]string',
  managedFields: '[]v1.ManagedFieldsEntry',
  ownerReferences: '[]v1.OwnerReference',
};

const DUPLICATE = 'FieldValueDuplicate';

/** Metadata of custom kinds is not checked by their schema. */
function inMetadata({ field = '' }: StatusCause): boolean {
  return field.startsWith('metadata.');
}

/** Metadata, and the types of Kubernetes itself, are decoded before anything else happens to an object. */
function decoded(target: WriteTarget, object: JsonObject): void {
  const { kind, version } = target;
  if (kind.rules?.read !== undefined) return;
  const schema = kind.builtIn ? kind.schema(version) : { type: 'object', properties: { metadata: METADATA } };
  const [mistyped] = violations(object, schema, '')
    .filter((one) => one.reason === 'FieldValueTypeInvalid')
    // Objects are read with their keys sorted.
    .toSorted((a, b) => ((a.field ?? '') < (b.field ?? '') ? -1 : 1));
  if (mistyped === undefined) return;
  const [, given = ''] = /"(\w+)"$/.exec(mistyped.message ?? '') ?? [];
  const [, wanted = ''] = /of type (\w+)/.exec(mistyped.message ?? '') ?? [];
  const { field = '' } = mistyped;
  const [holder, name = '', inner] = field.split('.');
  const json = given === 'integer' ? 'number' : given === 'boolean' ? 'bool' : given;
  const map = wanted === 'object' && inner === undefined ? 'map[string]string' : (LISTS[name] ?? wanted);
  if (field === 'metadata') {
    const said = `json: cannot unmarshal ${json} into Go value of type v1.ObjectMeta`;
    throw undecodable(target, said, object);
  }
  const where = holder === 'metadata' ? `ObjectMeta.${name.replace(/\[\d+\]/g, '')}` : `${kind.kind}.${field}`;
  throw undecodable(target, `json: cannot unmarshal ${json} into Go struct field ${where} of type ${map}`, object);
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

function inNamespace({ kind, namespace }: WriteTarget, body: JsonObject): void {
  const given = metadataOf(body)['namespace'];
  if (!kind.namespaced || namespace === undefined || given === undefined || given === '' || given === namespace) return;
  throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

/** A patch must not make an object of another kind. */
function checkKind(target: WriteTarget, object: JsonObject): void {
  const { kind } = target;
  const given = object['kind'];
  if (typeof given !== 'string' || given === '' || given === kind.kind) return;
  if (kind.builtIn) {
    const said = `no kind ${JSON.stringify(given)} is registered for version ${JSON.stringify(apiVersion(target))} in scheme "pkg/runtime/scheme.go:110"`;
    throw undecodable(target, said, object);
  }
  const message = `Invalid value: ${JSON.stringify(given)}: must be ${kind.kind}`;
  throw invalid({ ...kind, kind: given }, target.name, [{ reason: 'FieldValueInvalid', message, field: 'kind' }]);
}

function checkName({ name }: WriteTarget, body: JsonObject): void {
  const given = nameOf(body);
  if (given === '')
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (given !== name)
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
}

function checkApplied(target: WriteTarget, body: JsonObject): void {
  const [group, version] = shown(body['apiVersion'] ?? '/').split('/');
  if (body['apiVersion'] !== apiVersion(target) || body['kind'] !== target.kind.kind) {
    throw badRequest(`invalid object type: ${group ?? ''}/${version ?? ''}, Kind=${shown(body['kind'] ?? '')}`);
  }
  if (metadataOf(body)['managedFields'] !== undefined) throw badRequest('metadata.managedFields must be nil');
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
  if (!isNamespace(kind)) return object;
  const metadata = metadataOf(object);
  const labels = { ...objectOf(metadata['labels']), 'kubernetes.io/metadata.name': nameOf(object) };
  return {
    ...withMetadata(object, { ...metadata, labels }),
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  };
}
