import {
  correlated,
  isObject,
  itemSchema,
  type JsonObject,
  jsonEqual,
  listOf,
  objectOf,
  own,
  type Schema,
  type StatusCause,
} from '@drydock/kube/testing/api-server';
import { type Compiled, compileExpression } from './expression-compiler.ts';
import { CostLimitError, EvaluationError, ExpressionError } from './expression-errors.ts';
import { type Type, typeOfSchema } from './expression-types.ts';
import { fromJson, Optional, type Value } from './expression-values.ts';

/** One entry of `x-kubernetes-validations`. */
interface Rule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

interface Prepared {
  readonly rule: Rule;
  /** Undefined if the rule does not compile: it was stored without this check. */
  readonly compiled: Compiled | undefined;
  readonly message: Compiled | undefined;
  /** A transition rule compares with the old value, so it is not evaluated without one. */
  readonly transition: boolean;
}

function variables(schema: Schema, optional: boolean): Readonly<Record<string, Type>> {
  const self = typeOfSchema(schema);
  return { self, oldSelf: optional ? { kind: 'optional', of: self } : self };
}

/** Why a rule of a schema does not compile, in the server's words; undefined if it compiles. */
export function ruleProblem(
  text: string,
  schema: Schema,
  optionalOldSelf: boolean,
  wanted: 'bool' | 'string' = 'bool',
): string | undefined {
  try {
    const { type } = compileExpression(text, variables(schema, optionalOldSelf));
    if (type.kind === wanted || type.kind === 'dyn') return undefined;
    return wanted === 'bool' ? 'cel expression must evaluate to a bool' : 'must evaluate to a string';
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
}

const prepared = new WeakMap<Schema, readonly Prepared[]>();

function rulesOf(schema: Schema): readonly Prepared[] {
  const known = prepared.get(schema);
  if (known !== undefined) return known;
  const rules = listOf((schema as JsonObject)['x-kubernetes-validations']).map((one) => prepare(one as Rule, schema));
  prepared.set(schema, rules);
  return rules;
}

function prepare(rule: Rule, schema: Schema): Prepared {
  const optional = rule.optionalOldSelf === true;
  const compile = (text: string | undefined): Compiled | undefined => {
    if (text === undefined || text === '') return undefined;
    try {
      return compileExpression(text, variables(schema, optional));
    } catch (error) {
      if (error instanceof ExpressionError) return undefined;
      throw error;
    }
  };
  return {
    rule,
    compiled: compile(rule.rule),
    message: compile(rule.messageExpression),
    transition: !optional && /\boldSelf\b/.test(rule.rule),
  };
}

const has = new WeakMap<Schema, boolean>();

/** Whether a schema has rules at any depth. Most have none, so their values are not walked. */
function hasRules(schema: Schema): boolean {
  const known = has.get(schema);
  if (known !== undefined) return known;
  has.set(schema, false);
  const { properties, additionalProperties, items } = schema;
  const found =
    listOf((schema as JsonObject)['x-kubernetes-validations']).length > 0 ||
    Object.values(properties ?? {}).some(hasRules) ||
    (isObject(additionalProperties) && hasRules(additionalProperties as Schema)) ||
    (items !== undefined && hasRules(items));
  has.set(schema, found);
  return found;
}

/**
 * What the rules of a schema reject. With `ratcheting`, a rule that rejects a value which equals the one in `old` only warns, unless it is a transition rule;
 * without it, each rejection is a violation.
 */
export function ruleViolations(
  value: unknown,
  schema: Schema,
  old: unknown,
  ratcheting: ((text: string) => void) | undefined,
  path: string = '',
): StatusCause[] {
  if (value === null || value === undefined || !hasRules(schema)) return [];
  const causes: StatusCause[] = [];
  const rules = rulesOf(schema);
  if (rules.length > 0) {
    const same = ratcheting !== undefined && old !== undefined && jsonEqual(value, old);
    const self = fromJson(value, schema);
    const before = old === undefined || old === null ? undefined : fromJson(old, schema);
    for (const rule of rules) {
      if (rule.transition && before === undefined) continue;
      const cause = evaluated(rule, schema, self, before, path);
      if (cause === undefined) continue;
      if (same && !rule.transition) ratcheting(`${cause.field}: ${cause.message}`);
      else causes.push(cause);
    }
  }
  if (Array.isArray(value)) {
    const items = itemSchema(schema);
    for (const [at, item] of value.entries()) {
      causes.push(...ruleViolations(item, items, correlated(value, at, schema, old), ratcheting, `${path}[${at}]`));
    }
  }
  if (!isObject(value)) return causes;
  const { properties, additionalProperties } = schema;
  for (const [key, inner] of Object.entries(value)) {
    const field = properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
    const of = field ?? (isObject(additionalProperties) ? (additionalProperties as Schema) : undefined);
    if (of === undefined) continue;
    const at = path === '' ? key : field === undefined ? `${path}[${key}]` : `${path}.${key}`;
    causes.push(...ruleViolations(inner, of, own(objectOf(old), key), ratcheting, at));
  }
  return causes;
}

function evaluated(
  { rule, compiled, message }: Prepared,
  schema: Schema,
  self: Value,
  before: Value | undefined,
  path: string,
): StatusCause | undefined {
  const field = fieldOf(path, rule.fieldPath);
  const type = schema.type ?? 'object';
  const invalid = (text: string): StatusCause => ({
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${JSON.stringify(type)}: ${text}`,
    field,
  });
  const text = (rule.message ?? '').trim() === '' ? rule.rule.trim() : (rule.message ?? '').trim();
  if (compiled === undefined) {
    return invalid(
      `rule compile error: compilation failed: ${ruleProblem(rule.rule, schema, rule.optionalOldSelf === true) ?? ''}`,
    );
  }
  const oldSelf = rule.optionalOldSelf === true ? new Optional(before) : before;
  const values = { self, ...(oldSelf === undefined ? {} : { oldSelf }) };
  try {
    if (compiled.run(values) === true) return undefined;
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    if (error.message.startsWith('no such overload')) {
      return invalid(
        `call arguments did not match a supported operator, function or macro signature for rule: ${text}`,
      );
    }
    if (error instanceof CostLimitError) {
      return invalid(
        `validation failed due to running out of cost budget, no further validation rules will be run: ${text}`,
      );
    }
    return invalid(`${error.message} evaluating rule: ${text}`);
  }
  return refusal(rule, failureText(rule, message, values), type, field);
}

function failureText(rule: Rule, message: Compiled | undefined, values: Readonly<Record<string, Value>>): string {
  if (message !== undefined) {
    try {
      const text = message.run(values);
      if (typeof text === 'string' && text.trim() !== '' && !text.includes('\n')) return text.trim();
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
    }
  }
  const own = (rule.message ?? '').trim();
  return own === '' ? `failed rule: ${rule.rule.trim()}` : own;
}

function refusal({ reason }: Rule, text: string, type: string, field: string): StatusCause {
  switch (reason) {
    case 'FieldValueForbidden':
      return { reason, message: `Forbidden: ${text}`, field };
    case 'FieldValueRequired':
      return { reason, message: `Required value: ${text}`, field };
    case 'FieldValueDuplicate':
      return { reason, message: `Duplicate value: ${JSON.stringify(type)}`, field };
    default:
      return { reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(type)}: ${text}`, field };
  }
}

/** The path of a rule's schema, with the rule's `fieldPath`. */
function fieldOf(path: string, more: string | undefined): string {
  const whole = path + (more ?? '').replaceAll(/\['([^']+)'\]/g, '.$1');
  const field = whole.startsWith('.') ? whole.slice(1) : whole;
  return field === '' ? '<nil>' : field;
}
