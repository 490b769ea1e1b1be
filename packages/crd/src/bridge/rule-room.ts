import { canonicalRule } from '../diff/diff-rules.ts';
import { own } from '../schema/json.ts';
import { type Path, schemaPathText } from '../schema/path.ts';
import type { CelRule, Schema } from '../schema/schema.ts';
import { isTransition, traitsOf } from '../schema/traits.ts';
import { type Reach, reachOf } from '../validate/cel-reach.ts';
import { below, type Cardinality, isNoLarger, timesOf } from './rule-size.ts';

const RULES = 'x-kubernetes-validations';

/** A rule that a schema goes without. */
export interface LeftRule {
  readonly path: string;
  readonly rule: CelRule;
}

/** A schema without the rules that no server would have with it. */
export interface Roomy {
  readonly schema: Schema;
  readonly left: readonly LeftRule[];
}

/**
 * Leaves out rules until a server takes the schema. It estimates what each costs at worst, and all of them together, before it takes a definition; and where values have no counterpart
 * among the old ones it takes no rule that compares with them. `taken` are schemas that servers do take: what is left are rules of one of these, none of which can cost more than it does there.
 */
export function withRoom(schema: Schema, taken: readonly Schema[]): Roomy {
  if (!traitsOf(schema).rules || taken.includes(schema)) return { schema, left: [] };
  const all = taken.map((than) => {
    const left: LeftRule[] = [];
    const next = walk(schema, than, { path: [], times: 1, thanTimes: 1, correlated: true }, left);
    return { schema: next, left };
  });
  return all.reduce((best, one) => (one.left.length < best.left.length ? one : best));
}

interface Place {
  readonly path: Path;
  readonly times: Cardinality;
  readonly thanTimes: Cardinality;
  /** The value has a counterpart among the old ones. */
  readonly correlated: boolean;
}

function walk(schema: Schema, than: Schema | undefined, place: Place, left: LeftRule[]): Schema {
  if (!traitsOf(schema).rules) return schema;
  const next: { -readonly [K in keyof Schema]: Schema[K] } = { ...schema };
  const { additionalProperties: additional, items, properties, [RULES]: rules } = schema;
  if (rules !== undefined) {
    const kept = rules.filter((rule) => hasRoom(rule, schema, than, place));
    for (const rule of rules) if (!kept.includes(rule)) left.push({ path: schemaPathText(place.path), rule });
    if (kept.length > 0) next[RULES] = kept;
    else delete next[RULES];
  }
  const inner = (part: string): Place => ({
    path: [...place.path, part],
    times: below(schema, place.times),
    thanTimes: than === undefined ? undefined : below(than, place.thanTimes),
    correlated:
      place.correlated &&
      (part === '[]' ? schema['x-kubernetes-list-type'] === 'map' : schema['x-kubernetes-map-type'] !== 'atomic'),
  });
  if (properties !== undefined)
    next.properties = Object.fromEntries(
      Object.entries(properties).map(([name, of]) => [name, walk(of, own(than?.properties, name), inner(name), left)]),
    );
  if (items !== undefined) next.items = walk(items, than?.items, inner('[]'), left);
  if (typeof additional === 'object') {
    const other = than?.additionalProperties;
    next.additionalProperties = walk(additional, typeof other === 'object' ? other : undefined, inner('*'), left);
  }
  return next;
}

function hasRoom(rule: CelRule, schema: Schema, than: Schema | undefined, place: Place): boolean {
  if (than === undefined || (!place.correlated && isTransition(rule))) return false;
  const text = canonicalRule(rule);
  if (!(than[RULES] ?? []).some((other) => canonicalRule(other) === text)) return false;
  if (timesOf(schema, place.times) > timesOf(than, place.thanTimes)) return false;
  return reachesOf(rule).every((reach) => isNoLarger(schema, than, reach));
}

/** What a rule can see: in its own text, and in the expression that makes its message. */
export function reachesOf({ messageExpression, rule }: CelRule): readonly Reach[] {
  return [rule, ...(messageExpression === undefined ? [] : [messageExpression])].map(reachOf);
}
