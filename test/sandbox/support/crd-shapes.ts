import type { Json, Schema } from '@drydock/crd';
import { ODD_TEXTS } from './crd-formats.ts';

// Shapes of schemas that only a few definitions have, each with values on both sides of what they say.

/** A schema with values for it. */
export interface Shape {
  readonly schema: Schema;
  readonly values: readonly Json[];
  /** Its rules compare with the old value, so it may stand only where there is one. */
  readonly compares?: boolean;
}

const rule = (text: string, more: object = {}): Schema => ({ 'x-kubernetes-validations': [{ rule: text, ...more }] });
const text = (more: object = {}): Schema => ({ type: 'string', maxLength: 12, ...more });
const object = (properties: Readonly<Record<string, Schema>>, more: object = {}): Schema => ({
  type: 'object',
  properties,
  ...more,
});
const list = (items: Schema, more: object = {}): Schema => ({ type: 'array', maxItems: 4, items, ...more });
const ANY = { 'x-kubernetes-preserve-unknown-fields': true };
const SET = { 'x-kubernetes-list-type': 'set' };
const keyed = (...keys: readonly string[]): object => ({
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
});

const NUMBERS = [0, 1, 2, 3, -1, 0.25, 0.3, 0.5, 1.5, 2.5, -0.5, 7.5, 1e15, 1.000000000001, 3e9, 1e19];
const numbers: readonly Shape[] = [
  { maximum: 2.5 },
  { maximum: 2.5, exclusiveMaximum: true },
  { minimum: 0.5 },
  { minimum: 1.5, exclusiveMinimum: true },
  { minimum: -0.5, exclusiveMinimum: true },
  { multipleOf: 0.1 },
  { multipleOf: 0.5 },
  { multipleOf: 1.5 },
  { multipleOf: 2.5 },
  { multipleOf: 3 },
  { enum: [1, 2.5, 3] },
].flatMap((more) => [
  { schema: { type: 'number', ...more }, values: NUMBERS },
  ...(more.enum === undefined ? [{ schema: { type: 'integer', ...more }, values: NUMBERS }] : []),
]);

const formats: readonly Shape[] = Object.entries(ODD_TEXTS).map(([format, values]) => ({
  schema: { type: 'string', format },
  values,
}));

