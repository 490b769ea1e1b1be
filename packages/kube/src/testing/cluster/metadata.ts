import { randomBytes } from 'node:crypto';
import { jsonEqual } from '../../json/json-equal.ts';
import type { StatusCause } from '../../status-object.ts';
import { isObject, type JsonObject, listOf, objectOf, without } from './json.ts';
import type { ServedKind } from './kinds.ts';
import { badRequest, invalid } from './refusal.ts';

/** The object's metadata. */
export function metadataOf(object: JsonObject): JsonObject {
  return objectOf(object['metadata']);
}

/** The object's name; '' when it has none. */
export function nameOf(object: JsonObject): string {
  const { name } = metadataOf(object);
  return typeof name === 'string' ? name : '';
}

/** The object with other metadata. Undefined values are left out. */
export function withMetadata(object: JsonObject, metadata: JsonObject): JsonObject {
  const entries = Object.entries(metadata).filter(([, value]) => value !== undefined);
  return { ...object, metadata: Object.fromEntries(entries) };
}

/** RFC 3339 in whole seconds, as the server writes times into metadata. */
export function seconds(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_KEY = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** What is wrong with names and labels. */
export function metadataViolations(object: JsonObject): StatusCause[] {
  const metadata = metadataOf(object);
  const causes: StatusCause[] = [];
  const name = nameOf(object);
  if (name === '') {
    const message = 'Required value: name or generateName is required';
    causes.push({ reason: 'FieldValueRequired', message, field: 'metadata.name' });
  } else if (!SUBDOMAIN.test(name) || name.length > 253) {
    causes.push(
      wrong('metadata.name', name, 'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters'),
    );
  }
  for (const [key, value] of Object.entries(objectOf(metadata['labels']))) {
    if (!LABEL_KEY.test(key))
      causes.push(wrong('metadata.labels', key, 'name part must consist of alphanumeric characters'));
    if (!LABEL_VALUE.test(String(value))) {
      causes.push(
        wrong('metadata.labels', value, 'a valid label must be an empty string or consist of alphanumeric characters'),
      );
    }
  }
  return causes;
}

function wrong(field: string, value: unknown, said: string): StatusCause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(value)}: ${said}`, field };
}

/** What only the server writes. */
const SERVERS = [
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'selfLink',
];

/** Gives a new object what the server gives it. */
export function born(
  object: JsonObject,
  kind: ServedKind,
  namespace: string | undefined,
  uid: string,
  now: string,
): JsonObject {
  const given = without(metadataOf(object), ...SERVERS, 'resourceVersion');
  if (namespace !== undefined && given['namespace'] !== undefined && given['namespace'] !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  const { generateName } = given;
  const generated =
    typeof generateName === 'string' ? generateName + randomBytes(3).toString('hex').slice(0, 5) : undefined;
  return withMetadata(object, {
    ...tidy(given),
    name: given['name'] ?? generated,
    namespace: kind.namespaced ? namespace : undefined,
    uid,
    creationTimestamp: now,
    generation: kind.builtIn ? undefined : 1,
  });
}

/** Keeps what a write may not change, and refuses what it must not ask for. */
export function kept(current: JsonObject, next: JsonObject, kind: ServedKind): JsonObject {
  const was = metadataOf(current);
  const is = metadataOf(next);
  const name = nameOf(current);
  if (is['uid'] !== undefined && is['uid'] !== was['uid']) {
    throw invalid(kind, name, [wrong('metadata.uid', is['uid'], 'field is immutable')]);
  }
  const before = listOf(was['finalizers']);
  const added = listOf(is['finalizers']).filter((one) => !before.includes(one));
  if (was['deletionTimestamp'] !== undefined && added.length > 0) {
    const list = added.map((one) => JSON.stringify(one)).join(', ');
    const said = 'no new finalizers can be added if the object is being deleted, found new finalizers';
    const message = `Forbidden: ${said} []string{${list}}`;
    throw invalid(kind, name, [{ reason: 'FieldValueForbidden', message, field: 'metadata.finalizers' }]);
  }
  const servers = Object.fromEntries(SERVERS.map((key) => [key, was[key]]));
  const { namespace, resourceVersion } = was;
  return withMetadata(next, { ...tidy(is), ...servers, name, namespace, resourceVersion });
}

/** Empty maps and lists are absent, as in the server's own types. */
function tidy(metadata: JsonObject): JsonObject {
  const empty = (key: string, value: unknown): boolean =>
    value === null ||
    (MAPS.includes(key) && isObject(value) && Object.keys(value).length === 0) ||
    (LISTS.includes(key) && Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(metadata).filter(([key, value]) => !empty(key, value)));
}

const MAPS = ['labels', 'annotations'];
const LISTS = ['finalizers', 'ownerReferences', 'managedFields'];

/** A new generation if anything changed but metadata and, where it is written apart, status. Kinds of Kubernetes itself have none here. */
export function generated(current: JsonObject, next: JsonObject, kind: ServedKind): JsonObject {
  if (kind.builtIn) return next;
  const wanted = (object: JsonObject): JsonObject => without(object, 'metadata', ...(kind.status ? ['status'] : []));
  if (jsonEqual(wanted(current), wanted(next))) return next;
  return withMetadata(next, { ...metadataOf(next), generation: Number(metadataOf(current)['generation'] ?? 0) + 1 });
}
