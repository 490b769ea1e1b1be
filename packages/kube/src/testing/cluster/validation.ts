import { jsonEqual } from '../../json/json-equal.ts';
import type { StatusCause } from '../../status-object.ts';
import { hasFormat } from './formats.ts';
import { compilePattern, PatternError } from './go-patterns.ts';
import { canonical, isObject, objectOf, own } from './json.ts';
import { itemSchema, keySchema, mapKeys, type Schema } from './schema.ts';

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
};

/** Where a value is: `path` as messages have it, `field` as causes do; they differ under `/status`. */
interface Place {
  readonly path: string;
  readonly field: string;
}

/**
 * What a schema rejects, in the server's words. Where a value did not change since `old` it is not looked at again (ratcheting):
 * an object that was stored under an older schema can still be changed elsewhere. `field` is the path of causes, where it is not that of messages.
 */
export function violations(
  value: unknown,
  schema: Schema,
  path: string,
  old?: unknown,
  field: string = path,
): StatusCause[] {
  return check(value, schema, { path, field }, old);
}

function check(value: unknown, schema: Schema, place: Place, old: unknown): StatusCause[] {
  if (old !== undefined && jsonEqual(value, old)) return [];
  const wanted = wantedTypes(schema);
  const actual = typeOf(value);
  const { path, field } = place;
  if (value === null && schema.nullable === true) return [];
  if (wanted.length > 0 && !wanted.includes(actual) && !(actual === 'integer' && wanted.includes('number'))) {
    const message = `Invalid value: "${actual}": ${path} in body must be of type ${wanted.join(',')}: "${actual}"`;
    return [{ reason: 'FieldValueTypeInvalid', message, field: named(field) }, ...notListed(value, schema, place)];
  }
  return [
    ...ownViolations(value, schema, place),
    ...junctors(value, schema, place),
    ...innerViolations(value, schema, place, old),
  ];
}

/** The root has no name. */
function named(field: string): string {
  return field === '' ? '<nil>' : field;
}

function wantedTypes(schema: Schema): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string'];
  return schema.type === undefined || schema.type === '' ? [] : [schema.type];
}

