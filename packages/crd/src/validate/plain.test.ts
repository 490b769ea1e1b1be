import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { equal, isObject, type Json, type JsonObject } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';
import { objects, schemas, valuesFor } from '../testing/arbitrary.ts';
import { applyDefaults } from './defaults.ts';
import { judge } from './eras.ts';
import { isPlain } from './plain.ts';
import { prune } from './prune.ts';

const MINOR = 34;

/** What the plain way says of an object, step by step. */
function isQuiet(object: JsonObject, schema: Schema): boolean {
  const { pruned, value } = prune(object, schema);
  const read = applyDefaults(value, schema);
  if (pruned.length > 0 || !equal(read, object)) return false;
  const { causes, doubts } = judge(
    { endpoint: 'create', next: object, schema, hasStatus: false, everyRule: true },
    { era: 'E0', minor: MINOR },
  );
  return causes.length === 0 && doubts.length === 0;
}

test('FIND-12 an object is plain where pruning, defaults and the judge have nothing to say, and nowhere else', () => {
  const tally = { plain: 0, other: 0 };
  fc.assert(
    fc.property(
      objects(schemas(3)).chain((schema) => fc.tuple(fc.constant(schema), valuesFor(schema))),
      ([schema, value]) => {
        fc.pre(isObject(value));
        const object: JsonObject = { ...value, apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' } };
        const plain = isPlain(object, schema, MINOR);
        tally[plain ? 'plain' : 'other'] += 1;
        assert.equal(plain, isQuiet(object, schema), JSON.stringify({ schema, object }));
      },
    ),
    { numRuns: 1500, seed: 12 },
  );
  assert.ok(tally.plain > 200 && tally.other > 200, `${JSON.stringify(tally)}: proves little`);
});

const text: Schema = { type: 'string' };
const whole = (f: Schema): Schema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties: { f } } },
});

test('FIND-12 what is seldom asked of a value is asked of a plain one, too', () => {
  const any: Schema = { 'x-kubernetes-preserve-unknown-fields': true };
  const items: Schema = { type: 'object', properties: { k: text, n: { type: 'integer' } } };
  const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k', 'n'] };
  const embedded: Schema = { type: 'object', ...any, 'x-kubernetes-embedded-resource': true };
  const ruled: Schema = { ...text, 'x-kubernetes-validations': [{ rule: "self != 'x'" }] };
  const cases: readonly (readonly [Schema, Json, boolean])[] = [
    [
      { type: 'array', items, ...keyed },
      [
        { k: 'a', n: 1 },
        { k: 'a', n: 2 },
      ],
      true,
    ],
    [
      { type: 'array', items, ...keyed },
      [
        { k: 'a', n: 1 },
        { k: 'a', n: 1 },
      ],
      false,
    ],
    [
      { type: 'array', items, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] },
      [{ k: 'a' }, { k: 'a' }],
      false,
    ],
    [{ type: 'array', ...any, items: { type: 'object' } }, [{ a: 1 }], true],
    [{ type: 'array', items: { type: 'object' } }, [{ a: 1 }], false],
    [{ type: 'object', additionalProperties: true } as Schema, { a: 1 }, true],
    [{ type: 'object', additionalProperties: true } as Schema, { a: { b: 1 } }, false],
    [embedded, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } }, true],
    [embedded, { kind: 'Pod' }, false],
    [embedded, { apiVersion: 'v1', kind: 'Pod', metadata: { stray: 1 } }, false],
    [ruled, 'y', true],
    [ruled, 'x', false],
    [{ type: 'integer' }, 2 ** 60, false],
    [{ type: 'integer' }, 1.5, false],
    [{ type: 'number' }, 1.5, true],
    [{ type: 'string', minLength: 2 }, '💥', false],
    [{ type: 'string', minLength: 2 }, '💥💥', true],
    [{ type: 'string', maxLength: 1 }, '💥', true],
    [{ type: 'string', format: 'isbn' }, 'x', false],
    [{ type: 'boolean', enum: [true] }, false, false],
    [{ type: 'object', maxProperties: 1, additionalProperties: text }, { a: 'x', b: 'y' }, false],
    [{ type: 'object', properties: { a: text }, required: ['constructor'] }, { a: 'x' }, false],
    [{ ...text, nullable: true }, null, true],
    [text, null, false],
    [{ ...text, nullable: true, enum: ['a'] }, null, false],
  ];
  for (const [f, value, plain] of cases) {
    const object = { apiVersion: 'a/v1', kind: 'A', metadata: { name: 'a' }, spec: { f: value } };
    assert.equal(isPlain(object, whole(f), MINOR), plain, JSON.stringify([f, value]));
  }
});

test('FIND-12 a schema is asked by the server at hand: formats belong to a version', () => {
  const object = { spec: { f: 'A' } };
  const schema = whole({ type: 'string', format: 'k8s-short-name' });
  assert.deepEqual(
    [33, 34, 35, 34].map((minor) => isPlain(object, schema, minor)),
    [true, true, false, true],
  );
});
