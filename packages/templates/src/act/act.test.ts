import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { SILENCE_MS } from '../decide/claim.ts';
import { fingerprintOf } from '../fingerprint.ts';
import { CONTENT_KEY } from '../mark/birth-mark.ts';
import { writeOwnership } from '../mark/ownership-record.ts';
import { testimonyOf } from '../mark.ts';
import { upstreamNames } from '../names.ts';
import { TEST_KEYS } from '../testing/keys.ts';
import { memoryLedger } from '../testing/memory-ledger.ts';
import { fails, testRig } from '../testing/rig.ts';
import { testWish } from '../testing/wishes.ts';
import { testWitnesses } from '../testing/witnesses.ts';

const FOLDER = '/DC0/vm/ocp';
const ELSEWHERE = '/DC0/vm/other';

/** A folder with half an import, whose importer is dead. */
async function rig() {
  const ledger = memoryLedger();
  const proofs = { markKeys: async () => TEST_KEYS, ledger };
  const clock = virtualClock({ auto: true });
  const made = testRig(clock, { folders: [FOLDER, ELSEWHERE] }, {}, proofs);
  made.inventory.onCall = (method, phase, _args, { client }) => {
    if (method === 'lease.upload' && phase === 'after') client.kill();
  };
  await assert.rejects(made.publish({ holder: 'dead' }));
  const [half] = made.in(FOLDER);
  assert.ok(half !== undefined);
  /** Between the look at the folder and the removal. */
  const between = (happens: () => void): void => {
    made.inventory.onCall = (method, phase) => {
      if (method !== 'obstacle' || phase !== 'after') return;
      made.inventory.onCall = undefined;
      happens();
    };
  };
  return { ...made, clock, half, between, next: () => made.store.publish(testWish(), { holderIsLive: () => false }) };
}

test('OWN-21 what a dead importer left is not removed while a task runs on it that began after the look', async () => {
  const { between, half, inventory, next, ...made } = await rig();
  between(() => inventory.startTask(inventory.at(`${FOLDER}/${half.name}`), 'VirtualMachine.relocate'));
  await fails(next(), 'UPLOAD_IN_PROGRESS', `a task runs on ${half.name}`);
  assert.equal(inventory.counters.byMethod.get('destroy') ?? 0, 0, 'no refused task in the history of vCenter');
  assert.deepEqual(
    made.in(FOLDER).map(({ ref }) => ref),
    [half.ref],
  );
});

test('OWN-21 what a dead importer left is not removed from another folder to which somebody moved it after the look', async () => {
  const { between, half, inventory, next, ...made } = await rig();
  between(() => {
    const machine = inventory.state.machines.get(half.ref) ?? assert.fail();
    const { type, value } = inventory.at(ELSEWHERE);
    inventory.state.machines.set(half.ref, { ...machine, folder: `${type}:${value}` });
  });
  assert.equal((await next()).uploads, 1);
  assert.deepEqual(
    made.in(ELSEWHERE).map(({ ref }) => ref),
    [half.ref],
  );
});

test('OWN-20 what a dead importer left is not removed where somebody has run it since the look', async () => {
  const { between, half, inventory, next, ...made } = await rig();
  between(() => {
    const ref = inventory.at(`${FOLDER}/${half.name}`);
    inventory.power(ref, 'poweredOn');
    inventory.power(ref, 'poweredOff');
  });
  await next();
  assert.ok(made.in(FOLDER).some(({ ref }) => ref === half.ref));
  assert.equal(inventory.counters.byMethod.get('destroy') ?? 0, 0);
});

test('OWN-20 what another process has finished since the look is not removed', async () => {
  const { half, inventory, clock, next, ...made } = await rig();
  inventory.onCall = async (method, phase) => {
    if (method !== 'disksOn' || phase !== 'after') return;
    inventory.onCall = undefined;
    const client = inventory.client();
    const vm = (await client.vm(inventory.at(`${FOLDER}/${half.name}`))) ?? assert.fail();
    const { identity, birth: mark } = testimonyOf(vm, await testWitnesses(client, clock, memoryLedger()));
    assert.ok(identity !== undefined && mark !== undefined);
    const fingerprint = fingerprintOf(vm);
    await writeOwnership(client, vm, identity, { kind: 'imported', mark, fingerprint }, TEST_KEYS, {});
    inventory.state.machines.get(half.ref)?.extraConfig.set(CONTENT_KEY, fingerprint);
  };
  await next();
  assert.ok(made.in(FOLDER).some(({ ref }) => ref === half.ref));
  assert.equal(inventory.counters.byMethod.get('destroy') ?? 0, 0);
});

test('OWN-20 what another tool left is not removed where somebody has cloned it since the look', async () => {
  const clock = virtualClock({ auto: true });
  const made = testRig(clock, { folders: [FOLDER, ELSEWHERE] });
  const { inventory } = made;
  await made.swap('stable');
  const { old } = upstreamNames('stable');
  const createDate = '2025-01-01T00:00:00Z';
  const left = inventory.add(inventory.at(FOLDER), { name: old, template: true, createDate });
  await made.swap('stable');
  clock.advance(SILENCE_MS);
  inventory.onCall = (method, phase) => {
    if (method !== 'obstacle' || phase !== 'after') return;
    inventory.onCall = undefined;
    inventory.clone(left, { name: 'worker', folder: inventory.at(ELSEWHERE), linked: true, powerOn: true });
  };
  await made.swap('stable');
  assert.deepEqual(inventory.snapshot().broken, [], 'the disk of the clone lost its parent');
  assert.ok(made.in(FOLDER).some(({ name }) => name === old));
});
