import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstSeed, repetitions } from '@drydock/model';
import * as fc from 'fast-check';
import { isObject, type Json, type JsonObject } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';
import { neighbours, objects, schemas, valuesFor } from '../testing/arbitrary.ts';
import { crdOf } from '../testing/crd-of.ts';
import { applyDefaults } from '../validate/defaults.ts';
import { ERAS, judge } from '../validate/eras.ts';
import { prune } from '../validate/prune.ts';
import { diff } from './diff.ts';

const RUNS = repetitions(1500, 100_000, 'pairs of schemas');

const root = objects(schemas(2));

function read(object: Json, schema: Schema): JsonObject | undefined {
  const { value, pruned } = prune(object, schema);
  const filled = applyDefaults(value, schema);
  if (pruned.length > 0 || !isObject(filled)) return undefined;
  const { causes } = judge({ endpoint: 'create', next: filled, schema, hasStatus: false }, ERAS.E0);
  return causes.length === 0 ? filled : undefined;
}

/** Schemas of which one grew out of the other, with objects that fit the first. */
const histories = neighbours(root).chain(([a, b]) =>
  fc.tuple(fc.constant(a), fc.constant(b), fc.array(valuesFor(a), { minLength: 6, maxLength: 10 })),
);

test('what a diff calls no narrowing refuses and loses nothing', () => {
  let [kept, lost] = [0, 0];
  fc.assert(
    fc.property(histories, ([a, b, values]) => {
      const { steps } = diff(crdOf(a), crdOf(b));
      const harmless = !steps.some(({ effect }) => effect === 'narrows' || effect === 'undecided');
      for (const value of values) {
        const legal = read(value, a);
        if (legal === undefined) continue;
        const after = read(legal, b);
        if (harmless) {
          kept += 1;
          assert.ok(after !== undefined, JSON.stringify({ a, b, legal }));
        } else if (after === undefined) lost += 1;
      }
    }),
    { numRuns: RUNS, seed: 20 + firstSeed() },
  );
  // A handful, as of one seed, proves nothing anyhow.
  const enough = RUNS < 100 ? 0 : RUNS / 8;
  assert.ok(kept >= enough && lost >= enough, `${kept} were kept and ${lost} lost: too few to prove anything`);
});

test('what narrows one way widens the other', () => {
  fc.assert(
    fc.property(neighbours(root), ([a, b]) => {
      const of = (steps: ReturnType<typeof diff>['steps'], effect: string): readonly string[] =>
        steps
          .filter((step) => step.effect === effect && step.rule !== 'N17' && step.rule !== 'N18')
          .map((step) => `${step.rule} ${step.path} ${step.keyword}`)
          .toSorted();
      const [there, back] = [diff(crdOf(a), crdOf(b)).steps, diff(crdOf(b), crdOf(a)).steps];
      assert.deepEqual(of(there, 'narrows'), of(back, 'widens'));
      assert.deepEqual(of(there, 'undecided'), of(back, 'undecided'));
    }),
    { numRuns: 500, seed: 22 },
  );
});
