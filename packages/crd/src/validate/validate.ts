import { equal, isList, isNumber, isObject, type Json, lengthOf, own, showJson } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';
import { FORMATS_SINCE, hasFormat, isChecked } from '../text/formats.ts';
import { matches } from '../text/pattern.ts';
import { BOUNDS, EXCLUSIVE, isBeyond, isMultiple, isWhole } from './bounds.ts';
import type { Cause, CauseReason, Doubt } from './cause.ts';
import { itemsByKey, unchanged } from './unchanged.ts';

/** What a validation needs besides value and schema. */
export interface ValidationContext {
  /** The server is of Kubernetes 1.`minor`. */
  readonly minor: number;
  /** Errors of a node that is what it was before are dropped (KEP-4008). */
  readonly ratchets: boolean;
  /** Only rules that compare with the old value are asked. */
  readonly comparing?: boolean;
  readonly causes: Cause[];
  readonly doubts: Doubt[];
}

/**
 * Checks a value against a structural schema, as the API server does (kube-openapi, pkg/validation/validate). `old` is the stored value of the same node, where there is one. List types and rules are
 * checked apart, see {@link ./list-types.ts} and {@link ./rules.ts}.
 */
export function validate(
  value: Json,
  schema: Schema,
  path: Path,
  old: Json | undefined,
  context: ValidationContext,
): void {
  check(value, schema, [...path], old, context);
}

/** The way to the value at hand: the same list everywhere, and copied where something is told. */
type Way = (string | number)[];

function check(value: Json, schema: Schema, path: Way, old: Json | undefined, context: ValidationContext): void {
  if (context.ratchets && old !== undefined && unchanged(value, old, schema)) return;
  if (value === null && schema.nullable === true) {
    // No member of an enum equals null for a server, not even null.
    if ((schema.enum ?? []).length > 0) checkEnum(value, { enum: [] }, path, context);
    return;
  }
  if (!hasType(value, schema) && !isOverlooked(value, schema)) {
    const expected = schema['x-kubernetes-int-or-string'] === true ? 'integer or string' : (schema.type ?? '');
    add(context, 'FieldValueTypeInvalid', path, 'type', `must be of type ${expected}: ${showJson(value)}`);
    // A server goes on, and asks for what it can of a value of this type.
    if (value === null) {
      if ((schema.enum ?? []).length > 0) checkEnum(value, { enum: [] }, path, context);
      return;
    }
  }
  checkEnum(value, schema, path, context);
  if (typeof value === 'string') checkText(value, schema, path, context);
  else if (isNumber(value)) checkNumber(value, schema, path, context);
  else if (isList(value)) checkList(value, schema, path, old, context);
  else if (isObject(value)) checkObject(value, schema, path, old, context);
  checkJunctors(value, schema, path, context);
}

function add(
  context: ValidationContext,
  reason: CauseReason,
  way: Path,
  keyword: string,
  message: string,
  owner?: Path,
): void {
  const path = [...way];
  context.causes.push({ reason, path, owner: owner === undefined ? path : [...owner], keyword, message });
}

/** A list in the place of a text with a format: the server leaves it to the check of the format, which looks at texts only. */
function isOverlooked(value: Json, schema: Schema): boolean {
  return (
    isList(value) && schema.type === 'string' && isChecked(schema.format) && !FORMATS_SINCE.has(schema.format ?? '')
  );
}

/** Whether a value has the type of a schema; null has none. What does not fit into 64 bits is no integer for a server; formats of numbers it does not check. */
export function hasType(value: Json, schema: Schema): boolean {
  if (schema['x-kubernetes-int-or-string'] === true)
    return typeof value === 'string' || (isNumber(value) && isWhole(value));
  switch (schema.type) {
    case undefined:
    case '':
      return true;
    case 'string':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return isNumber(value) && isWhole(value);
    case 'number':
      return isNumber(value);
    case 'array':
      return isList(value);
    case 'object':
      return isObject(value);
    default:
      return false;
  }
}

function checkEnum(value: Json, schema: Schema, path: Way, context: ValidationContext): void {
  if (schema.enum === undefined) return;
  if (typeof value === 'string' ? schema.enum.includes(value) : schema.enum.some((allowed) => isMember(value, allowed)))
    return;
  const supported = schema.enum.map(showJson).join(', ');
  add(
    context,
    'FieldValueNotSupported',
    path,
    'enum',
    `${showJson(value)} is none of the supported values ${supported}`,
  );
}

/** Equal, or equal once a server has made the value what the member is: a fraction loses its fraction, an integer becomes the character of this number (kube-openapi, Enum). */
function isMember(value: Json, allowed: Json): boolean {
  if (equal(allowed, value)) return true;
  if (typeof value === 'number' && !Number.isInteger(value))
    return isNumber(allowed) && Number.isInteger(Number(allowed)) && Math.trunc(value) === Number(allowed);
  return (
    isNumber(value) &&
    typeof allowed === 'string' &&
    lengthOf(allowed) === 1 &&
    allowed.codePointAt(0) === Number(value)
  );
}

