import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Schema } from '../schema/schema.ts';
import { neighbours, objects, schemas, valuesFor } from '../testing/arbitrary.ts';
import { prune } from '../validate/prune.ts';
import { lostPlaces } from './lost-places.ts';

const spec = (properties: Readonly<Record<string, Schema>>): Schema => ({ type: 'object', properties });

test('what a schema says to keep, pruning keeps, and what it says to lose it can lose', () => {
  let whole = 0;
  let lossy = 0;
  fc.assert(
    fc.property(
      neighbours(objects(schemas(2))).chain(([of, by]) =>
        fc.tuple(fc.constant([of, by] as const), fc.array(valuesFor(of), { minLength: 3, maxLength: 6 })),
      ),
      ([[of, by], values]) => {
        const lost = lostPlaces(of, by);
        for (const value of values) {
          const { pruned } = prune(prune(value, of).value, by);
          if (lost.length === 0) {
            whole += 1;
            assert.deepEqual(pruned, [], JSON.stringify({ of, by, value }));
          } else lossy += pruned.length;
        }
      },
    ),
    { numRuns: 800, seed: 5 },
  );
  assert.ok(whole > 100 && lossy > 100, `${whole} were whole, ${lossy} lost something: too few to prove anything`);
});

test('fields, items, keys, nulls and values that were anything', () => {
  const anything: Schema = { 'x-kubernetes-preserve-unknown-fields': true };
  const text: Schema = { type: 'string' };
  const map = (of: Schema): Schema => ({ type: 'object', additionalProperties: of });
  const list = (items: Schema): Schema => ({ type: 'array', items });
  const cases: readonly (readonly [Schema, Schema, readonly string[]])[] = [
    [spec({ a: text, b: text }), spec({ a: text }), ['b']],
    [spec({ a: spec({ b: text }) }), spec({ a: anything }), []],
    [spec({ a: anything }), spec({ a: spec({ b: text }) }), ['a.*', 'a.*.*']],
    [spec({ a: anything }), spec({ a: anything }), []],
    [spec({ a: list(spec({ b: text })) }), spec({ a: list(spec({})) }), ['a[].b']],
    [spec({ a: map(text) }), spec({ a: spec({ b: text }) }), ['a.*']],
    [spec({ a: map(spec({ b: text })) }), spec({ a: map(text) }), ['a.*.b']],
    [spec({ a: spec({ b: text }) }), spec({ a: text }), ['a.b']],
    [spec({ a: { ...text, nullable: true } }), spec({ a: text }), ['a']],
    [spec({ metadata: spec({ name: text }), a: text }), spec({ a: text }), []],
  ];
  for (const [of, by, expected] of cases) assert.deepEqual(lostPlaces(of, by), expected, JSON.stringify({ of, by }));
});
