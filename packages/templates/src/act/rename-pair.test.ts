import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MoRef } from '@drydock/vsphere';
import { memoryInventory } from '@drydock/vsphere/testing';
import { fenced } from './fenced.ts';
import { swapNames } from './rename-pair.ts';

const FOLDER = '/DC0/vm/ocp';

/** A folder with the template `stable` and a finished one that is to take its name. */
function rig() {
  const inventory = memoryInventory();
  const folder = inventory.at(FOLDER);
  const add = (name: string): MoRef => inventory.add(folder, { name, template: true });
  const [old, fresh] = [add('stable'), add('fresh')];
  const step = {
    kind: 'swap',
    ref: fresh,
    name: 'fresh',
    publishes: 'stable',
    old: { ref: old, name: 'stable' },
    retired: 'stable-retired',
  } as const;
  const names = () => Object.fromEntries(inventory.snapshot().machines.map(({ ref, name }) => [ref, name]));
  return { inventory, folder, step, old, fresh, names, client: inventory.client() };
}

for (const which of ['old', 'fresh'] as const) {
  test(`OWN-21 a task that begins on the ${which} template right before the pair leaves both names as they are`, async () => {
    const { client, folder, inventory, names, step, ...refs } = rig();
    const before = names();
    inventory.onCall = (method, phase) => {
      if (method !== 'obstacle' || phase !== 'after') return;
      inventory.onCall = undefined;
      inventory.startTask(refs[which], 'VirtualMachine.clone');
    };
    assert.deepEqual(await swapNames({ vcenter: client, unfenced: client }, folder, step, {}), {});
    assert.deepEqual(names(), before);
  });
}

test('OWN-21 a process that ceases to lead between the two renames makes the second: the name is never left absent', async () => {
  const { client, folder, fresh, inventory, names, step } = rig();
  let leads = true;
  const fence = (): void => {
    if (!leads) throw new Error('the lease is not held');
  };
  inventory.onCall = (method, phase) => {
    if (method === 'rename' && phase === 'after') leads = false;
  };
  await swapNames({ vcenter: fenced(client, fence), unfenced: client }, folder, step, {});
  assert.equal(names()[`VirtualMachine:${fresh.value}`], 'stable');
});

test('OWN-18 somebody says no after everything was looked at, right before the first rename: both names stay as they are', async () => {
  const { client, folder, names, step } = rig();
  const before = names();
  const asked: string[] = [];
  const swap = swapNames({ vcenter: client, unfenced: client }, folder, step, {}, async (name) => {
    asked.push(name);
    throw new Error('it is pinned');
  });
  await assert.rejects(swap, /it is pinned/);
  assert.deepEqual([asked, names()], [[step.name], before]);
});