const TIMES = [
  '2026-01-01T00:00:00Z',
  '2026-01-01T01:00:00+02:00',
  '2025-12-31T23:30:00.5Z',
  '2026-01-01T00:00:00.0000001Z',
];
const SPANS = ['9s', '10s', '2m', '1h', '90 minutes', '-1s'];
const rules: readonly Shape[] = [
  { schema: text({ format: 'duration', ...rule("self < duration('2m')") }), values: SPANS },
  { schema: text({ format: 'duration', ...rule("duration(self) < duration('2m')") }), values: SPANS },
  {
    schema: text({ format: 'date-time', maxLength: 40, ...rule("self < timestamp('2026-01-01T00:00:00Z')") }),
    values: TIMES,
  },
  {
    schema: text({ format: 'date', ...rule("self < timestamp('2026-01-01T00:00:00Z')") }),
    values: ['2025-12-31', '2026-01-01'],
  },
  { schema: text({ format: 'byte', ...rule('size(self) < 3') }), values: ['aGk=', 'aGVsbG8=', 'a+/=', 'a-_='] },
  {
    schema: object(
      { a: { type: 'string', format: 'duration' }, b: { type: 'string', format: 'duration' } },
      rule('!has(self.a) || !has(self.b) || self.a < self.b'),
    ),
    values: SPANS.flatMap((a): Json[] => [{ a, b: '10s' }, { a: '9s', b: a }, { a }]),
  },
  {
    schema: object({ a: text({ nullable: true }), b: text() }, rule('has(self.a) != has(self.b)')),
    values: [{ a: null }, { a: null, b: 'x' }, { a: 'x' }, { b: 'x' }, {}],
  },
  { schema: text({ ...rule("self != 'x'", { message: 'no x', reason: 'FieldValueForbidden' }) }), values: ['x', 'y'] },
  {
    schema: object(
      { a: text() },
      rule("!has(self.a) || self.a != 'x'", {
        fieldPath: '.a',
        reason: 'FieldValueRequired',
        messageExpression: "'not ' + self.a",
      }),
    ),
    values: [{ a: 'x' }, { a: 'y' }, {}],
  },
  {
    schema: object(
      { a: text(), 'b.c': text() },
      rule("!has(self.b__dot__c) || self.b__dot__c != 'x'", { fieldPath: "['b.c']", reason: 'FieldValueDuplicate' }),
    ),
    values: [{ 'b.c': 'x' }, { 'b.c': 'y' }, { a: 'x' }],
  },
  { schema: text({ maxLength: 30, ...rule('isURL(self)') }), values: ['mailto:x', 'http://a.example/', '/x', 'x', ''] },
  {
    schema: text({ maxLength: 40, ...rule('isIP(self)') }),
    values: [
      '1.2.3.4',
      '01.2.3.4',
      'fe80::1%eth0',
      '::ffff:1.2.3.4',
      '0:0:0:0:0:ffff:102:304',
      '::ffff:0:1:2',
      '::1',
      'x',
    ],
  },
  {
    schema: text({ maxLength: 40, ...rule('isCIDR(self)') }),
    values: ['10.0.0.0/8', '10.0.0.0/08', '010.0.0.0/8', '::ffff:10.0.0.0/96', '::/0', '::/129', 'x'],
  },
  { schema: text({ ...rule("self.find('[0-9]+') == '12'") }), values: ['a12b', 'a', '12', '1', 'a12b34'] },
  { schema: text({ ...rule("self.find('(?i)X+') == 'xX'") }), values: ['axX', 'xX', 'x', 'a'] },
  { schema: { type: 'integer', ...rule('10 / self > 2') }, values: [0, 1, 5, -1, 1.000000000001] },
  { schema: { type: 'integer', ...rule('self + 9223372036854775800 > 0') }, values: [0, 7, 8, 100] },
  { schema: text({ ...rule("self != 'oldSelf'") }), values: ['oldSelf', 'x'] },
  { schema: list(text(), rule('self[0] == "x"')), values: [['x'], ['y'], [], ['y', 'x']] },
  {
    schema: list(text({ maxLength: 3 }), { ...SET, ...rule("self == ['x', 'y']") }),
    values: [['x', 'y'], ['y', 'x'], ['x'], []],
  },
  { schema: list(text({ maxLength: 3 }), { ...SET, ...rule("'x' in self") }), values: [['x', 'y'], ['y'], []] },
  {
    schema: {
      type: 'object',
      maxProperties: 4,
      additionalProperties: text({ nullable: true }),
      ...rule("self.all(k, k != 'x')"),
    },
    values: [{ x: 'a' }, { y: null }, {}, { 'a.b': 'x', y: 'y' }],
  },
  {
    schema: { ...ANY, type: 'object', properties: { a: text() }, ...rule("!has(self.a) || self.a == 'x'") },
    values: [{ a: 'x', other: [1] }, { a: 'y', other: 1 }, { other: null }],
  },
  {
    schema: object(
      { if: text(), 'a-b': text(), __x__: text() },
      rule('!has(self.__if__) || (has(self.a__dash__b) && has(self.__underscores__x__underscores__))'),
    ),
    values: [{ if: 'x' }, { if: 'x', 'a-b': 'y', __x__: 'z' }, {}],
  },
  {
    schema: { 'x-kubernetes-int-or-string': true, ...rule("type(self) == int ? self < 3 : self == '3'") },
    values: [2, 3, '3', '4', 1.5, true],
  },
];

