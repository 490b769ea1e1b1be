import { isList, isNumber, isObject, type Json, own } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';

/**
 * Values of a stored object for which a server has no type in a schema: while one is there, it answers 500 to every server-side apply (structured-merge-diff, typed). It minds less than validation: any number is one, null is nothing
 * but in lists of type set and map, and what occurs twice matters only in what is applied.
 */
export function untypable(value: Json, schema: Schema): readonly Path[] {
  const found: Path[] = [];
  walk(value, schema, [], found);
  return found;
}

/** `path` is the same list everywhere, and copied where something is told. */
function walk(value: Json, schema: Schema, path: (string | number)[], found: Path[]): void {
  if (value === null || schema['x-kubernetes-int-or-string'] === true) return;
  if (!hasKind(value, schema)) {
    found.push([...path]);
    return;
  }
  if (isList(value)) {
    const { items, 'x-kubernetes-list-type': type } = schema;
    if (items === undefined) return;
    for (const [index, item] of value.entries()) {
      path.push(index);
      if ((type === 'set' && item === null) || (type === 'map' && !hasKeys(item, schema))) found.push([...path]);
      else walk(item, items, path, found);
      path.pop();
    }
  } else if (isObject(value)) {
    const { additionalProperties: additional, properties } = schema;
    for (const key of Object.keys(value)) {
      const of = own(properties, key) ?? (typeof additional === 'object' ? additional : undefined);
      if (of === undefined) continue;
      path.push(key);
      walk(value[key] as Json, of, path, found);
      path.pop();
    }
  }
}

function hasKind(value: Json, { format = '', type = '' }: Schema): boolean {
  switch (type) {
    case 'string':
      // With a format it is any scalar.
      return format === '' || format === 'byte' ? typeof value === 'string' : typeof value !== 'object';
    case 'integer':
    case 'number':
      return isNumber(value);
    case 'array':
      return isList(value);
    case 'object':
      return isObject(value);
    default:
      return type === '' || typeof value === type;
  }
}

function hasKeys(item: Json, { items, 'x-kubernetes-list-map-keys': keys = [] }: Schema): boolean {
  return (
    isObject(item) &&
    keys.every((key) => {
      const value = own(item, key) ?? own(items?.properties, key)?.default ?? null;
      return typeof value !== 'object';
    })
  );
}
