import { readJson } from '@drydock/api';
import { orUndefined } from '../errors.ts';

/** A JSON object as the API server sent it. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A path into a JSON object. */
export type JsonPath = readonly string[];

/** The value of a JSON text; undefined where it is none. */
export function parsedJson(source: string): unknown {
  return orUndefined(() => readJson(source));
}

/** Whether a value is an object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object; an empty one where it is none. */
export function object(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** The list; an empty one where it is none. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The text; undefined where it is none, or empty. */
export function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The number; undefined where it is none. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** What stands at a path; undefined where nothing does. */
export function at(value: unknown, path: JsonPath): unknown {
  return path.reduce(
    (inner: unknown, key) => (Object.hasOwn(object(inner), key) ? object(inner)[key] : undefined),
    value,
  );
}

/** A copy in which only what stands at the path differs; objects on the way are made. A number is the place in a list. */
export function withLeaf(value: unknown, [key, ...rest]: readonly (string | number)[], leaf: unknown): unknown {
  if (key === undefined) return value;
  const put = (inner: unknown): unknown => (rest.length === 0 ? leaf : withLeaf(inner, rest, leaf));
  if (typeof key === 'number') return list(value).with(key, put(list(value)[key]));
  const inner = object(value);
  return { ...inner, [key]: put(inner[key]) };
}

/** The path that an RFC 6901 pointer means; undefined where it is none, or where it leads to nothing below `/spec/`. */
export function specPath(pointer: string): JsonPath | undefined {
  if (!pointer.startsWith('/spec/')) return undefined;
  const path = pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  // An index would mean another element tomorrow, and these names are no keys of anything.
  return path.some((part) => part === '' || /^\d+$|^-$|^__proto__$/.test(part)) ? undefined : path;
}

/** JSON in which keys are in order: equal values have equal texts. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}