const MEMBERS = [['x', 'y'], ['y', 'x'], ['x'], ['x', 'y', 'z'], []];
const ITEMS: readonly Json[] = [
  [{ k: 'x', v: 'a' }, { k: 'y' }],
  [{ k: 'y' }, { k: 'x', v: 'a' }],
  [{ k: 'x', v: 'b' }, { k: 'y' }],
  [{ k: 'x' }],
];
const comparing: readonly Shape[] = [
  { schema: list(text({ maxLength: 3 }), { ...SET, ...rule('self == oldSelf') }), values: MEMBERS },
  { schema: list(text({ maxLength: 3 }), rule('self == oldSelf')), values: MEMBERS },
  {
    schema: list(object({ k: text(), v: text() }, { required: ['k'] }), { ...keyed('k'), ...rule('self == oldSelf') }),
    values: ITEMS,
  },
  {
    schema: object(
      { l: list(object({ k: text(), v: text() }, { required: ['k'] }), keyed('k')) },
      rule('self == oldSelf'),
    ),
    values: ITEMS.map((l) => ({ l })),
  },
  {
    schema: object(
      { l: list(text({ maxLength: 3 }), SET) },
      rule('!has(self.l) || !has(oldSelf.l) || self.l == oldSelf.l'),
    ),
    values: MEMBERS.map((l) => ({ l })),
  },
  {
    schema: object({ a: text({ nullable: true }) }, rule('self == oldSelf')),
    values: [{ a: null }, {}, { a: 'x' }],
  },
  {
    schema: object({ d: text({ format: 'duration' }) }, rule('!has(oldSelf.d) || has(self.d) && self.d >= oldSelf.d')),
    values: SPANS.map((d) => ({ d })),
  },
  { schema: text({ format: 'date-time', maxLength: 40, ...rule('self >= oldSelf') }), values: TIMES },
].map((shape) => ({ ...shape, compares: true }));

