import { equal, isObject, type Json, type JsonObject } from '@drydock/crd';
import { objectIn, objectsIn, textIn, withField } from '../json.ts';
import type { ApplyOwner } from '../owner.ts';
import { combine, KEYED } from './combine.ts';

/** On everything that we made, with the name of its owner: after a crash it tells our objects from others of the same name. It counts only with an inventory that meant to make the object. */
export const MADE_BY = 'drydock.dev/made-by';

/** Metadata of a new object: what the manifest says, whose it is, and that we made it. */
export function newMetadata(wanted: JsonObject, owner: ApplyOwner | undefined, createOnly: boolean): JsonObject {
  const { name, namespace, labels, annotations, finalizers } = objectIn(wanted, 'metadata');
  const owners = mergedOwners([], ownersOf(wanted, owner, createOnly));
  const marked = owner === undefined ? {} : { [MADE_BY]: owner.name };
  const fields: Readonly<Record<string, Json | undefined>> = {
    name,
    namespace,
    labels: isObject(labels) ? labels : undefined,
    annotations: { ...(isObject(annotations) ? annotations : {}), ...marked },
    finalizers: Array.isArray(finalizers) ? (finalizers as readonly Json[]) : undefined,
    ownerReferences: owners.length === 0 ? undefined : owners,
  };
  const known = Object.entries(fields).filter(
    (entry): entry is [string, Json] => (entry[1] ?? undefined) !== undefined,
  );
  return Object.fromEntries(known);
}

/** Metadata of a live object: labels and annotations of the manifest are added, owners merged by uid; nothing is taken away. */
export function mergedMetadata(
  wanted: JsonObject,
  live: JsonObject,
  owner: ApplyOwner | undefined,
  createOnly: boolean,
): JsonObject {
  const [want, is] = [objectIn(wanted, 'metadata'), objectIn(live, 'metadata')];
  let merged = is;
  for (const field of ['labels', 'annotations']) {
    const value = combine(KEYED, want[field], is[field]);
    if (value !== is[field]) merged = withField(merged, field, value);
  }
  const before = objectsIn(is, 'ownerReferences');
  const owners = mergedOwners(before, ownersOf(wanted, owner, createOnly));
  return equal(owners, before) ? merged : withField(merged, 'ownerReferences', owners);
}

/** Who controls an object, unless it is this owner: its kind and name. */
export function otherController(live: JsonObject, owner: ApplyOwner | undefined): string | undefined {
  const controller = objectsIn(objectIn(live, 'metadata'), 'ownerReferences').find((one) => one['controller'] === true);
  if (controller === undefined || controller['uid'] === owner?.reference?.uid) return undefined;
  return `${textIn(controller, 'kind')} ${textIn(controller, 'name')}`;
}

/** Whether an owner made an object, by the references of the object. */
export function isOwnedBy(live: JsonObject, owner: ApplyOwner | undefined): boolean {
  const uid = owner?.reference?.uid;
  if (uid === undefined) return false;
  return objectsIn(objectIn(live, 'metadata'), 'ownerReferences').some((one) => one['uid'] === uid);
}

function ownersOf(wanted: JsonObject, owner: ApplyOwner | undefined, createOnly: boolean): readonly JsonObject[] {
  const named = objectsIn(objectIn(wanted, 'metadata'), 'ownerReferences');
  const { reference } = owner ?? {};
  if (reference === undefined) return named;
  const { apiVersion, kind, name, uid } = reference;
  return [...named, { apiVersion, kind, name, uid, ...(createOnly ? {} : { controller: true }) }];
}

function mergedOwners(before: readonly JsonObject[], more: readonly JsonObject[]): readonly JsonObject[] {
  const owners = [...before];
  for (const one of more) {
    const index = owners.findIndex(({ uid }) => uid === one['uid']);
    if (index < 0) owners.push(one);
    else owners[index] = { ...owners[index], ...one };
  }
  return owners;
}
