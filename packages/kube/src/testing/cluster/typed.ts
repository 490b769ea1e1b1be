import { valueElement } from './field-set.ts';
import { isObject } from './json.ts';
import { itemSchema, keySchema, mapKeys, type Schema } from './schema.ts';
import { itemElement } from './structure.ts';

const NAMES: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'numeric (int or float)',
  number: 'numeric (int or float)',
  boolean: 'boolean',
  object: 'map',
  array: 'list',
};

const matches = (value: unknown, type: string): boolean => {
  switch (type) {
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
    case 'number':
      return typeof value === 'number';
    default:
      return typeof value === type;
  }
};

/** Why a value cannot be applied with a schema, in the server's words (it answers 500); undefined: it can. */
export function typedViolation(value: unknown, schema: Schema, path: string): string | undefined {
  const { type } = schema;
  if (value === null || value === undefined) return undefined;
  if (type !== undefined && !matches(value, type)) {
    const actual = Array.isArray(value) ? 'list' : isObject(value) ? 'map' : typeof value;
    return `${path}: expected ${NAMES[type] ?? type}, got ${actual}`;
  }
  if (Array.isArray(value)) {
    return (
      repeated(value, schema, path) ??
      first(value, (item, at) => typedViolation(item, itemSchema(schema), `${path}[${at}]`))
    );
  }
  if (!isObject(value)) return undefined;
  return first(Object.entries(value), ([key, inner]) => {
    const of = keySchema(schema, key);
    return of === undefined
      ? `${path}.${key}: field not declared in schema`
      : typedViolation(inner, of, `${path}.${key}`);
  });
}

function repeated(items: readonly unknown[], schema: Schema, path: string): string | undefined {
  const keys = mapKeys(schema);
  if (keys === undefined && schema['x-kubernetes-list-type'] !== 'set') return undefined;
  const seen = new Set<string>();
  return first(items, (item, at) => {
    const element = keys === undefined ? valueElement(item) : itemElement(item, schema);
    if (element === 'k:{}')
      return `${path}: element ${at}: associative list with keys has an element that omits all key fields`;
    if (seen.has(element)) return `${path}: duplicate entries for key [${element.slice(2)}]`;
    seen.add(element);
    return undefined;
  });
}

function first<T>(items: readonly T[], check: (item: T, at: number) => string | undefined): string | undefined {
  for (const [at, item] of items.entries()) {
    const found = check(item, at);
    if (found !== undefined) return found;
  }
  return undefined;
}
