import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { suite, test } from 'node:test';
import { isVimError } from '../errors.ts';
import type { ImportRequest } from '../vcenter.ts';
import {
  ClientKilled,
  type MemoryInventory,
  memoryInventory,
  memoryVCenter,
  simulatedFault,
  simulatedLoss,
} from './index.ts';
import { ovfText } from './ovf.ts';
import { VCENTER_SCENARIOS } from './scenarios.ts';

const PLACES = {
  folder: '/DC0/vm/ocp',
  cluster: '/DC0/host/C0',
  resourcePool: '/DC0/host/C0/Resources',
  datastore: '/DC0/datastore/DS0',
  network: '/DC0/network/VM Network',
  tagName: 'infra',
};

suite('scenarios in memory', () => {
  for (const scenario of VCENTER_SCENARIOS) {
    test(scenario.name, async () => {
      await using vcenter = memoryVCenter();
      const denied = vcenter.inventory.state.deniedPrivileges;
      const denyPrivileges = async (names: readonly string[]): Promise<void> => {
        denied.clear();
        for (const name of names) denied.add(name);
      };
      const addLibraryItem = async (library: string, name: string, files: ReadonlyMap<string, Uint8Array>) =>
        vcenter.inventory.addLibraryItem(library, name, new Map([...files].map(([file, bytes]) => [file, { bytes }])));
      const convertToMachine = async (template: ImportRequest['folder']) =>
        vcenter.inventory.convert(template, 'machine');
      await scenario.run(vcenter, { ...PLACES, denyPrivileges, addLibraryItem, convertToMachine });
    });
  }
});

function requestFor(
  inventory: MemoryInventory,
  name: string,
  uuid = 'aaaaaaaa-0000-4000-8000-000000000001',
): ImportRequest {
  return {
    descriptor: ovfText({ size: 10 }),
    name,
    resourcePool: inventory.at(PLACES.resourcePool),
    datastore: inventory.at(PLACES.datastore),
    folder: inventory.at(PLACES.folder),
    host: inventory.at(`${PLACES.cluster}/host-a`),
    networks: new Map([['VM Network', inventory.at(PLACES.network)]]),
    diskProvisioning: '',
    instanceUuid: uuid,
    extraConfig: new Map([['mark', uuid]]),
  };
}

const tenBytes = { size: 10, open: () => Readable.from([Buffer.alloc(10)]) };
const faultOf = (error: unknown): string | undefined => (isVimError(error) ? error.fault?.name : undefined);

test('names are unique in a folder: on import and on rename', async () => {
  const inventory = memoryInventory();
  const client = inventory.client();
  const folder = inventory.at(PLACES.folder);
  const one = inventory.add(folder, { name: 'one' });
  inventory.add(folder, { name: 'two' });
  await assert.rejects(client.startImport(requestFor(inventory, 'one')), (e) => faultOf(e) === 'DuplicateName');
  await assert.rejects(client.rename(one, 'two'), (e) => faultOf(e) === 'DuplicateName');
  await assert.rejects(client.rename(one, 'x'.repeat(81)), (e) => faultOf(e) === 'InvalidName');
  await assert.rejects(client.rename(one, ''), (e) => faultOf(e) === 'InvalidName');
  await client.rename(one, 'one');
});

test('a clone copies extraConfig but not instanceUuid, and a linked one breaks with its source', async () => {
  const inventory = memoryInventory();
  const template = inventory.add(inventory.at(PLACES.folder), {
    name: 't',
    template: true,
    extraConfig: { mark: 'm' },
  });
  inventory.clone(template, { name: 'worker', linked: true, powerOn: true });
  const [source, worker] = inventory.snapshot().machines;
  assert.equal(worker?.extraConfig['mark'], 'm');
  assert.notEqual(worker?.instanceUuid, source?.instanceUuid);
  assert.equal(worker?.isTemplate, false);
  assert.deepEqual(inventory.snapshot().broken, []);
  const client = inventory.client();
  await assert.rejects(
    client.destroy({ type: 'VirtualMachine', value: worker?.ref.split(':')[1] ?? '' }),
    (e) => faultOf(e) === 'InvalidPowerState',
  );
  const end = inventory.startTask(template, 'VirtualMachine.clone');
  await assert.rejects(client.destroy(template), (e) => faultOf(e) === 'TaskInProgress');
  end();
  await client.destroy(template);
  assert.deepEqual(inventory.snapshot().broken, ['worker']);
});

