import type { CelRule, Json, Schema } from '@drydock/crd';
import * as fc from 'fast-check';
import { SHAPES, valuesOfShape } from './crd-shapes.ts';

// Schemas that an API server takes, and values that fit them more often than not. Whatever has a rule has bounds, because the server estimates the cost of rules before it takes a
// definition.

interface Place {
  readonly depth: number;
  /** A stored value belongs to the value here: rules may speak of it. */
  readonly correlated: boolean;
}

const NAMES = ['a', 'b', 'c', 'd'] as const;
const WORDS = ['x', 'y', 'z', 'xy', 'unknown', '💥💥', ''] as const;
const small = fc.integer({ min: 0, max: 4 });
const word = fc.constantFrom<string>(...WORDS);

/** Texts of each format, right ones first. */
const FORMATTED: Readonly<Record<string, readonly string[]>> = {
  'date-time': ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.5+01:00', '2026-13-01T00:00:00Z', '2026-01-01', 'x'],
  date: ['2026-01-01', '2026-02-30', 'x'],
  duration: ['1h', '1h30m', '3 days', '-5s', '1x', ''],
  ipv4: ['10.0.0.1', '010.0.0.1', '256.0.0.1', '::1'],
  ipv6: ['::1', 'fe80::1%eth0', '10.0.0.1', 'x'],
  cidr: ['10.0.0.0/8', '::/0', '10.0.0.0', '10.0.0.0/33'],
  uuid: ['6ba7b810-9dad-11d1-80b4-00c04fd430c8', '6ba7b8109dad11d180b400c04fd430c8', '6ba7b810', ''],
  uuid4: ['f47ac10b-58cc-4372-a567-0e02b2c3d479', '6ba7b810-9dad-11d1-80b4-00c04fd430c8'],
  mac: ['00:00:5e:00:53:01', '00-00-5e-00-53-01', '0000.5e00.5301', '00:00'],
  byte: ['aGVsbG8=', 'aGVsbG8', '', '?'],
  email: ['a@b.example', 'a', 'A <a@b.example>'],
  hostname: ['a.example', 'a_b', '-a', ''],
  uri: ['https://a.example/x', '/x', 'x', '1:x', ''],
  'k8s-short-name': ['a-b', 'A', 'a.b', ''],
  'k8s-long-name': ['a.b', 'A', ''],
  hexcolor: ['#fff', '#ffff', 'fff'],
  'unheard-of': ['x', ''],
};

/** A key that is there one time in `times`. */
function sometimes(key: string, of: fc.Arbitrary<unknown>, times = 3): fc.Arbitrary<object> {
  return fc.tuple(fc.nat(times - 1), of).map(([roll, value]) => (roll === 0 ? { [key]: value } : {}));
}

function merged(...parts: readonly fc.Arbitrary<object>[]): fc.Arbitrary<Schema> {
  return fc.tuple(...parts).map((all) => Object.assign({}, ...all) as Schema);
}

const nullable = sometimes('nullable', fc.constant(true), 6);

function rules(place: Place, plain: readonly string[], compares: readonly string[]): fc.Arbitrary<object> {
  const written: fc.Arbitrary<CelRule>[] = [fc.constantFrom(...plain).map((rule) => ({ rule }))];
  if (place.correlated && compares.length > 0) {
    written.push(fc.constantFrom(...compares).map((rule) => ({ rule })));
    written.push(fc.constant({ rule: '!oldSelf.hasValue() || self == oldSelf.value()', optionalOldSelf: true }));
  }
  const of = fc.oneof({ weight: 3, arbitrary: written[0] as fc.Arbitrary<CelRule> }, ...written.slice(1));
  return sometimes('x-kubernetes-validations', fc.array(of, { minLength: 1, maxLength: 1 }), 5);
}

function text(place: Place): fc.Arbitrary<Schema> {
  const type = fc.constant({ type: 'string' });
  const enums = fc.uniqueArray(word, { minLength: 1, maxLength: 4 });
  return fc.oneof(
    merged(
      type,
      nullable,
      enums.map((values) => ({ enum: values })),
    ),
    merged(
      type,
      enums.map((values) => ({ enum: values, default: values[0] ?? '' })),
    ),
    merged(
      type,
      nullable,
      sometimes('minLength', fc.constantFrom(1, 2)),
      small.map((maxLength) => ({ maxLength })),
      sometimes('pattern', fc.constantFrom('^x', 'y$', '^[a-z]*$', '(?i)^X', '\\p{L}')),
      rules(place, ["self != 'x'", 'size(self) < 2', "self.startsWith('x')"], ['self == oldSelf']),
    ),
    merged(
      type,
      fc.constantFrom(...Object.keys(FORMATTED)).map((format) => ({ format })),
    ),
    merged(
      type,
      fc.constantFrom<object>(
        { anyOf: [{ maxLength: 1 }, { enum: ['xy'] }] },
        { oneOf: [{ minLength: 1 }, { pattern: '^x' }] },
        { not: { pattern: '^x' } },
        { allOf: [{ minLength: 1 }, { maxLength: 2 }] },
      ),
    ),
  );
}

