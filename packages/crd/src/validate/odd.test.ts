import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../schema/json.ts';
import { pathText } from '../schema/path.ts';
import type { Schema } from '../schema/schema.ts';
import { hasFormat } from '../text/formats.ts';
import { ERAS, judge } from './eras.ts';
import { prune } from './prune.ts';

// What servers say of values where it is not what one thinks; each line was asked of one, and the differential test asks again.

/** `yes`, `no` or `perhaps`: a creation of an object with this value, or a change from `before`. */
function verdict(schema: Schema, value: Json, before?: Json): 'yes' | 'no' | 'perhaps' {
  const whole: Schema = { type: 'object', properties: { spec: { type: 'object', properties: { f: schema } } } };
  const next = { spec: { f: value } };
  const write = before === undefined ? { endpoint: 'create' } : { endpoint: 'main', stored: { spec: { f: before } } };
  const { causes, doubts } = judge(
    { ...(write as { endpoint: 'main' }), next, schema: whole, hasStatus: true },
    ERAS.E2,
  );
  return causes.length > 0 ? 'no' : doubts.length > 0 ? 'perhaps' : 'yes';
}

function all(schema: Schema, expected: Readonly<Record<'yes' | 'no', readonly Json[]>>): void {
  for (const answer of ['yes', 'no'] as const)
    for (const value of expected[answer])
      assert.equal(verdict(schema, value), answer, `${JSON.stringify(schema)} ${JSON.stringify(value)}`);
}

const ruled = (schema: Schema, rule: string): Schema => ({ ...schema, 'x-kubernetes-validations': [{ rule }] });
const fields = (properties: Readonly<Record<string, Schema>>): Schema => ({ type: 'object', properties });

test('an integer is compared with bounds without their fractions, a fraction with the whole of them', () => {
  all({ type: 'number', minimum: 0.5 }, { yes: [0, 0.5, 1], no: [0.4, -1] });
  all({ type: 'number', maximum: 2.5, exclusiveMaximum: true }, { yes: [1, 2.4], no: [2, 2.5] });
  all({ type: 'number', multipleOf: 0.5 }, { yes: [0.5, 1.5], no: [0, 1, 0.3] });
  all({ type: 'number', multipleOf: 0.1 }, { yes: [0.3], no: [0.25, 3] });
  all({ type: 'integer', multipleOf: 2.5 }, { yes: [0, 2, 4], no: [5, 2.5] });
  assert.equal(verdict({ type: 'integer', maximum: 2 ** 63 }, 1), 'perhaps');
});

test('a fraction that is hardly one is an integer, and loses its fraction before it is looked for in an enum', () => {
  all({ type: 'integer' }, { yes: [1, 1.000_000_000_001], no: [1.000_001, 1e19] });
  all({ type: 'number', enum: [1, 2.5] }, { yes: [1, 1.5, 2.5], no: [2, 0.5] });
  all({ 'x-kubernetes-int-or-string': true, enum: [1, '2'] }, { yes: [1, '2', 50], no: [2, '1', 49] });
});

test('OWN-21 what is as long, as short or as many as a bound says is taken', () => {
  all({ type: 'string', maxLength: 3, minLength: 2 }, { yes: ['ab', 'abc'], no: ['a', 'abcd'] });
  const items: Schema = { type: 'array', items: { type: 'integer' }, maxItems: 3, minItems: 2 };
  all(items, {
    yes: [
      [1, 2],
      [1, 2, 3],
    ],
    no: [[1], [1, 2, 3, 4]],
  });
  const some: Schema = {
    type: 'object',
    additionalProperties: { type: 'integer' },
    maxProperties: 2,
    minProperties: 1,
  };
  all(some, { yes: [{ a: 1 }, { a: 1, b: 1 }], no: [{}, { a: 1, b: 1, c: 1 }] });
});

test('OWN-21 a list that lost an item is no longer what it was, though each item that is left is', () => {
  const item: Schema = { type: 'object', properties: { k: { type: 'string' } } };
  const map: Schema = {
    type: 'array',
    items: item,
    minItems: 2,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
  };
  assert.equal(verdict(map, [{ k: 'a' }], [{ k: 'a' }]), 'yes', 'what was too short may stay');
  assert.equal(verdict(map, [{ k: 'a' }], [{ k: 'a' }, { k: 'b' }]), 'no');
});

