import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { memoryInventory, simulatedLoss } from '@drydock/vsphere/testing';
import { heartbeat } from './heartbeat.ts';

test('OWN-21 signs of life that are lost end an import only when five in a row are', async () => {
  const inventory = memoryInventory();
  const folder = inventory.at('/DC0/vm/ocp');
  const vm = inventory.add(folder, { name: 'half' });
  let beat: () => void = () => assert.fail('there is no pacemaker');
  await using living = heartbeat(inventory.client(), vm, 'uuid', (tick) => {
    beat = tick;
    return { [Symbol.dispose]: () => undefined };
  });
  let asked = 0;
  let lost = true;
  inventory.onCall = (method, phase) => {
    if (method !== 'currentTime' || phase !== 'before') return;
    asked += 1;
    if (lost) throw simulatedLoss('CurrentTime');
  };
  const beats = async (count: number): Promise<boolean> => {
    for (const until = asked + count; asked < until && !living.failed.aborted; await turn()) beat();
    for (let settling = 0; settling < 20; settling += 1) await turn();
    return living.failed.aborted;
  };
  assert.equal(await beats(4), false, 'four lost ones');
  lost = false;
  assert.equal(await beats(1), false);
  lost = true;
  assert.equal(await beats(4), false, 'four more, after one that arrived');
  assert.equal(await beats(1), true, 'the fifth in a row');
  assert.match(String(living.failed.reason), /5 times in a row/);
});
