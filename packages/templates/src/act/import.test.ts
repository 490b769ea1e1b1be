import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { simulatedFault } from '@drydock/vsphere/testing';
import { attemptsOf } from '../names.ts';
import { fails, mutations, testRig } from '../testing/rig.ts';
import { testWish } from '../testing/wishes.ts';

const FOLDER = '/DC0/vm/ocp';

test('OWN-21 nothing is imported before the cluster has recorded that it will be', async () => {
  const made = testRig(virtualClock({ auto: true }));
  const announce = async (): Promise<void> => {
    await new Promise(setImmediate);
    assert.equal(mutations(made), 0, 'an import began before it was recorded');
    throw new Error('the API server does not answer');
  };
  const published = made.store.publish(testWish(), { holderIsLive: () => true, announce });
  await fails(published, 'IMPORT_FAILED', /the API server does not answer/);
  assert.deepEqual([mutations(made), made.in(FOLDER)], [0, []]);
});

test('OWN-21 a machine that vCenter gives another instance UUID gets no byte, is told, and goes', async () => {
  const made = testRig(virtualClock({ auto: true }));
  made.inventory.onCall = (method, phase) => {
    if (method !== 'startImport' || phase !== 'after') return;
    for (const machine of made.inventory.state.machines.values())
      machine.instanceUuid = '42000000-0000-4000-8000-00000000000f';
  };
  await fails(made.publish(), 'IMPORT_FAILED', /another instance UUID than ours/);
  assert.deepEqual([made.inventory.counters.uploads, made.in(FOLDER)], [0, []]);
});

test('OWN-21 a server that keeps the machine of an import that was aborted has it removed', async () => {
  const made = testRig(virtualClock({ auto: true }), { abortLeavesVm: true });
  made.inventory.onCall = (method, phase) => {
    if (method === 'lease.upload.half' && phase === 'before') throw simulatedFault('SystemError', 'POST nfc', 'host-a');
  };
  await fails(made.publish(), 'IMPORT_FAILED', /SystemError/);
  assert.deepEqual(made.in(FOLDER), []);
});

test('OWN-8 a name whose folder on the datastore belongs to a machine that was renamed is taken: the next one serves', async () => {
  const made = testRig(virtualClock({ auto: true }), { takenDirectory: 'refused' });
  const [first, second] = attemptsOf(testWish());
  assert.equal((await made.publish()).name, first?.name);
  const [machine] = made.in(FOLDER);
  const renamed = made.inventory.state.machines.get(machine?.ref ?? '') ?? assert.fail();
  made.inventory.convert(renamed.ref, 'machine');
  renamed.name = 'a machine of somebody';
  const published = await made.publish();
  assert.deepEqual([published.name, published.uploads], [second?.name, 1]);
  assert.equal((await made.publish()).uploads, 0);
  assert.ok(made.in(FOLDER).some(({ name }) => name === 'a machine of somebody'));
});

test('OWN-8 where the server calls every name taken, each is tried once, and that is said', async () => {
  const made = testRig(virtualClock({ auto: true }));
  made.inventory.onCall = (method, phase) => {
    if (method === 'startImport' && phase === 'before') throw simulatedFault('DuplicateName', 'ImportVApp', 'x');
  };
  const { length } = attemptsOf(testWish());
  await fails(made.publish(), 'NAME_TAKEN', `all ${length} names from ${attemptsOf(testWish())[0]?.name} on are taken`);
  assert.equal(made.inventory.counters.byMethod.get('startImport'), length);
  assert.equal(made.inventory.counters.uploads, 0);
});
