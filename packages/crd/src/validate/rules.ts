import { isList, isNumber, isObject, type Json, own } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { CelRule, Schema } from '../schema/schema.ts';
import { isTransition, traitsOf } from '../schema/traits.ts';
import { isInt64 } from './bounds.ts';
import type { CauseReason } from './cause.ts';
import { evaluateRule, type RuleAnswer } from './cel.ts';
import { textForRules } from './cel-value.ts';
import { unchanged } from './unchanged.ts';
import { correlate, hasType, type ValidationContext } from './validate.ts';

/**
 * Evaluates the rules of a schema on a value, as the API server does (apiextensions-apiserver, pkg/apiserver/schema/cel). A rule that compares with the old value is evaluated only
 * where there is one to compare with. A rule that holds no longer is let alone where its node did not change and the server ratchets; one that cannot be evaluated, and a comparison with the old value,
 * never is. `parentSound`: what holds the value was looked through already, and everything in it has the type that it should have.
 */
export function checkRules(
  value: Json,
  schema: Schema,
  path: Path,
  old: Json | undefined,
  context: ValidationContext,
  parentSpared = false,
  parentSound = false,
): void {
  // Rules of a node that may be null are not asked when it is.
  if (value === null || !hasRules(schema, context)) return;
  const { 'x-kubernetes-validations': rules = [] } = schema;
  const sound = parentSound || (rules.length > 0 && !isMistyped(value, schema));
  // What has no counterpart goes with the nearest node that has one: the items of a list that is compared as a whole.
  const spared = context.ratchets && (old === undefined ? parentSpared : unchanged(value, old, schema));
  for (const rule of rules) {
    const compares = isTransition(rule);
    if (context.comparing === true && !compares) continue;
    if (compares && old === undefined && rule.optionalOldSelf !== true) continue;
    const answer = answerTo(rule, schema, value, compares ? { old } : undefined, path.length === 0, sound);
    const broken = answer.kind !== 'holds' && answer.broken === true;
    if (answer.kind === 'holds' || (spared && !compares && !broken)) continue;
    if (answer.kind === 'unknown') {
      const why = `the rule ${rule.rule} ${answer.why}`;
      context.doubts.push({ path, keyword: 'x-kubernetes-validations', why, rule: rule.rule });
      continue;
    }
    // Where a rule says something else for its failure, it says it of a false one.
    const at = rule.fieldPath === undefined || broken ? path : [...path, ...fieldOf(rule.fieldPath)];
    const reason = !broken && REASONS.has(rule.reason ?? '') ? (rule.reason as CauseReason) : 'FieldValueInvalid';
    context.causes.push({
      reason,
      path: at,
      owner: path,
      keyword: 'x-kubernetes-validations',
      message: answer.message,
      rule: rule.rule,
    });
  }
  if (isList(value)) {
    const { items } = schema;
    if (items === undefined || !hasRules(items, context)) return;
    const counterpart = correlate(schema, old);
    for (const [index, item] of value.entries())
      checkRules(item, items, [...path, index], counterpart(item), context, spared, sound);
    return;
  }
  if (!isObject(value)) return;
  const before = isObject(old) ? old : undefined;
  const { additionalProperties: additional, properties } = schema;
  for (const key of Object.keys(value)) {
    const of = own(properties, key) ?? (typeof additional === 'object' ? additional : undefined);
    if (of !== undefined && hasRules(of, context))
      checkRules(value[key] as Json, of, [...path, key], own(before, key), context, spared, sound);
  }
}

function hasRules(schema: Schema, { comparing }: ValidationContext): boolean {
  const { rules, transitions } = traitsOf(schema);
  return comparing === true ? transitions : rules;
}

/** What a rule may give as its reason. */
const REASONS: ReadonlySet<string> = new Set(['FieldValueRequired', 'FieldValueForbidden', 'FieldValueDuplicate']);

/** A rule fails on a value of another type than the schema has, and on one that holds such a value if it looks there. */
function answerTo(
  rule: CelRule,
  schema: Schema,
  value: Json,
  transition: { readonly old: Json | undefined } | undefined,
  root: boolean,
  sound: boolean,
): RuleAnswer {
  if (!hasType(value, schema))
    return { kind: 'fails', broken: true, message: `rule ${rule.rule} cannot be evaluated: invalid data` };
  const answer = evaluateRule(rule, schema, value, transition, root);
  const odd = !sound || (transition?.old !== undefined && isMistyped(transition.old, schema));
  return odd ? { kind: 'unknown', broken: true, why: 'may look at a value of the wrong type' } : answer;
}

/** Whether a value, or anything in it, is of another type than the schema has. */
function isMistyped(value: Json, schema: Schema): boolean {
  if (value === null) return schema.nullable !== true;
  if (!hasType(value, schema)) return true;
  if (typeof value === 'string') return textForRules(value, schema) === undefined;
  if (isNumber(value)) return schema.type !== 'number' && !isInt64(value);
  const { additionalProperties: additional, items, properties } = schema;
  if (isList(value)) return items !== undefined && value.some((item) => isMistyped(item, items));
  if (!isObject(value)) return false;
  for (const key of Object.keys(value)) {
    const of = own(properties, key) ?? (typeof additional === 'object' ? additional : undefined);
    if (of !== undefined && isMistyped(value[key] as Json, of)) return true;
  }
  return false;
}

/** `.spec.foo` or `['a.b']`. */
function fieldOf(text: string): Path {
  return [...text.matchAll(/\.([A-Za-z_][A-Za-z0-9_]*)|\['([^']*)'\]/g)].map(
    ([, dotted, quoted]) => dotted ?? quoted ?? '',
  );
}