test('a hook before a call keeps the server from acting, a hook after it does not', async () => {
  const inventory = memoryInventory();
  const client = inventory.client();
  const vm = inventory.add(inventory.at(PLACES.folder), { name: 'one' });
  for (const phase of ['before', 'after'] as const) {
    inventory.onCall = (method, at) => {
      if (method === 'rename' && at === phase) throw simulatedLoss('Rename_Task');
    };
    await assert.rejects(client.rename(vm, `${phase}-name`), (e) => isVimError(e, 'VIM_UNREACHABLE'));
  }
  inventory.onCall = undefined;
  assert.equal((await client.vm(vm))?.name, 'after-name');
  assert.equal(inventory.counters.byMethod.get('rename'), 2);
});

test('a killed client leaves its machine and its lease, and no disposal cleans up', async () => {
  const inventory = memoryInventory();
  const client = inventory.client();
  inventory.onCall = (method, _phase, _args, context) => {
    if (method === 'lease.upload.half') context.client.kill();
  };
  const dying = async () => {
    await using vcenter = client;
    await using lease = await vcenter.startImport(requestFor(inventory, 'half'));
    const [file] = lease.files;
    assert.ok(file !== undefined);
    await lease.upload(file, tenBytes);
  };
  await assert.rejects(dying(), (error) => error instanceof ClientKilled);
  const { machines, leases } = inventory.snapshot();
  assert.deepEqual(
    machines.map(({ name, complete }) => ({ name, complete })),
    [{ name: 'half', complete: false }],
  );
  assert.equal(leases[0]?.state, 'ready');
  await assert.rejects(client.children(inventory.at(PLACES.folder)), (error) => error instanceof ClientKilled);
  inventory.expireLeases();
  assert.deepEqual(inventory.snapshot().machines, []);
});

test('an abort removes the machine, or leaves it as the simulator does', async () => {
  for (const abortLeavesVm of [false, true]) {
    const inventory = memoryInventory({ abortLeavesVm });
    const lease = await inventory.client().startImport(requestFor(inventory, 'gone'));
    await lease.abort('test');
    await lease.abort('test');
    assert.equal(inventory.counters.byMethod.get('lease.abort'), 1);
    assert.equal(inventory.snapshot().machines.length, abortLeavesVm ? 1 : 0);
  }
});

test('an instance UUID that is taken is replaced, a second client sees the same inventory', async () => {
  const inventory = memoryInventory();
  const lease = await inventory.client().startImport(requestFor(inventory, 'one'));
  const other = await inventory.client().startImport(requestFor(inventory, 'two'));
  const second = inventory.client();
  assert.equal((await second.vm(lease.vm))?.instanceUuid, 'aaaaaaaa-0000-4000-8000-000000000001');
  assert.notEqual((await second.vm(other.vm))?.instanceUuid, 'aaaaaaaa-0000-4000-8000-000000000001');
  assert.deepEqual(
    new Set((await second.children(inventory.at(PLACES.folder))).map((vm) => vm.name)),
    new Set(['one', 'two']),
  );
});

test('a destroyed machine ends the lease of its import', async () => {
  const inventory = memoryInventory();
  const lease = await inventory.client().startImport(requestFor(inventory, 'one'));
  await inventory.client().destroy(lease.vm);
  const [file] = lease.files;
  assert.ok(file !== undefined);
  await assert.rejects(lease.upload(file, tenBytes), (e) => faultOf(e) === 'InvalidState');
  await lease.abort('test');
});

test('subscribers see every change, faults of hooks are real VimErrors', async () => {
  const inventory = memoryInventory();
  const client = inventory.client();
  const vm = inventory.add(inventory.at(PLACES.folder), { name: 'a' });
  const seen: string[] = [];
  inventory.subscribe(({ machines }) => seen.push(machines.map((machine) => machine.name).join()));
  await client.rename(vm, 'b');
  await client.vm(vm);
  await client.destroy(vm);
  assert.deepEqual(seen, ['b', '']);
  const fault = simulatedFault('NoPermission', 'Rename_Task', 'a', { privilegeId: 'VirtualMachine.Inventory.Move' });
  assert.equal(fault.code, 'VIM_NO_PERMISSION');
});
