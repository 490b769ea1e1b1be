import { equal, isList, isNumber, isObject, type Json, own } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';

/**
 * Whether a server sees a node as what it was (k8s.io/apiserver, pkg/cel/common, CorrelatedObject.CachedDeepEqual). It compares by the schema: lists of type map by key, whatever their order, lists of
 * every other type as a whole. A node that holds something that the schema does not describe (an unknown field that is preserved, an item without its key) has nothing to be compared with and counts as
 * changed.
 */
export function unchanged(value: Json, old: Json, schema: Schema): boolean {
  if (isList(value) && isList(old)) {
    if (value.length !== old.length) return false;
    const { items } = schema;
    if (schema['x-kubernetes-list-type'] !== 'map' || items === undefined) return equal(value, old);
    const counterpart = itemsByKey(schema, old);
    return value.every((item) => {
      const before = counterpart(item);
      return before !== undefined && unchanged(item, before, items);
    });
  }
  if (!isObject(value) || !isObject(old)) return equal(value, old);
  const keys = Object.keys(value);
  return (
    keys.length === Object.keys(old).length &&
    keys.every((key) => {
      const { additionalProperties: additional, properties } = schema;
      const of = own(properties, key) ?? (typeof additional === 'object' ? additional : undefined);
      const [now, before] = [own(value, key), own(old, key)];
      return of !== undefined && now !== undefined && before !== undefined && unchanged(now, before, of);
    })
  );
}

/** The stored item that has the keys of another one; none where a key is absent or no scalar. The first of several counts. */
export function itemsByKey(schema: Schema, old: readonly Json[]): (item: Json) => Json | undefined {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const keyOf = (item: Json): string | undefined => {
    const values = keys.map((key) => (isObject(item) ? own(item, key) : undefined));
    return values.every(isScalar) ? values.map((value) => `${typeof value} ${value}`).join('\0') : undefined;
  };
  const byKey = new Map<string, Json>();
  for (const item of old) {
    const key = keyOf(item);
    if (key !== undefined && !byKey.has(key)) byKey.set(key, item);
  }
  return (item) => {
    const key = keyOf(item);
    return key === undefined ? undefined : byKey.get(key);
  };
}

function isScalar(value: Json | undefined): value is string | boolean | number | bigint {
  return typeof value === 'string' || typeof value === 'boolean' || isNumber(value);
}