function number(place: Place): fc.Arbitrary<Schema> {
  const bounds = [
    sometimes('maximum', small),
    sometimes('multipleOf', fc.constantFrom(1, 2)),
    fc
      .option(fc.tuple(small, fc.boolean()), { freq: 3, nil: undefined })
      .map((low) => (low === undefined ? {} : { minimum: low[0], exclusiveMinimum: low[1] })),
  ];
  return fc.oneof(
    merged(
      fc.constantFrom({ type: 'integer' }, { type: 'integer', format: 'int32' }, { type: 'integer', format: 'int64' }),
      nullable,
      ...bounds,
      rules(place, ['self < 3', 'self % 2 == 0'], ['self >= oldSelf']),
    ),
    merged(fc.constant({ type: 'number' }), ...bounds, rules(place, ['self < 1.5'], [])),
    merged(fc.constant({ type: 'integer', default: 2 })),
    fc.constantFrom<Schema>(
      { 'x-kubernetes-int-or-string': true },
      { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }], pattern: '^x' },
      { 'x-kubernetes-int-or-string': true, maximum: 2, maxLength: 1 },
    ),
  );
}

const truth: fc.Arbitrary<Schema> = fc.constantFrom<Schema>(
  { type: 'boolean' },
  { type: 'boolean', default: true },
  { type: 'boolean', enum: [true] },
);

const size: fc.Arbitrary<object> = fc
  .tuple(fc.integer({ min: 1, max: 3 }), fc.option(fc.constantFrom(1, 2), { freq: 3, nil: undefined }))
  .map(([maxItems, minItems]) => ({ maxItems, ...(minItems === undefined ? {} : { minItems }) }));

function lists(place: Place): fc.Arbitrary<Schema> {
  const below = { depth: place.depth - 1, correlated: false };
  const type = fc.constant({ type: 'array' });
  const whole = merged(
    type,
    schemaAt(below).map((items) => ({ items })),
    sometimes('x-kubernetes-list-type', fc.constant('atomic'), 2),
    size,
    nullable,
    rules(place, ['size(self) != 2'], []),
  );
  const scalar = fc.constantFrom<Schema>({ type: 'string' }, { type: 'integer' }, { type: 'string', enum: ['x', 'y'] });
  const set = merged(
    type,
    fc.constant({ 'x-kubernetes-list-type': 'set' }),
    scalar.map((items) => ({ items })),
    size,
  );
  const keyed = fc
    .tuple(
      objectAt({ depth: below.depth, correlated: place.correlated }),
      fc.constantFrom<Schema>(
        { type: 'string' },
        { type: 'string', default: 'x' },
        { type: 'string', enum: ['x', 'y'] },
      ),
    )
    .map(([items, key]) => ({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['key'],
      items: {
        ...items,
        properties: { ...items.properties, key },
        required: [...(items.required ?? []), ...(key.default === undefined ? ['key'] : [])],
        nullable: false,
      },
    }));
  return fc.oneof(whole, set, merged(keyed, size));
}

function maps(place: Place): fc.Arbitrary<Schema> {
  return merged(
    fc.constant({ type: 'object' }),
    nullable,
    schemaAt({ ...place, depth: place.depth - 1 }).map((additionalProperties) => ({ additionalProperties })),
    fc.integer({ min: 1, max: 3 }).map((maxProperties) => ({ maxProperties })),
    sometimes('minProperties', fc.constant(1), 5),
    rules(place, ['size(self) < 2', "!('a' in self)"], []),
  );
}

/** Schemas of objects with named fields. */
function objectAt(place: Place): fc.Arbitrary<Schema> {
  const fields = fc
    .uniqueArray(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 4 })
    .chain((names) =>
      fc.record(Object.fromEntries(names.map((name) => [name, schemaAt({ ...place, depth: place.depth - 1 })]))),
    );
  return fields.chain((properties) => {
    const names = Object.keys(properties);
    const [one = 'a', other = one] = names;
    return merged(
      fc.constant({ type: 'object', properties }),
      sometimes('required', fc.subarray(names), 2),
      sometimes('x-kubernetes-preserve-unknown-fields', fc.constant(true), 5),
      sometimes('minProperties', fc.constant(1), 8),
      sometimes('oneOf', fc.constant([{ required: [one] }, { required: [other] }]), 8),
      rules(place, [`has(self.${one}) || !has(self.${other})`, `!has(self.${one})`], []),
    );
  });
}

