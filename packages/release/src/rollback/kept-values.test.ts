import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, LedgerStore, Loss, Schema } from '@drydock/crd';
import { isKept, keep, keptIn } from './kept-values.ts';

function memoryStore(): LedgerStore {
  const texts = new Map<string, string>();
  return {
    read: async () => texts,
    change: async (key, next) => {
      const text = next(texts.get(key));
      if (text === undefined) texts.delete(key);
      else texts.set(key, text);
      return text;
    },
  };
}

const subject = { uid: 'u', object: 'shop/one', resourceVersion: '1' };
const keyed: Schema = { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-map-keys': ['type'] };
const schema: Schema = {
  type: 'object',
  properties: { conditions: keyed, words: { type: 'array', items: { type: 'string' } } },
};
const condition = (type: string, message: string): JsonObject => ({ type, message });
const conditions = (...value: readonly JsonObject[]): Loss => ({ at: ['conditions'], value });

test('RB-R91 an operator that writes a list of keyed items anew, once it was left out whole, takes none of them away; of one key the newer item counts', async () => {
  const { status } = keptIn({ name: 'a', store: memoryStore() }, { name: 'b', store: memoryStore() });
  const origin = { subject, schema, schemaHash: 'h', release: '1.1.0', now: new Date(0), stored: {} };
  await keep(status, { ...origin, lost: [conditions(condition('Ready', 'yes'), condition('Alive', '1'))] });
  // It has read a status without any.
  const lost = [conditions(condition('Alive', '2'))];
  await keep(status, { ...origin, lost });
  const view = await status.view(subject.uid, true);
  assert.deepEqual(
    view.entries.map(({ value }) => value),
    [[condition('Ready', 'yes'), condition('Alive', '2')]],
  );
  assert.equal(isKept(view, lost, schema), true);
  // Items without keys cannot be told apart: there the newer list counts.
  await keep(status, { ...origin, lost: [{ at: ['words'], value: ['a', 'b'] }] });
  await keep(status, { ...origin, lost: [{ at: ['words'], value: ['b'] }] });
  const { entries } = await status.view(subject.uid, true);
  assert.deepEqual(entries.find(({ at }) => at[0] === 'words')?.value, ['b']);
});
