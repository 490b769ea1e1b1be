import { jsonEqual } from '../../json/json-equal.ts';
import type { StatusCause } from '../../status-object.ts';
import { canonical, isObject, objectOf } from './json.ts';
import { itemSchema, keySchema, mapKeys, type Schema } from './schema.ts';

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
};

/**
 * What a schema rejects, in the server's words. Where a value did not change since `old` it is not looked at again (ratcheting):
 * an object that was stored under an older schema can still be changed elsewhere.
 */
export function violations(value: unknown, schema: Schema, path: string, old?: unknown): StatusCause[] {
  if (old !== undefined && jsonEqual(value, old)) return [];
  const wanted = wantedTypes(schema);
  const actual = typeOf(value);
  if (value === null && schema.nullable === true) return [];
  if (wanted.length > 0 && !wanted.includes(actual) && !(actual === 'integer' && wanted.includes('number'))) {
    const message = `Invalid value: "${actual}": ${path} in body must be of type ${wanted.join(',')}: "${actual}"`;
    return [{ reason: 'FieldValueTypeInvalid', message, field: path }, ...notListed(value, schema, path)];
  }
  return [...ownViolations(value, schema, path), ...innerViolations(value, schema, path, old)];
}

function wantedTypes(schema: Schema): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string'];
  return schema.type === undefined ? [] : [schema.type];
}

/** Asked of values of the wrong type, too. */
function notListed(value: unknown, { enum: allowed }: Schema, path: string): StatusCause[] {
  if (allowed === undefined || allowed.some((one) => jsonEqual(one, value))) return [];
  const list = allowed.map((one) => JSON.stringify(one)).join(', ');
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`;
  return [{ reason: 'FieldValueNotSupported', message, field: path }];
}

function ownViolations(value: unknown, schema: Schema, path: string): StatusCause[] {
  const causes = notListed(value, schema, path);
  const add = (reason: string, message: string): void => void causes.push({ reason, message, field: path });
  const wrong = (said: string): void => add('FieldValueInvalid', `Invalid value: ${JSON.stringify(value)}: ${said}`);
  if (typeof value === 'number') {
    if (value < (schema.minimum ?? -Infinity)) {
      wrong(`${path} in body should be greater than or equal to ${schema.minimum}`);
    }
    if (value > (schema.maximum ?? Infinity))
      wrong(`${path} in body should be less than or equal to ${schema.maximum}`);
  }
  if (typeof value === 'string') {
    if (value.length > (schema.maxLength ?? Infinity)) {
      add('FieldValueTooLong', `Too long: may not be more than ${schema.maxLength} bytes`);
    }
    if (value.length < (schema.minLength ?? 0))
      wrong(`${path} in body should be at least ${schema.minLength} chars long`);
    if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value)) {
      wrong(`${path} in body should match '${schema.pattern}'`);
    }
  }
  if (Array.isArray(value)) {
    if (value.length > (schema.maxItems ?? Infinity)) {
      add('FieldValueTooMany', `Too many: ${value.length}: must have at most ${schema.maxItems} items`);
    }
    if (value.length < (schema.minItems ?? 0)) wrong(`${path} in body should have at least ${schema.minItems} items`);
    if (mapKeys(schema) !== undefined) {
      for (const [at, item] of value.entries())
        if (!isObject(item))
          causes.push({ reason: 'FieldValueInvalid', message: 'Invalid value: no object', field: `${path}[${at}]` });
    }
    for (const [at, said] of duplicates(value, schema)) {
      causes.push({ reason: 'FieldValueDuplicate', message: `Duplicate value: ${said}`, field: `${path}[${at}]` });
    }
  }
  return causes;
}

/** Items of a set or of a map list that were there before, with what identifies them. */
function duplicates(items: readonly unknown[], schema: Schema): [number, string][] {
  const keys = mapKeys(schema);
  if (keys === undefined && schema['x-kubernetes-list-type'] !== 'set') return [];
  const seen = new Set<string>();
  const found: [number, string][] = [];
  for (const [at, item] of items.entries()) {
    const id = keys === undefined ? canonical(item) : canonical(mapKey(item, keys));
    if (seen.has(id)) found.push([at, id]);
    seen.add(id);
  }
  return found;
}

/** The keys of an item of a map list. */
function mapKey(item: unknown, keys: readonly string[]): unknown {
  return Object.fromEntries(keys.map((key) => [key, objectOf(item)[key]]));
}

function innerViolations(value: unknown, schema: Schema, path: string, old: unknown): StatusCause[] {
  const causes: StatusCause[] = [];
  if (Array.isArray(value)) {
    const keys = mapKeys(schema);
    const before = new Map<string, unknown>();
    if (keys !== undefined && Array.isArray(old))
      for (const item of old) before.set(canonical(mapKey(item, keys)), item);
    for (const [at, item] of value.entries()) {
      // Only items of map lists have an identity, so only they can be unchanged.
      const same = keys === undefined ? undefined : before.get(canonical(mapKey(item, keys)));
      causes.push(...violations(item, itemSchema(schema), `${path}[${at}]`, same));
    }
  }
  if (!isObject(value)) return causes;
  const at = (key: string): string => (path === '' ? key : `${path}.${key}`);
  for (const key of schema.required ?? []) {
    if (!(key in value)) causes.push({ reason: 'FieldValueRequired', message: 'Required value', field: at(key) });
  }
  for (const [key, inner] of Object.entries(value)) {
    const of = keySchema(schema, key);
    if (of !== undefined) causes.push(...violations(inner, of, at(key), objectOf(old)[key]));
  }
  return causes;
}
