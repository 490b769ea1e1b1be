import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VmSummary } from '@drydock/vsphere';
import { memoryLedger } from '../testing/memory-ledger.ts';
import { HEARTBEAT_ATTRIBUTE } from './birth-mark.ts';
import { openLedger } from './ledger.ts';
import { unchangedFor } from './sightings.ts';

function vm(heartbeat: string, isTemplate = false): VmSummary {
  const customValues = new Map([[HEARTBEAT_ATTRIBUTE, heartbeat]]);
  return { name: 'rhcos', isTemplate, changeVersion: '1', customValues } as unknown as VmSummary;
}

test('KEEP-6 silence counts from first sight, and any change of the heartbeat, emptying it included, begins it again', () => {
  const ledger = openLedger(undefined);
  let now = 5000;
  const uptime = { boot: 'a', now: () => now };
  assert.equal(unchangedFor(ledger, uptime, 'k', vm('1')), 0);
  now += 700;
  assert.equal(unchangedFor(ledger, uptime, 'k', vm('1')), 700);
  assert.equal(unchangedFor(ledger, uptime, 'k', vm('')), 0);
  now += 100;
  assert.equal(unchangedFor(ledger, uptime, 'k', vm('', true)), 0, 'it became a template');
});

test('KEEP-6 another process of the same boot goes on counting; after a reboot it begins again', async () => {
  const store = memoryLedger();
  const first = openLedger(store);
  unchangedFor(first, { boot: 'a', now: () => 1000 }, 'k', vm('1'));
  await first.keepSightings('place', new Set(['k']));
  const second = openLedger(store);
  await second.load();
  assert.equal(unchangedFor(second, { boot: 'a', now: () => 9000 }, 'k', vm('1')), 8000);
  const third = openLedger(store);
  await third.load();
  assert.equal(unchangedFor(third, { boot: 'b', now: () => 90_000 }, 'k', vm('1')), 0);
});

test('sightings of machines that went are forgotten', async () => {
  const store = memoryLedger();
  const ledger = openLedger(store);
  unchangedFor(ledger, { boot: 'a', now: () => 1 }, 'k', vm('1'));
  await ledger.keepSightings('place', new Set(['k']));
  assert.equal(store.texts.size, 1);
  await ledger.keepSightings('place', new Set());
  assert.equal(store.texts.size, 0);
});
