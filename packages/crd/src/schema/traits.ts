import type { CelRule, Schema } from './schema.ts';

/** What a schema has, at its node or below: a walk leaves out what has nothing for it. */
export interface Traits {
  /** Validation rules, and such as compare with the old value. */
  readonly rules: boolean;
  readonly transitions: boolean;
  /** Rules whose old value is optional: servers of era E0 take no such definition. */
  readonly optionals: boolean;
  /** Lists of type set or map. */
  readonly lists: boolean;
  /** Resources within. */
  readonly embedded: boolean;
  /** Nodes that may be null. */
  readonly nulls: boolean;
}

const known = new WeakMap<Schema, Traits>();

/** The traits of a schema. */
export function traitsOf(schema: Schema): Traits {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const { additionalProperties: additional, items, properties } = schema;
  const below = Object.values(properties ?? {});
  if (items !== undefined) below.push(items);
  if (typeof additional === 'object') below.push(additional);
  const rules = schema['x-kubernetes-validations'] ?? [];
  const traits = {
    rules: rules.length > 0,
    transitions: rules.some(isTransition),
    optionals: rules.some(({ optionalOldSelf }) => optionalOldSelf === true),
    lists: ['set', 'map'].includes(schema['x-kubernetes-list-type'] ?? ''),
    embedded: schema['x-kubernetes-embedded-resource'] === true,
    nulls: schema.nullable === true,
  };
  for (const inner of below.map(traitsOf)) {
    traits.rules ||= inner.rules;
    traits.transitions ||= inner.transitions;
    traits.optionals ||= inner.optionals;
    traits.lists ||= inner.lists;
    traits.embedded ||= inner.embedded;
    traits.nulls ||= inner.nulls;
  }
  known.set(schema, traits);
  return traits;
}

/** Whether a rule speaks of the old value. */
export function isTransition(rule: CelRule): boolean {
  if (!rule.rule.includes('oldSelf')) return false;
  // Not in what is quoted.
  return /\boldSelf\b/.test(rule.rule.replaceAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, ''));
}
