import type { Cause } from './cause.ts';
import { isList, isObject, type Json, own, showJson } from './json.ts';
import type { Path } from './path.ts';
import type { Schema } from './schema.ts';
import { mapKey } from './validate.ts';

/** Finds what occurs twice in lists of type set and map (apiextensions-apiserver, pkg/apiserver/schema/listtype). */
export function checkListTypes(value: Json, schema: Schema, path: Path = []): readonly Cause[] {
  const causes: Cause[] = [];
  walk(value, schema, path, causes);
  return causes;
}

function walk(value: Json, schema: Schema, path: Path, causes: Cause[]): void {
  if (isList(value)) {
    const keys = schema['x-kubernetes-list-map-keys'] ?? [];
    const type = schema['x-kubernetes-list-type'];
    if (type === 'set' || type === 'map') {
      const seen = new Set<string>();
      for (const [index, item] of value.entries()) {
        const key = type === 'set' ? canonical(item) : mapKey(item, keys, schema.items);
        if (seen.has(key)) {
          const at = [...path, index];
          causes.push({
            reason: 'FieldValueDuplicate',
            path: at,
            owner: path,
            keyword: 'x-kubernetes-list-type',
            message: `Duplicate value: ${key}`,
          });
        }
        seen.add(key);
      }
    }
    if (schema.items !== undefined)
      for (const [index, item] of value.entries()) walk(item, schema.items, [...path, index], causes);
    return;
  }
  if (!isObject(value)) return;
  for (const [key, inner] of Object.entries(value)) {
    const { additionalProperties: additional } = schema;
    const of = own(schema.properties, key) ?? (typeof additional === 'object' ? additional : undefined);
    if (of !== undefined) walk(inner, of, [...path, key], causes);
  }
}

/** Equal values give equal texts, whatever the order of their keys. */
function canonical(value: Json): string {
  if (isList(value)) return `[${value.map(canonical).join()}]`;
  if (!isObject(value)) return showJson(value);
  const keys = Object.keys(value).toSorted((a, b) => (a < b ? -1 : 1));
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`).join()}}`;
}
