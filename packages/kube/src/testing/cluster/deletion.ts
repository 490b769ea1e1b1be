import { type JsonObject, listOf, objectOf, shown } from './json.ts';
import type { ServedKind } from './kinds.ts';
import { metadataOf, seconds, withMetadata } from './metadata.ts';
import { conflict, invalidOptions, notFound } from './refusal.ts';
import { type Store, storeId } from './store.ts';
import { served, type WriteTarget } from './writes.ts';

const POLICIES = ['Foreground', 'Background', 'Orphan'];

/**
 * DELETE. An object with finalizers, or one that the garbage collector has to attend to first (`Foreground`, `Orphan`), is only marked;
 * there is no garbage collector here, nor a namespace controller: their finalizers stay until the test removes them.
 */
export function remove(
  store: Store,
  target: WriteTarget,
  options: JsonObject,
  now: Date,
): { code: number; body: JsonObject } {
  const { kind, name, dryRun } = target;
  const policy = options['propagationPolicy'];
  if (policy !== undefined && !POLICIES.includes(shown(policy))) {
    const list = [...POLICIES, 'nil'].map((one) => `"${one}"`).join(', ');
    const message = `Unsupported value: "${shown(policy)}": supported values: ${list}`;
    throw invalidOptions('DeleteOptions', 'propagationPolicy', 'FieldValueNotSupported', message);
  }
  const id = storeId(kind.namespaced ? target.namespace : undefined, name);
  const found = store.get(kind, id);
  if (found === undefined) throw notFound(kind, name);
  guard(kind, name, found, objectOf(options['preconditions']));
  const metadata = metadataOf(found);
  const finalizers = finalizersFor(listOf(metadata['finalizers']), policy);
  if (finalizers.length === 0 && kind.plural !== 'namespaces') {
    if (!dryRun) store.remove(kind, id);
    return { code: 200, body: gone(kind, name, metadata['uid']) };
  }
  const answer = (object: JsonObject): { code: number; body: JsonObject } => ({
    code: 200,
    body: served(object, kind, target.version),
  });
  if (metadata['deletionTimestamp'] !== undefined) return answer(found);
  const generation = metadata['generation'];
  const marked = withMetadata(terminating(kind, found), {
    ...metadata,
    deletionTimestamp: seconds(now),
    ...(kind.plural === 'namespaces' ? {} : { deletionGracePeriodSeconds: 0 }),
    ...(typeof generation === 'number' ? { generation: generation + 1 } : {}),
    ...(finalizers.length === 0 ? {} : { finalizers }),
  });
  return answer(dryRun ? marked : store.put(kind, id, marked));
}

function guard(kind: ServedKind, name: string, object: JsonObject, when: JsonObject): void {
  const { uid, resourceVersion } = metadataOf(object);
  const as = { ...kind, plural: kind.kind };
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
  if (kind.plural !== 'namespaces') return object;
  return { ...object, status: { ...objectOf(object['status']), phase: 'Terminating' } };
}

function gone({ group, plural }: ServedKind, name: string, uid: unknown): JsonObject {
  const details = { name, ...(group === '' ? {} : { group }), kind: plural, uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
