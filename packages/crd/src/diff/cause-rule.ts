import { own, showJson } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';
import { isTransition } from '../schema/traits.ts';
import type { Cause } from '../validate/cause.ts';
import { ruleClass } from './diff-rules.ts';
import { below, enumRule, type Place, type RuleId } from './step.ts';

/** The schema at a path of an object, with its place; undefined where there is none. */
export function schemaAt(root: Schema, path: Path): { readonly schema: Schema; readonly place: Place } | undefined {
  let schema = root;
  let place: Place = { version: '', path: [] };
  let keys: ReadonlySet<string> = new Set();
  for (const part of path) {
    const { additionalProperties: additional, items } = schema;
    const inner =
      typeof part === 'number'
        ? items
        : (own(schema.properties, part) ?? (typeof additional === 'object' ? additional : undefined));
    if (inner === undefined) return undefined;
    const at = below(place, schema, typeof part === 'number' ? '[]' : part);
    place = typeof part === 'string' && keys.has(part) ? { ...at, key: true } : at;
    keys = new Set(typeof part === 'number' ? (schema['x-kubernetes-list-map-keys'] ?? []) : []);
    schema = inner;
  }
  return { schema, place };
}

const BY_KEYWORD: Readonly<Record<string, RuleId>> = {
  maxItems: 'N7',
  maxProperties: 'N7',
  minItems: 'N8',
  minProperties: 'N8',
  type: 'N11',
  'x-kubernetes-list-type': 'N19',
};

/** The class of narrowing that a refusal belongs to. `now` is the schema that took the value so far. */
export function causeRule(cause: Cause, now: Schema | undefined, target: Schema): RuleId {
  const { keyword, owner, path } = cause;
  const known = BY_KEYWORD[keyword];
  if (known !== undefined) return known;
  if (keyword === 'required') return owner.length === 1 && owner[0] === 'status' ? 'N10' : 'N9';
  if (keyword === 'x-kubernetes-validations') return ruleClass({ rule: cause.rule ?? '' }, { path: owner }, 'narrows');
  if (keyword !== 'enum') return path[0] === 'metadata' ? 'N36' : 'N6';
  const at = schemaAt(target, path);
  const before = now === undefined ? undefined : schemaAt(now, path)?.schema;
  return enumRule(at?.place ?? { version: '', path }, before !== undefined && before.enum === undefined);
}

/** Whether the value at fault is protected by a rule that compares it with what it was: a heal is then refused as well. */
export function isHealBlocked(cause: Cause, target: Schema): boolean {
  for (let length = cause.owner.length; length > 0; length -= 1) {
    const at = schemaAt(target, cause.owner.slice(0, length))?.schema;
    if (at?.['x-kubernetes-validations']?.some(isTransition) === true) return true;
  }
  return false;
}

/** What is wrong, without the value. */
export function causeText(cause: Cause, target: Schema): string {
  const { keyword } = cause;
  if (keyword === 'x-kubernetes-validations') return cause.message;
  const of = schemaAt(target, keyword === 'required' ? cause.owner : cause.path)?.schema ?? {};
  switch (keyword) {
    case 'enum':
      return (of.enum ?? []).length > 4
        ? `none of the ${of.enum?.length} values of its enum`
        : `none of ${(of.enum ?? []).map(showJson).join(', ')}`;
    case 'required':
      return 'required, and absent';
    case 'type':
      return `not of type ${of['x-kubernetes-int-or-string'] === true ? 'integer or string' : (of.type ?? '')}`;
    case 'x-kubernetes-list-type':
      return 'occurs twice in its list';
    case 'format':
    case 'pattern':
    case 'maxLength':
    case 'minLength':
    case 'maxItems':
    case 'minItems':
    case 'maxProperties':
    case 'minProperties':
    case 'maximum':
    case 'minimum':
    case 'multipleOf':
      return `breaks ${keyword} ${of[keyword] ?? ''}`.trimEnd();
    default:
      return `breaks ${keyword}`;
  }
}