test('OWN-21 metadata belongs to a resource, and is pruned where a field of that name is none', () => {
  const { pruned, value } = prune(
    { metadata: { name: 'a' }, spec: { metadata: 1, kind: 'x', f: 1 } },
    {
      type: 'object',
      properties: { spec: { type: 'object', properties: { f: { type: 'integer' } } } },
    },
  );
  assert.deepEqual(value, { metadata: { name: 'a' }, spec: { f: 1 } });
  assert.deepEqual(
    pruned.map(({ path }) => pathText(path)),
    ['spec.metadata', 'spec.kind'],
  );
});

test('texts of a format are times and bytes for a rule', () => {
  const duration: Schema = { type: 'string', format: 'duration' };
  all(ruled(duration, "self < duration('2m')"), { yes: ['9s', '90s', '119 seconds'], no: ['2m', '1h', '1 day'] });
  const both = ruled(fields({ a: duration, b: duration }), 'self.a < self.b');
  all(both, { yes: [{ a: '9s', b: '10s' }], no: [{ a: '10s', b: '9s' }] });
  const moment: Schema = { type: 'string', format: 'date-time' };
  all(ruled(moment, "self < timestamp('2026-01-01T00:00:00Z')"), {
    yes: ['2026-01-01T01:00:00+02:00'],
    no: ['2025-12-31T23:59:59-01:00'],
  });
  const exact = ruled(moment, "self <= timestamp('2026-01-01T00:00:00Z')");
  assert.equal(verdict(exact, '2026-01-01T00:00:00.0000001Z'), 'perhaps', 'milliseconds do not tell it');
  all(ruled({ type: 'string', format: 'byte' }, 'size(self) < 3'), { yes: ['aGk='], no: ['aGVsbG8='] });
  const held: Schema = fields({ a: { type: 'string', format: 'byte' } });
  assert.equal(verdict(ruled(held, 'has(self.a)'), { a: 'a+/=' }), 'perhaps', 'a rule reads the alphabet of URLs');
});

test('for a rule a named field that is null is absent', () => {
  const rule = 'has(self.a) != has(self.b)';
  const schema = ruled(fields({ a: { type: 'string', nullable: true }, b: { type: 'string' } }), rule);
  all(schema, { yes: [{ a: null, b: 'x' }, { a: 'x' }], no: [{ a: null }, { a: 'x', b: 'x' }] });
  const kept = ruled(fields({ a: { type: 'string', nullable: true } }), 'self == oldSelf');
  assert.equal(verdict(kept, { a: null }, {}), 'no');
  assert.equal(verdict(kept, { a: null }, { a: null }), 'perhaps', 'up to 1.32 null is unlike null');
});

