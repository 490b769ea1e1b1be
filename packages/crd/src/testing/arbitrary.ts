import * as fc from 'fast-check';
import type { Json } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';

/** Names are few, so that schemas and objects meet. */
const name: fc.Arbitrary<string> = fc.constantFrom('a', 'b', 'c', 'd');
const word: fc.Arbitrary<string> = fc.constantFrom('x', 'y', 'z', 'xy', 'unknown', '💥💥', '');
const small: fc.Arbitrary<number> = fc.integer({ min: 0, max: 4 });

function sometimes<T>(of: fc.Arbitrary<T>, key: string): fc.Arbitrary<Readonly<Record<string, T>>> {
  return fc.option(of, { freq: 3 }).map((value) => (value === null ? {} : { [key]: value }));
}

function merged(...parts: readonly fc.Arbitrary<object>[]): fc.Arbitrary<Schema> {
  return fc.tuple(...parts).map((all) => Object.assign({}, ...all) as Schema);
}

const nullable = sometimes(fc.constant(true), 'nullable');

const text = merged(
  fc.constant({ type: 'string' }),
  nullable,
  sometimes(fc.uniqueArray(word, { minLength: 1, maxLength: 4 }), 'enum'),
  sometimes(small, 'maxLength'),
  sometimes(fc.constantFrom(1, 2), 'minLength'),
  sometimes(fc.constantFrom('^x', 'y$', '^[a-z]*$'), 'pattern'),
  sometimes(fc.constant([{ rule: "self != 'x'" }]), 'x-kubernetes-validations'),
);

const number = merged(
  fc.constantFrom({ type: 'integer' }, { type: 'number' }, { 'x-kubernetes-int-or-string': true }),
  nullable,
  sometimes(small, 'maximum'),
  sometimes(small, 'minimum'),
  sometimes(fc.constant(true), 'exclusiveMinimum'),
  sometimes(fc.constantFrom(1, 2), 'multipleOf'),
).map((schema) => (schema.minimum === undefined ? { ...schema, exclusiveMinimum: false } : schema));

const truth = merged(fc.constant({ type: 'boolean' }), sometimes(fc.boolean(), 'default'));

const bounds = merged(sometimes(small, 'maxItems'), sometimes(fc.constantFrom(1, 2), 'minItems'));

/** Structural schemas of some depth, with the keywords that decide something. */
export function schemas(depth = 3): fc.Arbitrary<Schema> {
  const leaf = fc.oneof(text, number, truth);
  if (depth === 0) return leaf;
  const inner = schemas(depth - 1);
  const map = merged(
    fc.constant({ type: 'object' }),
    nullable,
    inner.map((additionalProperties) => ({ additionalProperties })),
    sometimes(small, 'maxProperties'),
  );
  const list = merged(
    fc.constant({ type: 'array' }),
    inner.map((items) => ({ items })),
    bounds,
    nullable,
    sometimes(fc.constant('atomic'), 'x-kubernetes-list-type'),
  );
  const set = merged(
    fc.constant({ type: 'array', 'x-kubernetes-list-type': 'set' }),
    text.map((items) => ({ items: { ...items, nullable: false } })),
    bounds,
  );
  const keyed = merged(
    objects(inner).map((items) => ({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['key'],
      items: { ...items, properties: { ...items.properties, key: { type: 'string' } }, required: ['key'] },
    })),
    bounds,
  );
  return fc.oneof({ weight: 3, arbitrary: leaf }, { weight: 3, arbitrary: objects(inner) }, map, list, set, keyed);
}

/** Schemas of objects with named fields. */
export function objects(inner: fc.Arbitrary<Schema>): fc.Arbitrary<Schema> {
  return fc
    .dictionary(name, inner, { maxKeys: 4 })
    .chain((properties) =>
      merged(
        fc.constant({ type: 'object', properties }),
        sometimes(fc.subarray(Object.keys(properties)), 'required'),
        sometimes(fc.constant(true), 'x-kubernetes-preserve-unknown-fields'),
      ),
    );
}

/** Values that fit a schema more often than not, so that legal and nearly legal ones are both common. */
export function valuesFor(schema: Schema): fc.Arbitrary<Json> {
  const fitting = fittingFor(schema);
  return fc.oneof({ weight: 12, arbitrary: fitting }, fc.constantFrom<Json>(null, 'x', 3, true, {}, []));
}

function fittingFor(schema: Schema): fc.Arbitrary<Json> {
  if (schema['x-kubernetes-int-or-string'] === true) return fc.oneof(small, word);
  switch (schema.type) {
    case 'string':
      return schema.enum === undefined
        ? word
        : fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...schema.enum) }, word);
    case 'integer':
      return small;
    case 'number':
      return fc.oneof(small, fc.constantFrom(0.5, 1.5));
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(valuesFor(schema.items ?? {}), { maxLength: 4 });
    case 'object':
      return fieldsFor(schema);
    default:
      return word;
  }
}

function fieldsFor(schema: Schema): fc.Arbitrary<Json> {
  const { additionalProperties: additional, properties = {} } = schema;
  if (typeof additional === 'object')
    return fc.dictionary(name, valuesFor(additional), { maxKeys: 3 }).map((value) => ({ ...value }));
  const known = Object.fromEntries(Object.entries(properties).map(([key, of]) => [key, valuesFor(of)]));
  const fields = fc.record(known, { requiredKeys: [] }).map((value) => ({ ...value }) as Json);
  if (schema['x-kubernetes-preserve-unknown-fields'] !== true) return fields;
  return fc
    .tuple(fields, fc.dictionary(name, word, { maxKeys: 2 }))
    .map(([some, others]): Json => ({ ...others, ...(some as object) }));
}

/** A schema and another one that grew out of it, as releases do. */
export function neighbours(of: fc.Arbitrary<Schema> = schemas()): fc.Arbitrary<readonly [Schema, Schema]> {
  return fc
    .tuple(of, of, fc.array(fc.nat(), { minLength: 24, maxLength: 24 }))
    .map(([a, b, dice]) => [a, graft(a, b, dice, 0)]);
}

/** Takes some nodes of `b` in the place of those of `a`. */
function graft(a: Schema, b: Schema, dice: readonly number[], at: number): Schema {
  const roll = dice[at % dice.length] ?? 0;
  if (roll % 5 === 0) return b;
  if (a.type !== b.type) return a;
  if (a.type === 'object' && a.properties !== undefined && b.properties !== undefined) {
    const properties = Object.fromEntries(
      Object.keys({ ...a.properties, ...b.properties }).flatMap(
        (key, index): readonly (readonly [string, Schema])[] => {
          const [x, y] = [a.properties?.[key], b.properties?.[key]];
          if (x !== undefined && y !== undefined) return [[key, graft(x, y, dice, at + index + 1)]];
          return roll % 3 === 0 ? [] : [[key, (x ?? y) as Schema]];
        },
      ),
    );
    const required = (roll % 2 === 0 ? a : b).required?.filter((key) => Object.hasOwn(properties, key));
    const { required: _before, ...rest } = a;
    return { ...rest, properties, ...(required === undefined ? {} : { required }) };
  }
  const { type: _type, items: _items, properties: _properties, additionalProperties: _additional, ...more } = b;
  if (a['x-kubernetes-list-type'] === 'map' || b['x-kubernetes-list-type'] === 'map') return a;
  return roll % 2 === 0 ? a : { ...a, ...more };
}
