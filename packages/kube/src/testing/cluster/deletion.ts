import { type JsonObject, listOf, objectOf, shown } from './json.ts';
import type { ServedKind } from './kinds.ts';
import { metadataOf, nameOf, seconds, withMetadata } from './metadata.ts';
import type { ServerPorts } from './ports.ts';
import { list, type ReadTarget } from './reads.ts';
import { conflict, invalidOptions, notFound, Refusal } from './refusal.ts';
import type { Steps } from './steps.ts';
import { type Store, storeId } from './store.ts';
import { served, type WriteTarget } from './writes.ts';

const ORPHANED =
  'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning';

const POLICIES = ['Foreground', 'Background', 'Orphan'];

/**
 * DELETE. An object with finalizers, or one that the garbage collector has to attend to first (`Foreground`, `Orphan`), is only marked; without a garbage
 * collector and a namespace controller their finalizers stay until somebody removes them.
 */
export function* remove(
  store: Store,
  target: WriteTarget,
  options: JsonObject,
  now: Date,
  ports: ServerPorts = {},
): Steps<{ code: number; body: JsonObject }> {
  const { kind, name } = target;
  const asked = policyOf(options);
  if (asked === undefined && kind.rules?.orphansByDefault === true && kind.kind === 'Job') target.warn(ORPHANED);
  const policy = asked ?? (kind.rules?.orphansByDefault === true ? 'Orphan' : undefined);
  const id = storeId(kind.namespaced ? target.namespace : undefined, name);
  for (;;) {
    const found = store.get(kind, id);
    if (found === undefined) throw notFound(kind, name);
    guard(kind, name, found, objectOf(options['preconditions']));
    yield* admitted(ports, target, found);
    if (store.get(kind, id) !== found) continue;
    const { code, object } = removed(store, target, found, policy, options['gracePeriodSeconds'], now);
    if (object === undefined) {
      const ended = kind.rules?.grace === undefined ? found : endedAt(found, seconds(now));
      const last = target.dryRun ? ended : lastState(ended, String(store.version));
      return { code, body: gone(kind, name, metadataOf(found)['uid'], last) };
    }
    const converts = ports.converts?.(kind) === true ? ports.convert : undefined;
    const [body = object] = converts === undefined ? [] : yield* converts(kind, [object], target.version);
    return { code, body: served(body, kind, target.version) };
  }
}

/** DELETE of a collection: each object that is selected, as far as the server's limits for lists go. */
export function* removeAll(
  store: Store,
  read: ReadTarget,
  target: WriteTarget,
  options: JsonObject,
  now: Date,
  ports: ServerPorts = {},
): Steps<{ code: number; body: JsonObject }> {
  const { kind, version } = target;
  if (policyOf(options) === undefined && kind.kind === 'Job' && kind.rules?.orphansByDefault === true)
    target.warn(ORPHANED);
  const body = yield* list(store, read, ports);
  for (const object of listOf(body['items']).map(objectOf)) {
    const { namespace } = metadataOf(object);
    const one = { ...target, name: nameOf(object), namespace: typeof namespace === 'string' ? namespace : undefined };
    try {
      yield* remove(store, one, options, now, ports);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status.code !== 404) throw error;
    }
  }
  const apiVersion = kind.group === '' ? version : `${kind.group}/${version}`;
  return { code: 200, body: { ...body, apiVersion } };
}

function policyOf(options: JsonObject): unknown {
  const policy = options['propagationPolicy'];
  if (policy !== undefined && !POLICIES.includes(shown(policy))) {
    const listed = [...POLICIES, 'nil'].map((one) => `"${one}"`).join(', ');
    const message = `Unsupported value: "${shown(policy)}": supported values: ${listed}`;
    throw invalidOptions('DeleteOptions', 'propagationPolicy', 'FieldValueNotSupported', message);
  }
  if (options['orphanDependents'] === true || options['orphanDependents'] === 'true') return 'Orphan';
  return policy;
}

function* admitted(ports: ServerPorts, target: WriteTarget, found: JsonObject): Steps<void> {
  const { kind, version, namespace, name, dryRun, user, options = {}, warn } = target;
  const old = served(found, kind, version);
  const admission = { operation: 'DELETE', kind, version, namespace, name, subresource: undefined } as const;
  const whole = { ...admission, object: undefined, old, options, dryRun, user, warn };
  if (ports.mutate !== undefined) yield* ports.mutate(whole);
  if (ports.validate !== undefined) yield* ports.validate(whole);
}

