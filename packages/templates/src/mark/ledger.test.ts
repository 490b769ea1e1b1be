import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { TEST_KEYS } from '../testing/keys.ts';
import { memoryLedger } from '../testing/memory-ledger.ts';
import { testRig } from '../testing/rig.ts';
import { testPlacement } from '../testing/wishes.ts';
import { openLedger } from './ledger.ts';

const placement = testPlacement();
const owner = 'cluster-uid';
const collection = { referenced: () => undefined, holderIsLive: () => false, keep: 0 };

for (const text of ['', 'nonsense', '{"stage":"template"}', '{"stage":"of a later version","own":true,"mark":{}}']) {
  for (const keyed of [true, false]) {
    const setting = keyed ? 'with a key' : 'without a key';
    test(`an entry that reads ${JSON.stringify(text)} keeps its template ${setting}, and is left as it is`, async () => {
      const clock = virtualClock({ auto: true });
      const ledger = memoryLedger('cluster');
      const rig = testRig(clock, {}, {}, { ledger, ...(keyed ? { markKeys: async () => TEST_KEYS } : {}) });
      const { name } = await rig.publish();
      const [key = ''] = [...ledger.texts.keys()].filter((one) => one.startsWith('vm.'));
      ledger.texts.set(key, text);
      clock.advance(86_400_000);
      await rig.store.collect(placement, owner, collection);
      clock.advance(86_400_000);
      const [verdict] = await rig.store.collect(placement, owner, collection);
      assert.equal(verdict?.removed, false);
      assert.match(
        verdict.reason,
        keyed ? /it is not in the ledger here/ : /its entry in the ownership ledger cannot be/,
      );
      await rig.store.hold(placement, name, 'x');
      await rig.store.release(placement, 'x');
      assert.equal(ledger.texts.get(key), text);
    });
  }
}

test('a change of an entry that cannot be read leaves it, and a new entry replaces it', async () => {
  const store = memoryLedger('cluster', new Map([['vm.k', 'nonsense']]));
  const ledger = openLedger(store);
  await ledger.load();
  await ledger.change('k', (now) => now && { ...now, stage: 'template' });
  assert.equal(store.texts.get('vm.k'), 'nonsense');
  const mark = { owner, operation: 'o', digest: 'd', release: '9.4' };
  await ledger.change('k', () => ({ stage: 'importing', own: true, mark }));
  assert.equal(ledger.get('k')?.stage, 'importing');
});

test('of machines that have nothing to do with templates the ledger remembers nothing', async () => {
  const ledger = memoryLedger('cluster');
  const rig = testRig(virtualClock({ auto: true }), {}, {}, { ledger });
  await rig.publish();
  const sizeOf = (): number => [...ledger.texts.values()].reduce((sum, text) => sum + text.length, 0);
  await rig.store.collect(placement, owner, collection);
  const before = sizeOf();
  for (let at = 0; at < 50; at += 1) rig.inventory.add(rig.inventory.at('/DC0/vm/ocp'), { name: `worker-${at}` });
  await rig.store.collect(placement, owner, collection);
  assert.equal(sizeOf(), before);
});
