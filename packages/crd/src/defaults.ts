import { isList, isObject, type Json, own } from './json.ts';
import type { Schema } from './schema.ts';

/**
 * Fills in what is missing, as the API server does when it reads or writes an object (apiextensions-apiserver, pkg/apiserver/schema/defaulting): a null where null is not
 * allowed counts as missing, and goes where there is no default. The object is not changed.
 */
export function applyDefaults(value: Json, schema: Schema | undefined): Json {
  if (schema === undefined) return value;
  if (isList(value)) {
    const { items } = schema;
    return value.map((item) => applyDefaults(isForbiddenNull(item, items) ? (items?.default ?? item) : item, items));
  }
  if (!isObject(value)) return value;
  const filled: [string, Json][] = [];
  for (const [key, inner] of Object.entries(value)) {
    const property = own(schema.properties, key);
    const additional = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
    const of = property ?? additional;
    if (!isForbiddenNull(inner, of)) filled.push([key, applyDefaults(inner, of)]);
    else if (of?.default !== undefined) filled.push([key, applyDefaults(of.default, of)]);
  }
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (property.default !== undefined && !Object.hasOwn(value, key))
      filled.push([key, applyDefaults(property.default, property)]);
  }
  return Object.fromEntries(filled);
}

function isForbiddenNull(value: Json, schema: Schema | undefined): boolean {
  return value === null && schema !== undefined && schema.nullable !== true;
}