/** Asked of values of the wrong type, too. */
function notListed(value: unknown, { enum: allowed }: Schema, { field }: Place): StatusCause[] {
  if (allowed === undefined || allowed.some((one) => jsonEqual(one, value))) return [];
  const list = allowed.map((one) => JSON.stringify(one)).join(', ');
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`;
  return [{ reason: 'FieldValueNotSupported', message, field: named(field) }];
}

function ownViolations(value: unknown, schema: Schema, place: Place): StatusCause[] {
  const { path, field } = place;
  const causes = notListed(value, schema, place);
  const add = (reason: string, message: string): void => void causes.push({ reason, message, field: named(field) });
  const wrong = (said: string): void => add('FieldValueInvalid', `Invalid value: ${JSON.stringify(value)}: ${said}`);
  const few = (count: number, said: string): void =>
    add('FieldValueInvalid', `Invalid value: ${count}: ${path} in body should have ${said}`);
  if (typeof value === 'number') numberProblems(value, schema, path).forEach(wrong);
  if (typeof value === 'string') {
    const length = Array.from(value).length;
    // The server says only the first of these.
    if (length > (schema.maxLength ?? Infinity)) {
      add(
        'FieldValueTooLong',
        `Too long: may not be more than ${schema.maxLength} byte${schema.maxLength === 1 ? '' : 's'}`,
      );
    } else if (length < (schema.minLength ?? 0)) {
      wrong(`${path} in body should be at least ${schema.minLength} chars long`);
    } else if (schema.pattern !== undefined) {
      const pattern = compilePattern(schema.pattern);
      const invalid = pattern instanceof PatternError ? `, but pattern is invalid: ${pattern.message}` : '';
      if (pattern instanceof PatternError || !pattern.test(value)) {
        wrong(`${path} in body should match '${schema.pattern}${invalid}'`);
      }
    }
    if (schema.format !== undefined && !hasFormat(value, schema.format)) {
      const said = `${path} in body must be of type ${schema.format}: ${JSON.stringify(value)}`;
      add('FieldValueTypeInvalid', `Invalid value: ${JSON.stringify(value)}: ${said}`);
    }
  }
  if (Array.isArray(value)) {
    if (value.length > (schema.maxItems ?? Infinity)) {
      add('FieldValueTooMany', `Too many: ${value.length}: must have at most ${schema.maxItems} items`);
    }
    if (value.length < (schema.minItems ?? 0)) few(value.length, `at least ${schema.minItems} items`);
    if (mapKeys(schema) !== undefined) {
      for (const [at, item] of value.entries())
        if (!isObject(item))
          causes.push({ reason: 'FieldValueInvalid', message: 'Invalid value: no object', field: `${field}[${at}]` });
    }
    for (const [at, said] of duplicates(value, schema)) {
      causes.push({ reason: 'FieldValueDuplicate', message: `Duplicate value: ${said}`, field: `${field}[${at}]` });
    }
  }
  if (isObject(value)) {
    const size = Object.keys(value).length;
    if (size > (schema.maxProperties ?? Infinity)) {
      add('FieldValueTooMany', `Too many: ${size}: must have at most ${schema.maxProperties} items`);
    }
    if (size < (schema.minProperties ?? 0)) few(size, `at least ${schema.minProperties} properties`);
    if (schema['x-kubernetes-embedded-resource'] === true) causes.push(...embeddedProblems(value, field));
  }
  return causes;
}

function numberProblems(value: number, schema: Schema, path: string): string[] {
  const { minimum, maximum, multipleOf, exclusiveMinimum = false, exclusiveMaximum = false } = schema;
  const problems: string[] = [];
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum)) {
    problems.push(`${path} in body should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`);
  }
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum)) {
    problems.push(`${path} in body should be less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`);
  }
  if (multipleOf !== undefined) {
    // Whole numbers are compared with a whole factor.
    const factor = Number.isInteger(value) ? Math.trunc(multipleOf) : multipleOf;
    const times = value / factor;
    if (factor <= 0) problems.push(`factor MultipleOf declared for ${path} must be positive: ${factor}`);
    else if (Math.abs(times - Math.round(times)) > 1e-9) {
      problems.push(`${path} in body should be a multiple of ${multipleOf}`);
    }
  }
  if (schema.format === 'int32' && Math.abs(value) > 2 ** 31) {
    problems.push(`Checked value must be of type integer with format int32 in ${path}`);
  }
  return problems;
}

/** An object inside of another one names what it is. */
function embeddedProblems(value: object, field: string): StatusCause[] {
  const { apiVersion, kind } = value as { readonly apiVersion?: unknown; readonly kind?: unknown };
  const missing = (name: string): StatusCause => ({
    reason: 'FieldValueRequired',
    message: 'Required value',
    field: `${field}.${name}`,
  });
  return [...(apiVersion ? [] : [missing('apiVersion')]), ...(kind ? [] : [missing('kind')])];
}

/** `allOf`, `anyOf`, `oneOf` and `not`. Only what is wrong inside of the branch that fits best is said besides. */
function junctors(value: unknown, schema: Schema, place: Place): StatusCause[] {
  const causes: StatusCause[] = [];
  const fail = (said: string): void => {
    const message = `Invalid value: "": ${JSON.stringify(place.path)} ${said}`;
    causes.push({ reason: 'FieldValueInvalid', message, field: '<nil>' });
  };
  const tried = (branches: readonly Schema[]): readonly StatusCause[][] =>
    branches.map((branch) => check(value, branch, place, undefined));
  const best = (all: readonly StatusCause[][]): readonly StatusCause[] =>
    all.toSorted((a, b) => a.length - b.length)[0] ?? [];
  if (schema.anyOf !== undefined && schema.anyOf.length > 0) {
    const all = tried(schema.anyOf);
    if (all.every((one) => one.length > 0)) {
      fail('must validate at least one schema (anyOf)');
      causes.push(...best(all));
    }
  }
  if (schema.oneOf !== undefined && schema.oneOf.length > 0) {
    const all = tried(schema.oneOf);
    const fitting = all.filter((one) => one.length === 0).length;
    if (fitting !== 1) {
      fail(
        `must validate one and only one schema (oneOf). ${fitting === 0 ? 'Found none valid' : `Found ${fitting} valid alternatives`}`,
      );
      if (fitting === 0) causes.push(...best(all));
    }
  }
  if (schema.allOf !== undefined && schema.allOf.length > 0) {
    const all = tried(schema.allOf);
    const wrong = all.filter((one) => one.length > 0);
    if (wrong.length > 0) {
      fail(`must validate all the schemas (allOf)${wrong.length === all.length ? '. None validated' : ''}`);
      causes.push(...wrong.flat());
    }
  }
  if (schema.not !== undefined && check(value, schema.not, place, undefined).length === 0) {
    fail('must not validate the schema (not)');
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

function innerViolations(value: unknown, schema: Schema, { path, field }: Place, old: unknown): StatusCause[] {
  const causes: StatusCause[] = [];
  if (Array.isArray(value)) {
    const items = itemSchema(schema);
    for (const [at, item] of value.entries()) {
      const place = { path: `${path}[${at}]`, field: `${field}[${at}]` };
      causes.push(...check(item, items, place, correlated(value, at, schema, old)));
    }
  }
  if (!isObject(value)) return causes;
  const under = (base: string, key: string): string => (base === '' ? key : `${base}.${key}`);
  for (const key of schema.required ?? []) {
    if (!Object.hasOwn(value, key))
      causes.push({ reason: 'FieldValueRequired', message: 'Required value', field: under(field, key) });
  }
  for (const [key, inner] of Object.entries(value)) {
    const of = keySchema(schema, key);
    const place = { path: under(path, key), field: under(field, key) };
    if (of !== undefined) causes.push(...check(inner, of, place, own(objectOf(old), key)));
  }
  return causes;
}

/** The item of an older list that is the same one; only items of map lists have an identity. */
export function correlated(items: readonly unknown[], at: number, schema: Schema, old: unknown): unknown {
  const keys = mapKeys(schema);
  if (keys === undefined || !Array.isArray(old)) return undefined;
  const wanted = canonical(mapKey(items[at], keys));
  return (old as readonly unknown[]).find((one) => canonical(mapKey(one, keys)) === wanted);
}
