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
export function typedViolation(
  value: unknown,
  schema: Schema,
  twins: 'refused' | 'taken' = 'refused',
): string | undefined {
  const found = problemsOf(value, schema, '').filter((one) => twins === 'refused' || !one.includes(TWINS));
  return found.length < 2 ? found[0] : `errors:\n${found.map((one) => `  ${one}`).join('\n')}`;
}

const TWINS = 'duplicate entries for key';

function problemsOf(value: unknown, schema: Schema, path: string): readonly string[] {
  const { type, format } = schema;
  if (value === null || value === undefined) return [];
  if (type !== undefined && !matches(value, type)) {
    if (format !== 'date-time') return [`${path}: expected ${NAMES[type] ?? type}, got ${actual(value, type)}`];
    return typeof value === 'object' ? [`${path}: expected any scalar, got &{${goText(value)}}`] : [];
  }
  if (Array.isArray(value)) {
    const items = itemSchema(schema);
    const none = mapKeys(schema) === undefined ? -1 : value.indexOf(null);
    if (none !== -1) return [`${path}: element ${none}: associative list with keys may not have a null element`];
    const bare = mapKeys(schema) === undefined ? -1 : value.findIndex((item) => !isObject(item));
    if (bare !== -1) return [`${path}: element ${bare}: associative list with keys may not have non-map elements`];
    const omitted = value.findIndex((item) => mapKeys(schema) !== undefined && itemElement(item, schema) === 'k:{}');
    if (omitted !== -1) return [`${path}: ${withoutKeys(omitted, mapKeys(schema) ?? [])}`];
    return [
      ...repeated(value, schema, path),
      ...value.flatMap((item: unknown, at) => problemsOf(item, items, `${path}${place(item, at, schema)}`)),
    ];
  }
  if (!isObject(value)) return [];
  // An object of which nothing is declared takes anything.
  if (type === 'object' && schema.properties === undefined && schema.additionalProperties === undefined) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const of = keySchema(schema, key);
    const at = `${path}.${key}`;
    return of === undefined ? [`${at}: field not declared in schema`] : problemsOf(inner, of, at);
  });
}

function withoutKeys(at: number, keys: readonly string[]): string {
  const all = keys.toSorted().map((key) => JSON.stringify(key));
  return `element ${at}: associative list with keys has an element that omits all key fields [${all.join(' ')}] (and doesn't have default values for any key fields)`;
}

/** What stands where something else should, as Go prints it: each type in its own way. */
function actual(value: unknown, wanted: string): string {
  if (wanted === 'integer' || wanted === 'number') return goType(value);
  return wanted === 'string' ? `&value.valueUnstructured{Value:${goSyntax(value)}}` : `&{${goText(value)}}`;
}

function goType(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (isObject(value)) return 'map[string]interface {}';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

/** `%#v`. */
function goSyntax(value: unknown): string {
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (!isObject(value)) return value === null ? 'interface {}(nil)' : JSON.stringify(value);
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `map[string]interface {}{${fields.map(([key, one]) => `${JSON.stringify(key)}:${goSyntax(one)}`).join(', ')}}`;
}

/** `%v`. */
function goText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`;
  if (!isObject(value)) return value === null ? '<nil>' : String(value);
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `map[${fields.map(([key, one]) => `${key}:${goText(one)}`).join(' ')}]`;
}

/** Where an item of a list is: by its keys where it has some, else by its number. */
function place(item: unknown, at: number, schema: Schema): string {
  const keys = mapKeys(schema);
  return keys === undefined || !isObject(item) ? `[${at}]` : keyText(item, keys, schema);
}

function keyText(item: Readonly<Record<string, unknown>>, keys: readonly string[], schema: Schema): string {
  const { properties } = itemSchema(schema);
  const named = keys.toSorted().flatMap((key) => {
    const value = item[key] ?? properties?.[key]?.default;
    if (value === undefined) return [];
    return [`${key}=${typeof value === 'object' ? '' : JSON.stringify(value)}`];
  });
  return `[${named.join(',')}]`;
}

function repeated(items: readonly unknown[], schema: Schema, path: string): readonly string[] {
  const keys = mapKeys(schema);
  if (keys === undefined && schema['x-kubernetes-list-type'] !== 'set') return [];
  const seen = new Map<string, number>();
  return items.flatMap((item) => {
    const element = keys === undefined ? valueElement(item) : itemElement(item, schema);
    const times = (seen.get(element) ?? 0) + 1;
    seen.set(element, times);
    if (times !== 2) return [];
    const named = keys === undefined || !isObject(item) ? `[=${element.slice(2)}]` : keyText(item, keys, schema);
    return [`${path}: ${TWINS} ${named}`];
  });
}