test('lists of type set and map are compared without their order, and what depends on it is undecided', () => {
  const set: Schema = { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' };
  const kept = ruled(set, 'self == oldSelf');
  assert.equal(verdict(kept, ['x', 'y'], ['y', 'x']), 'yes');
  assert.equal(verdict(kept, ['x', 'y'], ['x']), 'no');
  const map: Schema = {
    type: 'array',
    items: fields({ k: { type: 'string' }, v: { type: 'integer' } }),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
  };
  const within = ruled(fields({ l: map }), 'self == oldSelf');
  const item = (k: string, v: number): Json => ({ k, v });
  assert.equal(verdict(within, { l: [item('x', 1), item('y', 2)] }, { l: [item('y', 2), item('x', 1)] }), 'yes');
  assert.equal(verdict(within, { l: [item('x', 1), item('y', 2)] }, { l: [item('y', 2), item('x', 2)] }), 'no');
  const atomic = ruled({ type: 'array', items: { type: 'string' } }, 'self == oldSelf');
  assert.equal(verdict(atomic, ['x', 'y'], ['y', 'x']), 'no');
  assert.equal(verdict(ruled(set, "self == ['y', 'x']"), ['x', 'y']), 'perhaps');
});

test('functions of Kubernetes in rules are as strict as they are there', () => {
  const text: Schema = { type: 'string' };
  all(ruled(text, 'isIP(self)'), {
    yes: ['1.2.3.4', '::1', '::ffff:0:1:2'],
    no: ['01.2.3.4', 'fe80::1%eth0', '::ffff:1.2.3.4', '0:0:0:0:0:ffff:102:304'],
  });
  all(ruled(text, 'isCIDR(self)'), { yes: ['10.0.0.0/8', '::/0'], no: ['10.0.0.0/08', '010.0.0.0/8', '::/129', '::'] });
  all(ruled(text, 'isURL(self)'), { yes: ['mailto:x', '/x', 'http://a.example/'], no: ['x', '', ':a'] });
  all(ruled(text, "self.find('(?i)X+') == 'xX'"), { yes: ['axX'], no: ['x', ''] });
  const first = ruled(text, "self.substring(0, 1) == 'a'");
  all(first, { yes: ['ab'], no: ['b', '💥', ''] });
  all(ruled(text, "self.substring(1) == 'a'"), { yes: ['ba', '💥a'], no: ['b'] });
  all(ruled(text, "self . matches ('^a\\\\z')"), { yes: ['a'], no: ['a\n', 'az'] });
  all(ruled({ type: 'integer' }, '10 / self > 2'), { yes: [1, 3], no: [0, 5] });
  all(ruled(text, "self != 'oldSelf'"), { yes: ['x'], no: ['oldSelf'] });
});

test('what a rule says of a value that it cannot evaluate does not have the value', () => {
  const schema = ruled(
    fields({ map: { type: 'object', additionalProperties: { type: 'string' } }, key: { type: 'string' } }),
    'self.map[self.key] == "x"',
  );
  const whole: Schema = fields({
    spec: ruled(schema, 'duration(self.key) < duration("1h") || self.map[self.key] == "x"'),
  });
  for (const spec of [schema, whole.properties?.['spec'] ?? {}]) {
    const next = { spec: { map: {}, key: 'secret' } };
    const { causes, doubts } = judge({ endpoint: 'create', next, schema: fields({ spec }), hasStatus: true }, ERAS.E2);
    assert.ok(causes.length + doubts.length > 0);
    assert.doesNotMatch(JSON.stringify([causes, doubts]), /secret/);
  }
});

test('a rule names its own field and reason where it is false, and the node where it cannot be evaluated', () => {
  const rule = { rule: "self.a != 'x'", fieldPath: '.a', reason: 'FieldValueForbidden' };
  const spec: Schema = { ...fields({ a: { type: 'string' } }), 'x-kubernetes-validations': [rule] };
  const told = (value: Json): readonly string[] =>
    judge({ endpoint: 'create', next: { spec: value }, schema: fields({ spec }), hasStatus: true }, ERAS.E2).causes.map(
      ({ path, reason }) => `${path.join('.')} ${reason}`,
    );
  assert.deepEqual(told({ a: 'x' }), ['spec.a FieldValueForbidden']);
  assert.deepEqual(told({}), ['spec FieldValueInvalid']);
});

test('a resource within has a version and a kind, which nobody asks for when the status is written', () => {
  const schema: Schema = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
  };
  all(schema, {
    yes: [
      { apiVersion: 'v1', kind: 'Pod' },
      { apiVersion: 'apps/v1', kind: 'X', metadata: { name: 'x' } },
    ],
    no: [{}, { kind: 'Pod' }, { apiVersion: 'a/b/c', kind: 'Pod' }, { apiVersion: 'v1', kind: '1x' }],
  });
  assert.equal(verdict(schema, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'A B' } }), 'perhaps');
  const whole = fields({ status: fields({ f: schema }) });
  const next = { status: { f: { kind: 'Pod' } } };
  assert.deepEqual(judge({ endpoint: 'status', next, stored: {}, schema: whole, hasStatus: true }, ERAS.E2).causes, []);
});

test('formats are those of the server, and what only it can tell is undecided', () => {
  for (const [format, text, expected] of [
    ['duration', 'about 5 days', true],
    ['duration', '5 parsecs', false],
    ['duration', '9999999999999999999h', false],
    ['duration', '+0', true],
    ['duration', '', false],
    ['date-time', '2026-01-01T00:00:60Z', false],
    ['date-time', '2026-01-01T00:00:00+0100', false],
    ['date-time', '2026-01-01t00:00:00z', true],
    ['datetime', '2025-02-29T00:00:00Z', false],
    ['mac', '00:00-5e:00:53:01', false],
    ['mac', Array(20).fill('ab').join(':'), true],
    ['cidr', '10.0.0.0/08', true],
    ['uri', 'mailto:a b', true],
    ['uri', '/%2', false],
    ['uri', 'http://a b', undefined],
    ['email', 'a@b@c', undefined],
    ['email', 'a', false],
    ['isbn', 'x', undefined],
    ['unheard-of', 'x', true],
  ] as const)
    assert.equal(hasFormat(format, text, 34), expected, `${format} ${text}`);
});

// A text like the first took an hour, by the number of its units; digits without a unit went by their square.
test('no text of a format holds up its judge', { timeout: 60_000 }, () => {
  for (const format of ['duration', 'hostname', 'email', 'uri', 'byte', 'mac', 'cidr', 'date-time'])
    for (const piece of ['1ms', '1', 'a', 'a.', 'a@', '-a', ':a', '1 '])
      assert.notEqual(hasFormat(format, `${piece.repeat(100_000)}!`, 34), null);
});
