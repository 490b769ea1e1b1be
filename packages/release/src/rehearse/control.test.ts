import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CrdVersion, Era, JsonObject, Schema } from '@drydock/crd';
import { predictedFates } from './control.ts';
import { operatorStatus, withFewerWords } from './operator-status.ts';

const version = (status: Schema): CrdVersion & { readonly schema: Schema } => ({
  ...{ name: 'v1', served: true, storage: true, status: true, scale: false, selectable: [] },
  schema: { type: 'object', properties: { metadata: { type: 'object' }, status } },
});
const shop = (status: JsonObject): JsonObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Shop',
  metadata: { name: 'shop' },
  status,
});
const word: Schema = { type: 'string', enum: ['a', 'b'] };
const list: Schema = { type: 'array', items: word };
const fates = (status: JsonObject, schema: Schema): readonly string[] =>
  (['E0', 'E1', 'E2'] as const).map((era: Era) => {
    const { main, status: written } = predictedFates(shop(status), version(schema), era);
    return `${era} ${main}/${written}`;
  });

test('what becomes of a write after an unprepared way back follows the classes: a value left alone, a list that changes, one that does not', () => {
  const scalar: Schema = { type: 'object', properties: { phase: word } };
  assert.deepEqual(fates({ phase: 'c' }, scalar), ['E0 refused/refused', 'E1 taken/refused', 'E2 taken/taken']);
  const words: Schema = { type: 'object', properties: { known: list } };
  // Its operator adds b, which the release knows: the list is another one.
  assert.deepEqual(fates({ known: ['a', 'c'] }, words), ['E0 refused/refused', 'E1 taken/refused', 'E2 taken/refused']);
  assert.deepEqual(fates({ known: ['a', 'b', 'c'] }, words), [
    'E0 refused/refused',
    'E1 taken/refused',
    'E2 taken/taken',
  ]);
  assert.deepEqual(fates({ known: ['a'] }, words), ['E0 taken/taken', 'E1 taken/taken', 'E2 taken/taken']);
});

test('RB-R88 a word that is taken out of a list with others that the release does not know is refused by every kind of server', () => {
  const words: Schema = { type: 'object', properties: { known: list } };
  const told = (known: readonly string[]): readonly (string | undefined)[] =>
    (['E0', 'E1', 'E2'] as const).map((era: Era) => predictedFates(shop({ known }), version(words), era).words);
  assert.deepEqual(told(['a', 'b', 'c']), ['refused', 'refused', 'refused']);
  assert.deepEqual(told(['a', 'b']), [undefined, undefined, undefined]);
  const { schema } = version(words);
  assert.deepEqual(withFewerWords(shop({ known: ['a', 'b', 'c'] }), schema), { known: ['b', 'c'] });
  assert.equal(withFewerWords(shop({ known: ['c'] }), schema), undefined);
});

test('an operator keeps what it once read, adds what its release knows, and writes nothing that its own release refuses', () => {
  const own = version({ type: 'object', properties: { known: list, few: { ...list, maxItems: 1 } } });
  const memory = shop({ known: ['z'] });
  const next = operatorStatus(shop({ known: ['b'] }), { own, memory, round: 1 });
  assert.deepEqual(next, { known: ['a', 'b', 'z'] });
  const full = operatorStatus(shop({ few: ['b'] }), { own, memory: undefined, round: 1 });
  assert.deepEqual(full, { few: ['b'] });
});