function checkText(value: string, schema: Schema, path: Way, context: ValidationContext): void {
  const length = lengthOf(value);
  // Of bounds and pattern a server names the first that is broken.
  if (schema.maxLength !== undefined && length > schema.maxLength)
    add(context, 'FieldValueTooLong', path, 'maxLength', `may not be longer than ${schema.maxLength}`);
  else if (schema.minLength !== undefined && length < schema.minLength)
    add(context, 'FieldValueInvalid', path, 'minLength', `should be at least ${schema.minLength} chars long`);
  else if (schema.pattern !== undefined) {
    const found = matches(schema.pattern, value);
    if (found === undefined)
      context.doubts.push({ path: [...path], keyword: 'pattern', why: `'${schema.pattern}' is no RE2 expression` });
    else if (!found) add(context, 'FieldValueInvalid', path, 'pattern', `should match '${schema.pattern}'`);
  }
  if (schema.format !== undefined) {
    const right = hasFormat(schema.format, value, context.minor);
    if (right === undefined)
      context.doubts.push({
        path: [...path],
        keyword: 'format',
        why: `format ${schema.format} is checked by the server alone`,
      });
    else if (!right)
      add(context, 'FieldValueTypeInvalid', path, 'format', `must be of type ${schema.format}: ${showJson(value)}`);
  }
}

function checkNumber(value: number | bigint, schema: Schema, path: Way, context: ValidationContext): void {
  for (const keyword of BOUNDS) {
    const bound = schema[keyword];
    if (bound === undefined) continue;
    const exclusive = schema[EXCLUSIVE[keyword]] === true;
    const beyond = isBeyond(value, bound, keyword, exclusive);
    if (beyond === undefined)
      context.doubts.push({ path: [...path], keyword, why: `${keyword} ${bound} is beyond what a server compares` });
    else if (beyond) {
      const than = `${keyword === 'maximum' ? 'less' : 'greater'} than ${exclusive ? '' : 'or equal to '}`;
      add(context, 'FieldValueInvalid', path, keyword, `should be ${than}${bound}`);
    }
  }
  if (schema.multipleOf !== undefined && !isMultiple(value, schema.multipleOf))
    add(context, 'FieldValueInvalid', path, 'multipleOf', `should be a multiple of ${schema.multipleOf}`);
}

function checkList(
  value: readonly Json[],
  schema: Schema,
  path: Way,
  old: Json | undefined,
  context: ValidationContext,
): void {
  if (schema.maxItems !== undefined && value.length > schema.maxItems)
    add(context, 'FieldValueTooMany', path, 'maxItems', `must have at most ${schema.maxItems} items`);
  if (schema.minItems !== undefined && value.length < schema.minItems)
    add(context, 'FieldValueInvalid', path, 'minItems', `should have at least ${schema.minItems} items`);
  const { items } = schema;
  if (items === undefined) return;
  const counterpart = correlate(schema, old);
  for (let index = 0; index < value.length; index += 1) {
    const item = value[index] as Json;
    path.push(index);
    check(item, items, path, counterpart(item), context);
    path.pop();
  }
}

/**
 * The stored item to which one belongs: by its keys in a list of type map, else none. Lists of every other type are compared as a whole (KEP-4008).
 */
export function correlate(schema: Schema, old: Json | undefined): (item: Json) => Json | undefined {
  if (schema['x-kubernetes-list-type'] !== 'map' || !isList(old)) return () => undefined;
  return itemsByKey(schema, old);
}

function checkObject(
  value: Readonly<Record<string, Json>>,
  schema: Schema,
  path: Way,
  old: Json | undefined,
  context: ValidationContext,
): void {
  const count = Object.keys(value).length;
  if (schema.maxProperties !== undefined && count > schema.maxProperties)
    add(context, 'FieldValueTooMany', path, 'maxProperties', `must have at most ${schema.maxProperties} properties`);
  if (schema.minProperties !== undefined && count < schema.minProperties)
    add(context, 'FieldValueInvalid', path, 'minProperties', `should have at least ${schema.minProperties} properties`);
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name))
      add(context, 'FieldValueRequired', [...path, name], 'required', 'Required value', path);
  }
  const before = isObject(old) ? old : undefined;
  const { additionalProperties: additional, properties } = schema;
  for (const key of Object.keys(value)) {
    const of = own(properties, key) ?? (typeof additional === 'object' ? additional : undefined);
    if (of === undefined) continue;
    path.push(key);
    check(value[key] as Json, of, path, own(before, key), context);
    path.pop();
  }
}

/** Branches are judged without regard to what was stored: nothing ratchets in them. */
function checkJunctors(value: Json, schema: Schema, path: Way, context: ValidationContext): void {
  for (const branch of schema.allOf ?? []) check(value, branch, path, undefined, { ...context, ratchets: false });
  const fits = (branch: Schema): boolean | undefined => {
    const inner: ValidationContext = { minor: context.minor, ratchets: false, causes: [], doubts: [] };
    check(value, branch, path, undefined, inner);
    return inner.causes.length > 0 ? false : inner.doubts.length > 0 ? undefined : true;
  };
  const doubt = (keyword: string): void => {
    context.doubts.push({ path: [...path], keyword, why: 'a branch cannot be decided here' });
  };
  if (schema.anyOf !== undefined) {
    const fit = schema.anyOf.map(fits);
    if (!fit.includes(true)) {
      if (fit.includes(undefined)) doubt('anyOf');
      else add(context, 'FieldValueInvalid', path, 'anyOf', 'must validate at least one schema (anyOf)');
    }
  }
  if (schema.oneOf !== undefined) {
    const fit = schema.oneOf.map(fits);
    if (fit.includes(undefined)) doubt('oneOf');
    else if (fit.filter((one) => one === true).length !== 1)
      add(context, 'FieldValueInvalid', path, 'oneOf', 'must validate one and only one schema (oneOf)');
  }
  if (schema.not !== undefined) {
    const fit = fits(schema.not);
    if (fit === undefined) doubt('not');
    else if (fit) add(context, 'FieldValueInvalid', path, 'not', 'must not validate the schema (not)');
  }
}
