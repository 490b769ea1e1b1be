import { randomBytes } from 'node:crypto';
import { jsonEqual } from '../../json/json-equal.ts';
import type { StatusCause } from '../../status-object.ts';
import { isObject, type JsonObject, listOf, objectOf, without } from './json.ts';
import type { ServedKind } from './kinds.ts';
import { labelValueProblems, objectNameProblems, qualifiedNameProblems } from './object-names.ts';
import { invalid } from './refusal.ts';

export function metadataOf(object: JsonObject): JsonObject {
  return objectOf(object['metadata']);
}

/** The object's name; '' when it has none. */
export function nameOf(object: JsonObject): string {
  const { name } = metadataOf(object);
  return typeof name === 'string' ? name : '';
}

/** The object with other metadata. Undefined values are omitted. */
export function withMetadata(object: JsonObject, metadata: JsonObject): JsonObject {
  const entries = Object.entries(metadata).filter(([, value]) => value !== undefined);
  return { ...object, metadata: Object.fromEntries(entries) };
}

/** RFC 3339 in whole seconds, as the server writes times into metadata. */
export function seconds(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}

const ANNOTATION_BYTES = 256 * 1024;

/** What is wrong with names, labels, annotations and finalizers: the first problem of each. */
export function metadataViolations(object: JsonObject, kind: ServedKind): StatusCause[] {
  const metadata = metadataOf(object);
  const causes: StatusCause[] = [];
  const check = (field: string, value: unknown, problems: readonly string[]): void => {
    for (const problem of problems.slice(0, 1)) causes.push(wrong(`metadata.${field}`, value, problem));
  };
  const name = nameOf(object);
  if (name === '') {
    const message = 'Required value: name or generateName is required';
    causes.push({ reason: 'FieldValueRequired', message, field: 'metadata.name' });
  } else check('name', name, objectNameProblems(name, kind.rules?.names));
  for (const [key, value] of Object.entries(objectOf(metadata['labels']))) {
    check('labels', key, qualifiedNameProblems(key));
    check('labels', value, labelValueProblems(String(value)));
  }
  let size = 0;
  for (const [key, value] of Object.entries(objectOf(metadata['annotations']))) {
    check('annotations', key, qualifiedNameProblems(key.toLowerCase()));
    size += key.length + String(value).length;
  }
  if (size > ANNOTATION_BYTES) {
    const message = `Too long: may not be more than ${ANNOTATION_BYTES} bytes`;
    causes.push({ reason: 'FieldValueTooLong', message, field: 'metadata.annotations' });
  }
  for (const finalizer of listOf(metadata['finalizers'])) {
    check('finalizers', finalizer, qualifiedNameProblems(String(finalizer)));
  }
  return causes;
}

function wrong(field: string, value: unknown, said: string): StatusCause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(value)}: ${said}`, field };
}

/** Metadata that only the server writes. */
const SERVER_FIELDS = [
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'selfLink',
];

/** A new object without the metadata that only the server writes. */
export function withoutServerFields(object: JsonObject): JsonObject {
  return withMetadata(object, withoutEmpty(without(metadataOf(object), ...SERVER_FIELDS, 'resourceVersion')));
}

/** A new object with a name, a namespace, a UID, a time of creation and a generation. */
export function withNewMetadata(
  object: JsonObject,
  kind: ServedKind,
  namespace: string | undefined,
  uid: string,
  now: string,
): JsonObject {
  const given = without(metadataOf(object), ...SERVER_FIELDS, 'resourceVersion');
  const { generateName, name } = given;
  const wanted = (name === undefined || name === '') && typeof generateName === 'string' && generateName !== '';
  return withMetadata(object, {
    ...withoutEmpty(given),
    name: wanted ? generateName.slice(0, 58) + nameSuffix() : name,
    namespace: kind.namespaced ? namespace : undefined,
    uid,
    creationTimestamp: now,
    generation: hasGeneration(kind) ? 1 : undefined,
  });
}

/** Five random characters without vowels, as the server appends to `generateName`. */
function nameSuffix(): string {
  const letters = 'bcdfghjklmnpqrstvwxz2456789';
  return [...randomBytes(5)].map((byte) => letters[byte % letters.length]).join('');
}

function hasGeneration({ builtIn, rules }: ServedKind): boolean {
  return !builtIn || rules?.generation === true;
}

/** An object with the metadata that a write cannot change. Throws for a changed UID and for new finalizers of a deleted object. */
export function withKeptMetadata(current: JsonObject, next: JsonObject, kind: ServedKind): JsonObject {
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
  const servers = Object.fromEntries(SERVER_FIELDS.map((key) => [key, was[key]]));
  const { namespace, resourceVersion } = was;
  return withMetadata(next, { ...withoutEmpty(is), ...servers, name, namespace, resourceVersion });
}

/** Empty maps and lists are absent, as in the server's own types. */
function withoutEmpty(metadata: JsonObject): JsonObject {
  const empty = (key: string, value: unknown): boolean =>
    value === null ||
    (MAPS.includes(key) && isObject(value) && Object.keys(value).length === 0) ||
    (LISTS.includes(key) && Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(metadata).filter(([key, value]) => !empty(key, value)));
}

const MAPS = ['labels', 'annotations'];
const LISTS = ['finalizers', 'ownerReferences', 'managedFields'];

/** An object with the next generation, if anything but metadata and a status subresource changed. */
export function withGeneration(current: JsonObject, next: JsonObject, kind: ServedKind): JsonObject {
  if (!hasGeneration(kind)) return next;
  const wanted = (object: JsonObject): JsonObject => without(object, 'metadata', ...(kind.status ? ['status'] : []));
  if (jsonEqual(wanted(current), wanted(next))) return next;
  return withMetadata(next, { ...metadataOf(next), generation: Number(metadataOf(current)['generation'] ?? 0) + 1 });
}
