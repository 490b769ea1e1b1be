import { isList, isObject, type Json, own } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';

/**
 * Fills in what is missing, as the API server does when it reads or writes an object (apiextensions-apiserver, pkg/apiserver/schema/defaulting): a null where null is not
 * allowed counts as missing, and goes where there is no default. The object is not changed.
 */
export function applyDefaults(value: Json, schema: Schema | undefined): Json {
  if (schema === undefined) return value;
  if (isList(value)) {
    const { items } = schema;
    if (items === undefined) return value;
    let changed: Json[] | undefined;
    for (let index = 0; index < value.length; index += 1) {
      const item = value[index] as Json;
      const filled = applyDefaults(isForbiddenNull(item, items) ? (items.default ?? item) : item, items);
      // Most objects lack nothing, and are not copied.
      if (filled === item) continue;
      changed ??= [...value];
      changed[index] = filled;
    }
    return changed ?? value;
  }
  if (!isObject(value)) return value;
  const { properties = {} } = schema;
  const additional = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  let changed: Map<string, Json> | undefined;
  const set = (key: string, filled: Json | undefined): void => {
    changed ??= new Map(Object.entries(value));
    if (filled === undefined) changed.delete(key);
    else changed.set(key, filled);
  };
  for (const key of Object.keys(value)) {
    const inner = value[key] as Json;
    const of = own(properties, key) ?? additional;
    if (!isForbiddenNull(inner, of)) {
      const filled = applyDefaults(inner, of);
      if (filled !== inner) set(key, filled);
    } else set(key, of?.default === undefined ? undefined : applyDefaults(of.default, of));
  }
  for (const key of defaulted(properties)) {
    const property = properties[key];
    if (property?.default !== undefined && !Object.hasOwn(value, key))
      set(key, applyDefaults(property.default, property));
  }
  return changed === undefined ? value : Object.fromEntries(changed);
}

const NONE: readonly string[] = [];
const withDefaults = new WeakMap<object, readonly string[]>();

/** Names of properties that have a default. */
function defaulted(properties: Readonly<Record<string, Schema>>): readonly string[] {
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
