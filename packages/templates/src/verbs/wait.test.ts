import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { memoryInventory } from '@drydock/vsphere/testing';
import { SILENCE_MS } from '../decide/claim.ts';
import type { TemplateStore } from '../store.ts';
import { templateStore } from '../store-vsphere.ts';
import { TEST_KEYS } from '../testing/keys.ts';
import { memoryLedger, testUptime } from '../testing/memory-ledger.ts';
import { fails } from '../testing/rig.ts';
import { memoryOva, testWish } from '../testing/wishes.ts';

/** Publications from several machines, each with a ledger and a clock of its own; the first of them died in the middle of its upload. */
async function abandoned() {
  const clock = virtualClock({ auto: true });
  const inventory = memoryInventory({ now: clock.now, folders: ['/DC0/vm/ocp'] });
  const machine = (): TemplateStore =>
    templateStore({
      ...{ vcenters: async () => inventory.client(), cacheDir: '/nonexistent', clock, ovas: memoryOva() },
      ...{ markKeys: async () => TEST_KEYS, ledger: memoryLedger(), uptime: testUptime(clock) },
    });
  inventory.onCall = (method, phase, _args, { client }) => {
    if (method === 'lease.complete' && phase === 'before') client.kill();
  };
  await assert.rejects(machine().publish(testWish({ holder: 'a' }), { holderIsLive: () => true }));
  inventory.onCall = undefined;
  const [half] = inventory.snapshot().machines;
  return { clock, inventory, machine, half: half?.name ?? assert.fail('the first import left nothing') };
}

test('an importer of which nothing is known is waited for, one minute unless said otherwise, and then the call fails', async () => {
  const { clock, machine, half } = await abandoned();
  const from = clock.now();
  const waited: string[] = [];
  const options = { holderIsLive: () => undefined, onWait: (name: string) => void waited.push(name) };
  await fails(
    machine().publish(testWish({ holder: 'b' }), options),
    'UPLOAD_IN_PROGRESS',
    /counts as dead after 10 minutes/,
  );
  assert.deepEqual([waited, clock.now() - from], [[half], 60_000]);
});

test('a process that waits as long as the silence limit removes what a dead importer left, and imports', async () => {
  const { clock, inventory, machine, half } = await abandoned();
  const from = clock.now();
  const waited: string[] = [];
  const options = { holderIsLive: () => undefined, onWait: (name: string) => void waited.push(name) };
  const { uploads } = await machine().publish(testWish({ holder: 'b' }), { ...options, waitMs: SILENCE_MS });
  assert.deepEqual([uploads, waited, clock.now() - from], [1, [half], SILENCE_MS]);
  assert.equal(inventory.snapshot().machines.length, 1);
});
