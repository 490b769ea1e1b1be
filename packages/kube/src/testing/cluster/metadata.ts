import { randomBytes } from 'node:crypto';
import { jsonEqual } from '../../json/json-equal.ts';
import type { StatusCause } from '../../status-object.ts';
import { isObject, type JsonObject, listOf, objectOf, without } from './json.ts';
import type { ServedKind } from './kinds.ts';
import { invalid } from './refusal.ts';
import type { KindRules } from './rules.ts';

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
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const LABEL_1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const KEY_NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

const SAID = {
  subdomain:
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  label:
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  dns1035:
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  key: "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  value:
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
} as const;

/** Why a name will not do; undefined: it will. */
export function nameProblem(name: string, rule: KindRules['names']): string | undefined {
  switch (rule) {
    case 'path':
      if (name === '.' || name === '..') return `may not be '${name}'`;
      return ['/', '%'].map((one) => (name.includes(one) ? `may not contain '${one}'` : '')).find((one) => one !== '');
    case 'label':
    case 'dns1035':
      if (name.length > 63) return 'must be no more than 63 characters';
      return (rule === 'label' ? LABEL : LABEL_1035).test(name) ? undefined : SAID[rule];
    default:
      if (name.length > 253) return 'must be no more than 253 characters';
      return SUBDOMAIN.test(name) ? undefined : SAID.subdomain;
  }
}

const EMPTY_NAME = 'name part must be non-empty';

/** All that is wrong with a qualified name: an empty one is refused twice. */
export function qualifiedNameProblems(key: string): readonly string[] {
  const problem = qualifiedNameProblem(key);
  return problem === undefined ? [] : problem === EMPTY_NAME ? [problem, SAID.key] : [problem];
}

/** Why a label key, an annotation key or a finalizer is no qualified name; undefined: it is one. */
export function qualifiedNameProblem(key: string): string | undefined {
  const [name = '', prefix, more] = key.split('/').toReversed();
  if (more !== undefined)
    return "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
  if (prefix === '') return 'prefix part must be non-empty';
  if (prefix !== undefined && !SUBDOMAIN.test(prefix)) return `prefix part ${SAID.subdomain}`;
  if (name === '') return EMPTY_NAME;
  if (name.length > 63) return 'name part must be no more than 63 characters';
  return KEY_NAME.test(name) ? undefined : SAID.key;
}

/** What is wrong with the owners of an object. */
function ownerViolations(owners: readonly unknown[]): readonly StatusCause[] {
  const field = 'metadata.ownerReferences';
  let controller = '';
  return owners.map(objectOf).flatMap((owner) => {
    const { apiVersion, kind, name } = owner;
    const version = typeof apiVersion === 'string' && apiVersion.split('/').length < 3 ? apiVersion : '';
    const empty = (key: string): readonly StatusCause[] =>
      (owner[key] ?? '') === '' ? [wrong(`${field}.${key}`, '', 'must not be empty')] : [];
    const said = `/v1, Kind=Event is disallowed from being an owner`;
    const known = ['apiVersion', 'kind', 'name', 'uid', 'controller', 'blockOwnerDeletion'];
    const shown = Object.fromEntries(known.filter((key) => key in owner).map((key) => [key, owner[key]]));
    const own = `${String(kind)}/${String(name)}`;
    const second = owner['controller'] === true && controller !== '';
    const both = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${own}`;
    if (owner['controller'] === true && controller === '') controller = own;
    return [
      ...(version === '' ? [wrong(`${field}.apiVersion`, apiVersion ?? '', 'version must not be empty')] : []),
      ...['kind', 'name', 'uid'].flatMap(empty),
      ...(version === 'v1' && kind === 'Event' ? [wrong(field, shown, said)] : []),
      ...(second ? [wrong(field, owners, both)] : []),
    ];
  });
}

/** Why a text is no value of a label; undefined: it is one. */
export function labelValueProblem(text: string): string | undefined {
  if (text.length > 63) return 'must be no more than 63 characters';
  return LABEL_VALUE.test(text) ? undefined : SAID.value;
}

const ANNOTATION_BYTES = 256 * 1024;

/** What is wrong with names, labels, annotations and finalizers. */
export function metadataViolations(object: JsonObject, kind: ServedKind): StatusCause[] {
  const metadata = metadataOf(object);
  const causes: StatusCause[] = [];
  const name = nameOf(object);
  if (name === '') {
    const message = 'Required value: name or generateName is required';
    causes.push({ reason: 'FieldValueRequired', message, field: 'metadata.name' });
  } else {
    const problem = nameProblem(name, kind.rules?.names);
    if (problem !== undefined) causes.push(wrong('metadata.name', name, problem));
  }
  for (const [key, value] of Object.entries(objectOf(metadata['labels']))) {
    for (const problem of qualifiedNameProblems(key)) causes.push(wrong('metadata.labels', key, problem));
    const valueProblem = labelValueProblem(String(value));
    if (valueProblem !== undefined) causes.push(wrong('metadata.labels', value, valueProblem));
  }
  let size = 0;
  for (const [key, value] of Object.entries(objectOf(metadata['annotations']))) {
    for (const problem of qualifiedNameProblems(key.toLowerCase()))
      causes.push(wrong('metadata.annotations', key, problem));
    size += key.length + String(value).length;
  }
  if (size > ANNOTATION_BYTES) {
    const message = `Too long: may not be more than ${ANNOTATION_BYTES} bytes`;
    causes.push({ reason: 'FieldValueTooLong', message, field: 'metadata.annotations' });
  }
  for (const finalizer of listOf(metadata['finalizers'])) {
    for (const problem of qualifiedNameProblems(String(finalizer)))
      causes.push(wrong('metadata.finalizers', finalizer, problem));
  }
  causes.push(...ownerViolations(listOf(metadata['ownerReferences'])));
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

/** A new object without what only the server writes. */
export function bareBirth(object: JsonObject): JsonObject {
  return withMetadata(object, tidy(without(metadataOf(object), ...SERVERS, 'resourceVersion')));
}

/** Gives a new object what the server gives it. */
export function born(
  object: JsonObject,
  kind: ServedKind,
  namespace: string | undefined,
  uid: string,
  now: string,
): JsonObject {
  const given = without(metadataOf(object), ...SERVERS, 'resourceVersion');
  const { generateName, name } = given;
  const wanted = (name === undefined || name === '') && typeof generateName === 'string' && generateName !== '';
  return withMetadata(object, {
    ...tidy(given),
    name: wanted ? generateName.slice(0, 58) + suffix() : name,
    namespace: kind.namespaced ? namespace : undefined,
    uid,
    creationTimestamp: now,
    generation: counts(kind) ? 1 : undefined,
  });
}

/** Five characters that spell no word, as the server draws them. */
function suffix(): string {
  const letters = 'bcdfghjklmnpqrstvwxz2456789';
  return [...randomBytes(5)].map((byte) => letters[byte % letters.length]).join('');
}

/** Whether a kind has a generation. */
function counts({ builtIn, rules }: ServedKind): boolean {
  return !builtIn || rules?.generation === true;
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
    const cause = { reason: 'FieldValueForbidden', message, field: 'metadata.finalizers' };
    throw invalid(kind, name, kind.builtIn ? [cause] : [cause, cause]);
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
  if (!counts(kind)) return next;
  const wanted = (object: JsonObject): JsonObject => without(object, 'metadata', ...(kind.status ? ['status'] : []));
  if (jsonEqual(wanted(current), wanted(next))) return next;
  return withMetadata(next, { ...metadataOf(next), generation: Number(metadataOf(current)['generation'] ?? 0) + 1 });
}