/** Without those that have no type for a rule: no server takes one around them. */
const typed = SHAPES.filter(
  ({ schema }) => !/preserve-unknown|additionalProperties":true/.test(JSON.stringify(schema)),
);
const odd = fc.constantFrom(...typed.filter(({ compares }) => compares !== true).map(({ schema }) => schema));
const anyOdd = fc.constantFrom(...typed.map(({ schema }) => schema));

function schemaAt(place: Place): fc.Arbitrary<Schema> {
  const leaf = fc.oneof({ weight: 4, arbitrary: text(place) }, { weight: 2, arbitrary: number(place) }, truth, {
    weight: 2,
    arbitrary: place.correlated ? anyOdd : odd,
  });
  if (place.depth <= 0) return leaf;
  return fc.oneof(
    { weight: 4, arbitrary: leaf },
    { weight: 2, arbitrary: objectAt(place) },
    { weight: 2, arbitrary: lists(place) },
    { weight: 1, arbitrary: maps(place) },
  );
}

/** Schemas of whole resources, with or without rules at the root. */
export const resourceSchemas: fc.Arbitrary<Schema> = fc
  .tuple(
    objectAt({ depth: 2, correlated: true }),
    objectAt({ depth: 2, correlated: true }),
    fc.constantFrom<readonly string[]>([], [], ['spec'], ['spec', 'status']),
    fc.constantFrom<readonly string[]>(
      [],
      [],
      ['has(self.spec) || !has(self.status)', "!self.metadata.name.endsWith('made')"],
    ),
  )
  .map(([spec, status, required, root]) => ({
    type: 'object',
    properties: { spec, status },
    ...(required.length === 0 ? {} : { required }),
    ...(root.length === 0 ? {} : { 'x-kubernetes-validations': root.map((rule) => ({ rule })) }),
  }));

/** Values for a schema: right ones, nearly right ones, and now and then something else altogether. */
export function valuesFor(schema: Schema, depth = 6): fc.Arbitrary<Json> {
  const wrong = fc.constantFrom<Json>(null, 'x', 3, true, {}, []);
  return fc.oneof({ weight: 16, arbitrary: fitting(schema, depth) }, wrong);
}

function fitting(schema: Schema, depth: number): fc.Arbitrary<Json> {
  const values = valuesOfShape(schema);
  if (values !== undefined) return fc.constantFrom(...values);
  if (schema['x-kubernetes-int-or-string'] === true) return fc.oneof(small, word);
  switch (schema.type) {
    case 'string':
      return texts(schema);
    case 'integer':
      return fc.oneof({ weight: 20, arbitrary: small }, fc.constantFrom(-1, 3_000_000_000, 1.5, 1e19));
    case 'number':
      return fc.oneof(small, fc.constantFrom(0.5, 1.5, 2.5));
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(depth > 0 ? valuesFor(schema.items ?? {}, depth - 1) : word, { maxLength: depth > 0 ? 3 : 0 });
    case 'object':
      return depth > 0 ? fieldsFor(schema, depth) : fc.constant({});
    default:
      return fc.oneof(word, small, fc.constant({}));
  }
}

function texts(schema: Schema): fc.Arbitrary<Json> {
  const { format = '', pattern } = schema;
  const formatted = FORMATTED[format];
  if (schema.enum !== undefined) return fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...schema.enum) }, word);
  if (formatted !== undefined) return fc.constantFrom(...formatted);
  if (pattern === undefined || !pattern.startsWith('^')) return word;
  try {
    // Not every expression of RE2 is one here.
    return fc.oneof({ weight: 4, arbitrary: fc.stringMatching(new RegExp(pattern)) }, word);
  } catch {
    return word;
  }
}

function fieldsFor(schema: Schema, depth: number): fc.Arbitrary<Json> {
  const { additionalProperties: additional, properties = {}, required = [] } = schema;
  if (typeof additional === 'object')
    return fc.dictionary(fc.constantFrom(...NAMES), valuesFor(additional, depth - 1), { maxKeys: 3 }).map(plain);
  const known = Object.entries(properties).map(([key, of]) => {
    const there = required.includes(key) ? 12 : Object.keys(properties).length > 12 ? 1 : 2;
    return fc
      .tuple(fc.integer({ min: 0, max: there }), valuesFor(of, depth - 1))
      .map(([dice, value]) => (dice === 0 || (there === 1 && dice === 1 && key > 'm') ? [] : [[key, value] as const]));
  });
  const unknown = fc.dictionary(fc.constantFrom('a', 'd', 'stray'), word, { maxKeys: 1 });
  return fc
    .tuple(unknown, ...known)
    .map(([others, ...fields]): Json => plain({ ...others, ...Object.fromEntries(fields.flat()) }));
}

/** Dictionaries have no prototype, which comparisons of objects mind. */
function plain(value: Readonly<Record<string, Json>>): Json {
  return { ...value };
}
