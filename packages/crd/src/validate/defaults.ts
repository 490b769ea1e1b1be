import { isList, isObject, type Json, own } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';

/** A null that is not allowed, or a field that is missing, and what takes its place; undefined: the null goes, and nothing comes. */
export interface Filled {
  readonly path: Path;
  readonly before: null | undefined;
  readonly after: Json | undefined;
}

/**
 * Fills in what is missing, as the API server does when it reads or writes an object (apiextensions-apiserver, pkg/apiserver/schema/defaulting): a null where null is not
 * allowed counts as missing, and goes where there is no default. The object is not changed. Each place that it changes is added to `filled`.
 */
export function applyDefaults(value: Json, schema: Schema | undefined, filled?: Filled[]): Json {
  return fill(value, schema, [], filled);
}

/** `path` is the same list everywhere, and copied where something is told; what is within a default is not told. */
function fill(value: Json, schema: Schema | undefined, path: (string | number)[], filled: Filled[] | undefined): Json {
  if (schema === undefined) return value;
  if (isList(value)) {
    const { items } = schema;
    if (items === undefined) return value;
    let changed: Json[] | undefined;
    for (let index = 0; index < value.length; index += 1) {
      const item = value[index] as Json;
      path.push(index);
      const isForbidden = isForbiddenNull(item, items);
      const after = isForbidden ? (defaultOf(items) ?? item) : fill(item, items, path, filled);
      if (isForbidden && after !== item) filled?.push({ path: [...path], before: null, after });
      path.pop();
      // Most objects lack nothing, and are not copied.
      if (after === item) continue;
      changed ??= [...value];
      changed[index] = after;
    }
    return changed ?? value;
  }
  if (!isObject(value)) return value;
  const { properties = {} } = schema;
  const additional = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  let changed: Map<string, Json> | undefined;
  const set = (key: string, after: Json | undefined): void => {
    changed ??= new Map(Object.entries(value));
    if (after === undefined) changed.delete(key);
    else changed.set(key, after);
  };
  for (const key of Object.keys(value)) {
    const inner = value[key] as Json;
    const of = own(properties, key) ?? additional;
    path.push(key);
    const isForbidden = isForbiddenNull(inner, of);
    const after = isForbidden ? defaultOf(of) : fill(inner, of, path, filled);
    if (isForbidden) filled?.push({ path: [...path], before: null, after });
    path.pop();
    if (after !== inner) set(key, after);
  }
  for (const key of defaulted(properties)) {
    if (Object.hasOwn(value, key)) continue;
    const after = defaultOf(properties[key]);
    filled?.push({ path: [...path, key], before: undefined, after });
    set(key, after);
  }
  return changed === undefined ? value : Object.fromEntries(changed);
}

/** The default of a node, whole. */
export function defaultOf(schema: Schema | undefined): Json | undefined {
  return schema?.default === undefined ? undefined : applyDefaults(schema.default, schema);
}

const NONE: readonly string[] = [];
const withDefaults = new WeakMap<object, readonly string[]>();

/** Names of properties that have a default. */
export function defaulted(properties: Readonly<Record<string, Schema>>): readonly string[] {
  let names = withDefaults.get(properties);
  if (names === undefined) {
    names = Object.keys(properties).filter((key) => properties[key]?.default !== undefined);
    withDefaults.set(properties, names.length === 0 ? NONE : names);
  }
  return names;
}

function isForbiddenNull(value: Json, schema: Schema | undefined): boolean {
  return value === null && schema !== undefined && schema.nullable !== true;
}
