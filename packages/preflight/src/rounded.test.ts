import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schema } from '@drydock/crd';
import { holdsRounded } from './rounded.ts';

const LARGE = 2 ** 63;
const of = (size: Schema): Schema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties: { size } } },
});
const object = (size: unknown) => ({ metadata: { name: 'x', generation: LARGE }, spec: { size, other: 1 } });

test('a number that may have lost digits is found wherever the schema lets numbers be', () => {
  for (const [schema, value] of [
    [{ type: 'integer' }, LARGE],
    [{ type: 'number' }, -LARGE],
    [{ 'x-kubernetes-int-or-string': true }, LARGE],
    [{ type: 'array', items: { type: 'integer' } }, [1, LARGE]],
    [
      { type: 'object', additionalProperties: { type: 'integer' } },
      { a: 1, b: LARGE },
    ],
    [{ type: 'object', additionalProperties: true }, { a: { b: [LARGE] } }],
    [{ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, { a: { b: [LARGE] } }],
    [
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: { type: 'string' } } },
      { a: 'x', b: LARGE },
    ],
    [
      { type: 'object', properties: { a: { type: 'string' }, b: { type: 'integer' } } },
      { a: 'x', b: LARGE },
    ],
  ] as const) {
    assert.equal(holdsRounded(object(value), of(schema)), true, JSON.stringify(schema));
    const small = JSON.parse(JSON.stringify(value).replaceAll(/-?\d{19}/g, '7')) as unknown;
    assert.equal(holdsRounded(object(small), of(schema)), false, JSON.stringify(schema));
  }
});

test('what is pruned, and what no number can be, is not looked at', () => {
  for (const [schema, value] of [
    [{ type: 'string' }, 'x'],
    [{ type: 'object' }, { a: LARGE }],
    [{ type: 'object', properties: { a: { type: 'string' } } }, { b: LARGE }],
    [{ type: 'integer' }, null],
    [{ type: 'integer' }, 1.5],
    [{ type: 'integer' }, Number.MAX_SAFE_INTEGER],
  ] as const)
    assert.equal(holdsRounded(object(value), of(schema)), false, JSON.stringify(schema));
});
