import { evaluateRule } from './cel.ts';
import { equal, isList, isObject, type Json, own } from './json.ts';
import type { Path } from './path.ts';
import type { CelRule, Schema } from './schema.ts';
import { correlate, type ValidationContext } from './validate.ts';

/**
 * Evaluates the rules of a schema on a value, as the API server does (apiextensions-apiserver, pkg/apiserver/schema/cel). A rule that compares with the old value is evaluated only
 * where there is one to compare with. A rule that holds no longer is let alone where its node did not change and the server ratchets; a comparison with the old value never is.
 */
export function checkRules(
  value: Json,
  schema: Schema,
  path: Path,
  old: Json | undefined,
  context: ValidationContext,
): void {
  const unchanged = context.ratchets && old !== undefined && equal(value, old);
  for (const rule of schema['x-kubernetes-validations'] ?? []) {
    const compares = isTransition(rule);
    if (compares && old === undefined && rule.optionalOldSelf !== true) continue;
    const answer = evaluateRule(rule, schema, value, compares ? { old } : undefined, path.length === 0);
    if (answer.kind === 'holds' || (unchanged && !compares)) continue;
    if (answer.kind === 'unknown') {
      context.doubts.push({ path, keyword: 'x-kubernetes-validations', why: `the rule ${rule.rule} ${answer.why}` });
      continue;
    }
    const at = rule.fieldPath === undefined ? path : [...path, ...fieldOf(rule.fieldPath)];
    const reason =
      rule.reason === 'FieldValueRequired' ||
      rule.reason === 'FieldValueForbidden' ||
      rule.reason === 'FieldValueDuplicate'
        ? rule.reason
        : 'FieldValueInvalid';
    context.causes.push({
      reason,
      path: at,
      owner: path,
      keyword: 'x-kubernetes-validations',
      message: answer.message,
    });
  }
  if (isList(value)) {
    const { items } = schema;
    if (items === undefined) return;
    const counterpart = correlate(schema, old);
    for (const [index, item] of value.entries()) checkRules(item, items, [...path, index], counterpart(item), context);
    return;
  }
  if (!isObject(value)) return;
  const before = isObject(old) ? old : undefined;
  for (const [key, inner] of Object.entries(value)) {
    const { additionalProperties: additional } = schema;
    const of = own(schema.properties, key) ?? (typeof additional === 'object' ? additional : undefined);
    if (of !== undefined) checkRules(inner, of, [...path, key], own(before, key), context);
  }
}

/** Whether a rule speaks of the old value. */
export function isTransition(rule: CelRule): boolean {
  return /\boldSelf\b/.test(rule.rule);
}

/** `.spec.foo` or `['a.b']`. */
function fieldOf(text: string): Path {
  return [...text.matchAll(/\.([A-Za-z_][A-Za-z0-9_]*)|\['([^']*)'\]/g)].map(
    ([, dotted, quoted]) => dotted ?? quoted ?? '',
  );
}
