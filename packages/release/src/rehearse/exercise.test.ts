import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERAS, type JsonObject, judge, readCrd, type Schema } from '@drydock/crd';
import { exercisesFor } from './exercise.ts';

const crd = (status: Schema, spec: Schema = { type: 'object' }) => {
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec, status } } };
  const versions = [{ name: 'v1', served: true, storage: true, subresources: { status: {} }, schema }];
  const names = { kind: 'Shop', plural: 'shops' };
  const metadata = { name: 'shops.example.com' };
  const object = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata };
  return readCrd({ ...object, spec: { group: 'example.com', scope: 'Namespaced', names, versions } } as never, 'test');
};
const of = (properties: Readonly<Record<string, Schema>>): Schema => ({ type: 'object', properties });
const text = (more: Schema = {}): Schema => ({ type: 'string', ...more });

const WAYS: readonly (readonly [rule: string, older: Schema, newer: Schema, effect: string])[] = [
  ['N1', of({ phase: text({ enum: ['Open'] }) }), of({ phase: text({ enum: ['Open', 'Sold'] }) }), 'status'],
  [
    'N2',
    of({ parts: { type: 'array', items: text({ enum: ['a'] }) } }),
    of({ parts: { type: 'array', items: text({ enum: ['a', 'b'] }) } }),
    'status',
  ],
  ['N6', of({ word: text({ maxLength: 3 }) }), of({ word: text({ maxLength: 300 }) }), 'status'],
  [
    'N7',
    of({ parts: { type: 'array', maxItems: 1, items: text() } }),
    of({ parts: { type: 'array', maxItems: 9, items: text() } }),
    'status',
  ],
  ['N12', of({}), of({ more: text() }), 'cut'],
];

test('for each class of narrowing an object is made that the newer release takes, and the older refuses or cuts', () => {
  for (const [rule, older, newer, effect] of WAYS) {
    const { exercises, unexercised } = exercisesFor(crd(older), crd(newer), { seed: 1, most: 4 });
    assert.deepEqual(unexercised, []);
    assert.deepEqual(
      exercises.map((one) => `${one.rule} ${one.effect}`),
      [`${rule} ${effect}`],
    );
    const [{ object } = assert.fail('there is one')] = exercises;
    const schema = crd(newer).versions[0]?.schema as Schema;
    assert.deepEqual(judge({ endpoint: 'create', next: object, schema, hasStatus: false }, ERAS.E0).causes, []);
    assert.notEqual((object['status'] as JsonObject | undefined) ?? object['spec'], undefined);
  }
});

test('the same seed makes the same objects, a place that no object is found for is told, and what does not narrow is left alone', () => {
  const [, older = {}, newer = {}] = WAYS[0] ?? [];
  const made = (seed: number) => exercisesFor(crd(older), crd(newer), { seed, most: 4 });
  assert.deepEqual(made(7), made(7));
  const same = exercisesFor(crd(newer), crd(newer), { seed: 1, most: 4 });
  assert.deepEqual([same.exercises, same.unexercised], [[], []]);
  const odd = text({ pattern: '^nobody-would-guess-[0-9]{7}$' });
  const hidden = exercisesFor(crd(of({})), crd(of({ odd })), { seed: 1, most: 4 });
  assert.deepEqual(
    hidden.unexercised.map(({ path, rule }) => `${rule} ${path}`),
    ['N12 status.odd'],
  );
});

test('what a person wrote into a spec is told apart from what an operator writes', () => {
  const spec = (values: readonly string[]) => of({ size: text({ enum: values }) });
  const { exercises } = exercisesFor(crd(of({}), spec(['S'])), crd(of({}), spec(['S', 'L'])), { seed: 1, most: 4 });
  assert.deepEqual(
    exercises.map(({ effect, path }) => `${path} ${effect}`),
    ['spec.size spec'],
  );
});
