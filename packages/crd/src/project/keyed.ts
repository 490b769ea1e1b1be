import { equal, isList, isObject, type Json, type JsonObject, own } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';

/**
 * A value that was written anew by somebody who had not seen an older one, with what that had under keys of its own: items of lists of type map, entries of maps. Of one key the newer one counts, and so it does of everything
 * without keys: a field of an object belongs to whoever writes the object. What is atomic has no keys.
 */
export function withKeyed(newer: Json, older: Json, schema: Schema | undefined): Json {
  if (schema === undefined) return newer;
  if (isList(newer) && isList(older)) return withItems(newer, older, schema);
  return isObject(newer) && isObject(older) ? withEntries(newer, older, schema) : newer;
}

/** Whether two items of a list of type map are the same one, whatever else they say. */
export function isSameItem(a: Json, b: Json, keys: readonly string[] | undefined): boolean {
  return keys !== undefined && isObject(a) && isObject(b) && keys.every((key) => equal(a[key], b[key]));
}

/** In the order of the older list, and what is new after it. */
function withItems(newer: readonly Json[], older: readonly Json[], schema: Schema): Json {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (keys === undefined) return newer;
  const of = (item: Json, list: readonly Json[]): Json | undefined => list.find((one) => isSameItem(one, item, keys));
  const kept = older.map((item) => {
    const now = of(item, newer);
    return now === undefined ? item : withKeyed(now, item, schema.items);
  });
  return [...kept, ...newer.filter((item) => of(item, older) === undefined)];
}

function withEntries(newer: JsonObject, older: JsonObject, schema: Schema): Json {
  if (schema['x-kubernetes-map-type'] === 'atomic') return newer;
  const { additionalProperties: entry, properties } = schema;
  const known = (key: string): Schema | undefined =>
    own(properties, key) ?? (typeof entry === 'object' ? entry : undefined);
  const both = Object.entries(newer).map(([key, value]) => {
    const before = own(older, key);
    return [key, before === undefined ? value : withKeyed(value, before, known(key))] as const;
  });
  const isMap = typeof entry === 'object' && properties === undefined;
  const missing = isMap ? Object.entries(older).filter(([key]) => !Object.hasOwn(newer, key)) : [];
  return Object.fromEntries([...missing, ...both]);
}
