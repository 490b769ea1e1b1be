import { hash } from 'node:crypto';
import { isObject, type Json, type JsonObject, jsonText } from '@drydock/crd';
import { type KubeObject, withExact } from '@drydock/kube';

/** No real object has as many levels; servers take ten thousand of them, and each costs stack to walk. */
const DEEP = 300;

const exact = new WeakMap<object, JsonObject>();

/** A live object as JSON: integers beyond 2^53 with all their digits. The same each time. */
export function asJson(object: KubeObject): JsonObject {
  const known = exact.get(object);
  if (known !== undefined) return known;
  const json = withExact(object, BigInt) as JsonObject;
  exact.set(object, json);
  return json;
}

/** A field of the object itself, never what every object inherits. */
export function own(object: JsonObject, field: string): Json | undefined {
  return Object.hasOwn(object, field) ? object[field] : undefined;
}

/** The object in a field; empty where there is none. */
export function objectIn(object: JsonObject, field: string): JsonObject {
  const value = own(object, field);
  return isObject(value) ? value : {};
}

/** The text in a field; '' where there is none. */
export function textIn(object: JsonObject, field: string): string {
  const value = own(object, field);
  return typeof value === 'string' ? value : '';
}

/** The objects of the list in a field, without what is none. */
export function objectsIn(object: JsonObject, field: string): readonly JsonObject[] {
  const list = own(object, field);
  return Array.isArray(list) ? list.filter((one: Json) => isObject(one)) : [];
}

/** What is at a path; undefined where it does not lead anywhere. */
export function at(object: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = object;
  for (const field of path) value = isObject(value) ? own(value, field) : undefined;
  return value;
}

/** The object with another value in a field; undefined takes the field out. */
export function withField(object: JsonObject, field: string, value: Json | undefined): JsonObject {
  return withFields(object, [[field, value]]);
}

/** The object with other values in some fields; undefined takes a field out. One copy, however many they are, and the object itself where it has them all. */
export function withFields(
  object: JsonObject,
  fields: Iterable<readonly [field: string, value: Json | undefined]>,
): JsonObject {
  let copy: Record<string, Json> | undefined;
  for (const [field, value] of fields) {
    if (own(copy ?? object, field) === value) continue;
    copy ??= { ...object };
    if (value === undefined) delete copy[field];
    // A field may be called `__proto__`.
    else Object.defineProperty(copy, field, { value, enumerable: true, configurable: true, writable: true });
  }
  return copy ?? object;
}

/** The object with another value at a path; undefined takes it out, and leaves no objects behind that are empty for it. */
export function withAt(object: JsonObject, path: readonly string[], value: Json | undefined): JsonObject {
  const [field, ...rest] = path;
  if (field === undefined) return isObject(value) ? value : {};
  if (rest.length === 0) return withField(object, field, value);
  const inner = withAt(objectIn(object, field), rest, value);
  return withField(object, field, Object.keys(inner).length === 0 ? undefined : inner);
}

/** Whether a value has more levels of lists and objects than any real object. */
export function isTooDeep(value: unknown, levels: number = DEEP): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  // Each object is looked through in each attempt: nothing is allocated for it.
  const fields = value as Readonly<Record<string, unknown>>;
  for (const field in fields) if (isTooDeep(fields[field], levels - 1)) return true;
  return false;
}

const digests = new WeakMap<object, string>();

/** Short texts of which the digest is kept: most labels and annotations of a payload have one of a few values. */
const MOST_TEXTS = 1_000;
const SHORT = 40;
const textDigests = new Map<string, string>();

/**
 * A short digest of a value: the same for the same JSON, whatever the order of its fields. What is nested deeper than any real object is all the same. Of an object or a list it is worked out once: nobody changes one
 * in place.
 */
export function digestOf(value: Json | undefined): string {
  if (typeof value === 'string' && value.length <= SHORT) return digestOfText(value);
  if (typeof value !== 'object' || value === null) return hashed(digested(value, DEEP));
  const known = digests.get(value);
  if (known !== undefined) return known;
  const digest = hashed(digested(value, DEEP));
  digests.set(value, digest);
  return digest;
}

function digestOfText(text: string): string {
  const known = textDigests.get(text);
  if (known !== undefined) return known;
  const digest = hashed(digested(text, DEEP));
  // Others choose the values of live objects.
  if (textDigests.size < MOST_TEXTS) textDigests.set(text, digest);
  return digest;
}

/** A short digest of an object as it is written: the same fields in another order have another one. It takes a quarter of the time of {@link digestOf}. */
export function textDigest(object: JsonObject): string {
  try {
    return hashed(JSON.stringify(object));
  } catch {
    // It has integers that only bigints hold, or is deeper than the stack.
    return hashed(digested(object, DEEP));
  }
}

function hashed(text: string): string {
  // At once: a hash that is fed with each name of a definition takes as long as sending it.
  return hash('sha256', text, 'base64url').slice(0, 16);
}

function digested(value: Json | undefined, levels: number): string {
  if (typeof value === 'string') return `${JSON.stringify(value)};`;
  if (typeof value !== 'object' || value === null) return `${isWide(value) ? BigInt(value) : jsonText(value ?? null)};`;
  if (levels === 0) return '…';
  let text: string;
  if (Array.isArray(value)) {
    text = `[${value.length}`;
    for (const item of value as readonly Json[]) text += digested(item, levels - 1);
    return text;
  }
  const object = value as JsonObject;
  const fields = sortedFields(object);
  text = `{${fields.length}`;
  for (const field of fields) text += JSON.stringify(field) + digested(object[field], levels - 1);
  return text;
}

/** Fields beyond which `sort` is worth what it allocates. */
const FEW = 24;

/** The fields of an object that have a value, by the order of their UTF-16 units. Most objects of a definition have a few: theirs are put in order in place. */
function sortedFields(object: JsonObject): readonly string[] {
  let fields = Object.keys(object);
  if (fields.some((field) => object[field] === undefined))
    fields = fields.filter((field) => object[field] !== undefined);
  if (fields.length > FEW) return fields.sort();
  for (let at = 1; at < fields.length; at += 1) {
    const field = fields[at] as string;
    let to = at;
    for (; to > 0 && (fields[to - 1] as string) > field; to -= 1) fields[to] = fields[to - 1] as string;
    fields[to] = field;
  }
  return fields;
}

/** A whole number that is written as a bigint where its digits were read. */
function isWide(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
}
