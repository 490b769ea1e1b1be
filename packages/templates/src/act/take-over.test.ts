import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import type { VmSummary } from '@drydock/vsphere';
import { memoryInventory } from '@drydock/vsphere/testing';
import { fingerprintOf } from '../fingerprint.ts';
import { codeOf } from '../mark/code.ts';
import { readMark } from '../mark.ts';
import { TEST_KEYS } from '../testing/keys.ts';
import { memoryLedger } from '../testing/memory-ledger.ts';
import { testWitnesses } from '../testing/witnesses.ts';
import { takeOver } from './take-over.ts';

const UUID = '42000000-0000-4000-8000-000000000001';

/** A template as version 0.1.0 left it. */
async function rig() {
  const clock = virtualClock({ auto: true });
  const inventory = memoryInventory({ now: clock.now });
  const folder = inventory.at('/DC0/vm/ocp');
  const mark = {
    owner: 'us',
    operation: 'op',
    digest: 'd'.repeat(64),
    release: '9.4',
    holder: 'h',
    instanceUuid: UUID,
  };
  const code = codeOf(TEST_KEYS, ['drydock.mark/1', 'us', 'op', mark.digest, UUID]) ?? '';
  const keys = Object.entries({ ...mark, verified: mark.digest, proof: code });
  const extraConfig = Object.fromEntries(keys.map(([key, value]) => [`drydock.${key}`, value]));
  const ref = inventory.add(folder, { name: 'rhcos', template: true, instanceUuid: UUID, extraConfig });
  const client = inventory.client();
  const vm = (await client.vm(ref)) ?? assert.fail();
  const record = (of: VmSummary): string => `${UUID} template 2026-01-01T00:00:00Z ${fingerprintOf(of)} 0123`;
  await client.setCustomValue(ref, 'drydock.record', record(vm));
  clock.advance(1000);
  const witnesses = await testWitnesses(client, clock, memoryLedger('cluster'));
  const read = async () => readMark((await client.vm(ref)) ?? assert.fail(), folder, { owner: 'us', witnesses }).kind;
  const take = (cluster: { recorded?: boolean; refers?: boolean; retired?: boolean }) =>
    takeOver(
      client,
      folder,
      { owner: 'us', witnesses },
      {
        recorded: () => cluster.recorded === true,
        refers: () => cluster.refers === true,
        retired: () => cluster.retired === true,
      },
      {},
    );
  return { inventory, folder, clock, ref, extraConfig, record, client, read, take };
}

test('KEEP-9 a template of 0.1.0 is taken over once the cluster refers to it, and counts from then on', async () => {
  const made = await rig();
  assert.equal(await made.read(), 'invalid');
  assert.deepEqual(await made.take({ refers: true }), ['rhcos']);
  assert.equal(await made.read(), 'ours');
  assert.deepEqual(await made.take({ refers: true }), [], 'nothing is left to do');
});

test('KEEP-9 an old code alone takes nothing over, nor does an announced import that nothing names', async () => {
  const made = await rig();
  assert.deepEqual(await made.take({}), []);
  assert.deepEqual(await made.take({ recorded: true }), []);
  assert.equal(await made.read(), 'invalid');
});

test('KEEP-9 a copy that somebody makes after the upgrade is not taken over, whatever it bears and whoever refers to its name', async () => {
  const made = await rig();
  await made.take({});
  made.inventory.remove(made.ref);
  made.clock.advance(1000);
  const { extraConfig } = made;
  const copy = { name: 'rhcos', template: true, instanceUuid: UUID, extraConfig };
  const ref = made.inventory.add(made.folder, copy);
  const vm = (await made.client.vm(ref)) ?? assert.fail();
  await made.client.setCustomValue(ref, 'drydock.record', made.record(vm));
  assert.deepEqual(await made.take({ refers: true, recorded: true, retired: true }), []);
});

test('KEEP-9 a template of 0.1.0 that is not what it was is not taken over', async () => {
  const made = await rig();
  made.inventory.convert(made.ref, 'machine');
  made.inventory.power(made.ref, 'poweredOn');
  made.inventory.power(made.ref, 'poweredOff');
  made.inventory.convert(made.ref, 'template');
  assert.deepEqual(await made.take({ refers: true, recorded: true }), []);
});