/** Removes or marks an object; `object` is what is left of it. */
function removed(
  store: Store,
  target: WriteTarget,
  found: JsonObject,
  policy: unknown,
  asked: unknown,
  now: Date,
): { readonly code: number; readonly object: JsonObject | undefined } {
  const { kind, name, dryRun } = target;
  const id = storeId(kind.namespaced ? target.namespace : undefined, name);
  const metadata = metadataOf(found);
  const present = listOf(metadata['finalizers']);
  const finalizers = kind.rules?.ownsNothing === true ? present : finalizersFor(present, policy);
  const already = metadata['deletionTimestamp'] !== undefined;
  const own = already ? undefined : kind.rules?.deleted?.(found, seconds(now));
  if (own !== undefined) return { code: 200, object: dryRun ? own : store.put(kind, id, own) };
  const grace = kind.rules?.grace?.(found, typeof asked === 'number' ? asked : undefined) ?? 0;
  const namespace = kind.kind === 'Namespace' && kind.group === '';
  if (finalizers.length === 0 && grace === 0 && !namespace) {
    // Of kinds with a grace, who watches sees first that it is over.
    if (!dryRun && kind.rules?.grace !== undefined) store.put(kind, id, endedAt(found, seconds(now)));
    if (!dryRun) store.remove(kind, id);
    return { code: 200, object: undefined };
  }
  const left = metadata['deletionGracePeriodSeconds'];
  const settled = typeof left !== 'number' || grace >= left;
  if (already && settled && finalizers.join() === present.join()) return { code: 200, object: found };
  const generation = metadata['generation'];
  const marked = withMetadata(terminating(kind, found), {
    ...metadata,
    ...(already && settled
      ? {}
      : {
          deletionTimestamp: seconds(new Date(now.getTime() + grace * 1000)),
          ...(namespace ? {} : { deletionGracePeriodSeconds: grace }),
        }),
    ...(typeof generation === 'number' && !already ? { generation: generation + 1 } : {}),
    ...(finalizers.length === 0 ? {} : { finalizers }),
  });
  return { code: 200, object: dryRun ? marked : store.put(kind, id, marked) };
}

/** An object whose grace was over at once. */
function endedAt(found: JsonObject, now: string): JsonObject {
  const metadata = metadataOf(found);
  if (metadata['deletionTimestamp'] !== undefined)
    return withMetadata(found, { ...metadata, deletionGracePeriodSeconds: 0 });
  const generation = Number(metadata['generation'] ?? 0) + 1;
  return withMetadata(found, { ...metadata, deletionTimestamp: now, deletionGracePeriodSeconds: 0, generation });
}

/** An object as it was removed: with the version of its removal, and no time left. */
function lastState(found: JsonObject, version: string): JsonObject {
  const metadata = metadataOf(found);
  const ended = metadata['deletionTimestamp'] === undefined ? {} : { deletionGracePeriodSeconds: 0 };
  return withMetadata(found, { ...metadata, ...ended, resourceVersion: version });
}

function guard(kind: ServedKind, name: string, object: JsonObject, when: JsonObject): void {
  const { uid, resourceVersion } = metadataOf(object);
  // Events of both groups are those of the core group in storage.
  const group = kind.storedAs?.group ?? kind.group;
  const as = { ...kind, group, plural: kind.kind };
  if (when['uid'] !== undefined && when['uid'] !== uid) {
    const said = `the UID in the precondition (${shown(when['uid'])}) does not match the UID in record (${shown(uid)})`;
    throw conflict(as, name, `${said}. The object might have been deleted and then recreated`);
  }
  const wanted = when['resourceVersion'];
  if (wanted !== undefined && wanted !== resourceVersion) {
    const said = `the ResourceVersion in the precondition (${shown(wanted)}) does not match the ResourceVersion in record`;
    throw conflict(as, name, `${said} (${shown(resourceVersion)}). The object might have been modified`);
  }
}

function finalizersFor(present: readonly unknown[], policy: unknown): readonly unknown[] {
  const others = present.filter((one) => one !== 'orphan' && one !== 'foregroundDeletion');
  switch (policy) {
    case 'Foreground':
      return [...others, 'foregroundDeletion'];
    case 'Orphan':
      return [...others, 'orphan'];
    case 'Background':
      return others;
    default:
      return present;
  }
}

function terminating(kind: ServedKind, object: JsonObject): JsonObject {
  if (kind.kind !== 'Namespace' || kind.group !== '') return object;
  return { ...object, status: { ...objectOf(object['status']), phase: 'Terminating' } };
}

function gone(
  { group, plural, rules, kind, versions }: ServedKind,
  name: string,
  uid: unknown,
  object: JsonObject,
): JsonObject {
  if (rules?.returnsDeleted === true) {
    return { kind, apiVersion: group === '' ? versions[0] : `${group}/${versions[0] ?? ''}`, ...object };
  }
  const details = { name, ...(group === '' ? {} : { group }), kind: plural, uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