const HEAD = { apiVersion: 'v1', kind: 'Pod' };
const resources: readonly Json[] = [
  { ...HEAD, spec: 1 },
  { kind: 'Pod' },
  { apiVersion: '', kind: 'Pod' },
  { apiVersion: 'a/b/c', kind: 'Pod' },
  { apiVersion: 'v1', kind: '1x' },
  { ...HEAD, metadata: { name: 'x', labels: { a: 'b' } } },
  { ...HEAD, metadata: { name: 'x', namespace: 'A' } },
  {},
  'x',
];
const structures: readonly Shape[] = [
  { schema: { type: 'object', ...ANY, 'x-kubernetes-embedded-resource': true }, values: resources },
  {
    schema: object({ spec: object({ a: text() }) }, { 'x-kubernetes-embedded-resource': true }),
    values: [...resources, { ...HEAD, spec: { a: 'x', b: 'y' }, other: 1 }],
  },
  {
    schema: list({ type: 'object', ...ANY, 'x-kubernetes-embedded-resource': true }),
    values: resources.map((one) => [one]),
  },
  { schema: ANY, values: [1, 'x', [null], { a: { b: null } }, true] },
  { schema: { type: 'object', ...ANY }, values: [{}, { a: { b: [1, null] } }, [], 1] },
  { schema: { type: 'object', additionalProperties: ANY }, values: [{ a: null }, { a: { b: null } }, { a: [1] }, {}] },
  { schema: { type: 'object', additionalProperties: true } as Schema, values: [{ a: null }, { a: { b: null } }, {}] },
  {
    schema: list({ type: 'object', ...ANY, properties: { a: { type: 'integer', default: 3 } } }),
    values: [[{ b: 1 }], [{ a: null, b: null }], [null], []],
  },
  {
    schema: list({ type: 'object', properties: { a: text({ default: 'd' }) }, default: {} }),
    values: [[null], [{}], [{ a: null }], [{ a: 'x', b: 1 }]],
  },
  { schema: { ...ANY, type: 'array', items: object({ a: text() }) }, values: [[{ a: 'x', b: { c: 1 } }], [{ b: 1 }]] },
  {
    schema: object({
      a: text({ nullable: true, default: 'd' }),
      b: text({ default: 'd' }),
      c: text({ nullable: true }),
      d: text(),
    }),
    values: [{}, { a: null, b: null, c: null, d: null }, { a: 'x' }],
  },
  {
    schema: object({ a: object({ b: text({ default: 'd' }) }, { default: { b: 'e' } }) }),
    values: [{}, { a: {} }, { a: null }, { a: { b: null } }],
  },
  {
    schema: object({ a: { type: 'string', nullable: true, enum: ['x'] }, b: { type: 'integer', enum: [1, 2] } }),
    values: [{ a: null }, { a: 'x', b: 1 }, { b: 1.5 }, { b: 3 }, { b: '1' }],
  },
  {
    schema: object({ toString: text(), constructor: text(), 'a/b': text(), ü: text() }, { required: ['constructor'] }),
    values: [{}, { constructor: 'x' }, { toString: 'x', 'a/b': 1 }, { constructor: 'x', valueOf: 'y', ü: 'x' }],
  },
  {
    schema: object({ a: text() }, { 'x-kubernetes-map-type': 'atomic', required: ['a'] }),
    values: [{}, { a: 'x' }, { a: 'x', b: 1 }],
  },
  {
    schema: list(object({ k: text(), n: { type: 'integer' } }, { required: ['k', 'n'] }), keyed('k', 'n')),
    values: [
      [
        { k: 'x', n: 1 },
        { k: 'x', n: 2 },
      ],
      [
        { k: 'x', n: 1 },
        { k: 'x', n: 1 },
      ],
      [{ k: 'x' }],
      [{ k: 'x', n: 1.5 }],
      [{ k: 'x', n: 1, z: 1 }],
    ],
  },
  {
    schema: list(
      object({ k: text({ default: 'x' }), p: { type: 'string', default: 'TCP', enum: ['TCP', 'UDP'] } }),
      keyed('k', 'p'),
    ),
    values: [[{}, { p: 'UDP' }], [{}, { k: 'x' }], [{ p: 'SCTP' }], [{ k: null }]],
  },
  { schema: list({ type: 'integer' }, SET), values: [[1, 2], [1, 1], [1, 1.5], ['1', 1], [null]] },
  {
    schema: list(list(text(), { maxItems: 2 }), { minItems: 1 }),
    values: [[['x']], [['x', 'y', 'z']], [[]], [], [null]],
  },
  {
    schema: { type: 'string', minLength: 2, maxLength: 3 },
    values: ['💥', '💥💥', 'e\u0301e', '💥💥💥💥', 'ß', '\u0000\u0000', '👨‍👩‍👧'],
  },
  { schema: { type: 'string', pattern: '^\\p{Greek}+\\z' }, values: ['αβγ', 'abc', 'αβγ\n', ''] },
  { schema: { type: 'string', pattern: '^(?:a|b){2,3}$' }, values: ['ab', 'a', 'abab', 'ab\n'] },
  { schema: { type: 'string', pattern: '^.$' }, values: ['💥', '\n', 'x', 'xy'] },
  { schema: { type: 'string', pattern: '[[:upper:]]\\d\\b' }, values: ['A1', 'a1', 'A1b', 'A١'] },
  {
    schema: {
      type: 'object',
      properties: { a: { type: 'integer' }, b: text() },
      anyOf: [{ properties: { a: { minimum: 3 } } }, { required: ['b'] }],
    } as Schema,
    values: [{ a: 1 }, { a: 4 }, { a: 1, b: 'x' }, {}],
  },
  {
    schema: {
      type: 'object',
      properties: { a: { type: 'integer' }, b: text() },
      not: { required: ['a', 'b'] },
    } as Schema,
    values: [{ a: 1 }, { a: 4, b: 'x' }, {}],
  },
  {
    schema: {
      type: 'object',
      properties: { a: { type: 'integer' } },
      allOf: [{ not: { properties: { a: { enum: [2] } }, required: ['a'] } }, { properties: { a: { maximum: 3 } } }],
    } as Schema,
    values: [{ a: 1 }, { a: 2 }, { a: 4 }, {}],
  },
  { schema: { 'x-kubernetes-int-or-string': true, enum: [1, '2'] } as Schema, values: [1, '1', 2, '2', 1.5, 50, 49] },
  {
    schema: {
      'x-kubernetes-int-or-string': true,
      pattern: '^[0-9]+%$',
      anyOf: [{ type: 'integer' }, { type: 'string' }],
    } as Schema,
    values: [1, '1%', '1', '', 1.5, null],
  },
];

/** All of them. */
export const SHAPES: readonly Shape[] = [...numbers, ...formats, ...rules, ...comparing, ...structures];

const values: ReadonlyMap<string, readonly Json[]> = new Map(
  SHAPES.map((shape) => [JSON.stringify(shape.schema), shape.values]),
);

/** The values of a shape; undefined: the schema is none. */
export function valuesOfShape(schema: Schema): readonly Json[] | undefined {
  return values.get(JSON.stringify(schema));
}
