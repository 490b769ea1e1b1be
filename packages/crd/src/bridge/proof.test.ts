import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schema } from '../schema/schema.ts';
import { crdOf } from '../testing/crd-of.ts';
import { objections } from './proof.ts';

const withSpec = (of: Schema): Schema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties: { of } } },
});

test('OWN-21 a definition that refuses what either neighbour takes is no bridge, and its place is named', () => {
  const [few, many] = [['a'], ['a', 'b']].map((values) => crdOf(withSpec({ type: 'string', enum: values })));
  assert.ok(few !== undefined && many !== undefined);
  assert.deepEqual(objections(few, many, many), { stops: [], doubts: [] });
  for (const [old, now] of [
    [few, many],
    [many, few],
  ] as const) {
    const { stops } = objections(old, now, few);
    assert.deepEqual(
      stops.map(({ path }) => path),
      ['spec.of'],
    );
  }
});

test('OWN-21 a definition of which nobody can tell whether it refuses something is doubted', () => {
  const [one, other] = ['^a+$', '^aa*$'].map((pattern) => crdOf(withSpec({ type: 'string', pattern })));
  assert.ok(one !== undefined && other !== undefined);
  const { doubts, stops } = objections(one, one, other);
  assert.deepEqual([stops, doubts.map(({ path }) => path)], [[], ['spec.of', 'spec.of']]);
});
