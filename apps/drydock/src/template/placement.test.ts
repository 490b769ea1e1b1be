import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VCenter } from '@drydock/vsphere';
import { memoryInventory } from '@drydock/vsphere/testing';
import { findPlace } from './doctor-place.ts';
import { resolvePlacement } from './placement.ts';
import { checkPrivileges } from './privileges.ts';
import { TemplateProblem } from './problem.ts';
import type { PlaceSettings } from './settings.ts';

const hosts = [{ name: 'h1' }];
const none = new AbortController().signal;

function small(): VCenter {
  return memoryInventory().client();
}

function wide(): VCenter {
  return memoryInventory({
    folders: ['/DC0/vm/a/templates', '/DC0/vm/b/templates', '/DC1/vm/x'],
    clusters: [
      { path: '/DC0/host/C0', hosts },
      { path: '/DC0/host/C1', hosts: [{ name: 'h2' }] },
    ],
    datastores: [{ path: '/DC0/datastore/DS0' }, { path: '/DC0/datastore/DS1' }],
  }).client();
}

const resolve = (vcenter: VCenter, settings: PlaceSettings) => resolvePlacement(vcenter, settings, 'import', {});

test('what exists once is taken without being named', async () => {
  assert.deepEqual(await resolve(small(), {}), {
    server: 'vcenter.example',
    datacenter: '/DC0',
    folder: '/DC0/vm',
    failureDomain: 'C0',
    resourcePool: '',
    computeCluster: '/DC0/host/C0',
    datastore: '/DC0/datastore/DS0',
    networks: ['/DC0/network/VM Network'],
  });
});

test('of several none is guessed: the choices and the flag are told', async () => {
  const at = { datacenter: 'DC0', folder: '/DC0/vm' };
  await assert.rejects(
    resolve(wide(), {}),
    /there are 2 datacenters in this vCenter \(\/DC0, \/DC1\): say which with --datacenter or GOVC_DATACENTER/,
  );
  await assert.rejects(resolve(wide(), at), /there are 2 compute clusters in \/DC0/);
  await assert.rejects(resolve(wide(), { ...at, cluster: 'C0' }), /there are 2 datastores in \/DC0/);
  await assert.rejects(resolve(wide(), { ...at, folder: 'templates' }), /2 folders are named templates/);
});

test('names and relative paths are found as govc finds them', async () => {
  const placement = await resolve(wide(), {
    datacenter: 'DC0',
    folder: 'b/templates',
    resourcePool: 'C1/Resources',
    datastore: 'DS1',
    network: 'VM Network',
  });
  assert.equal(placement.folder, '/DC0/vm/b/templates');
  assert.equal(placement.resourcePool, '/DC0/host/C1/Resources');
  assert.equal(placement.computeCluster, '/DC0/host/C1', 'the cluster of the pool');
  assert.equal(placement.datastore, '/DC0/datastore/DS1');
});

test('a host stands for its cluster', async () => {
  const at = { datacenter: '/DC0', datastore: 'DS0' };
  assert.equal((await resolve(wide(), { ...at, host: 'h2' })).computeCluster, '/DC0/host/C1');
  assert.equal((await resolve(wide(), { ...at, host: '/DC0/host/C1/h2' })).computeCluster, '/DC0/host/C1');
  await assert.rejects(
    resolve(wide(), { ...at, host: 'h9' }),
    (error) => error instanceof TemplateProblem && error.code === 'HOST_UNKNOWN',
  );
});

test('absolute paths need no look at the inventory', async () => {
  const blind = { ...small(), places: () => assert.fail('the inventory was read') } as unknown as VCenter;
  const placement = await resolvePlacement(blind, { folder: '/DC0/vm/ocp/' }, 'folder', {});
  assert.deepEqual([placement.datacenter, placement.folder], ['/DC0', '/DC0/vm/ocp']);
});

test('doctor tells each part for itself, with what is there instead', async () => {
  const vcenter = wide();
  const settings = { datacenter: 'DC0', folder: 'nope', cluster: 'C0', datastore: 'DS7' };
  const { lines, items } = await findPlace(vcenter, settings, await vcenter.places(), {
    again: 'doctor',
    signal: none,
  });
  assert.deepEqual(
    lines.map(({ name, state }) => [name, state]),
    [
      ['datacenter', 'ok'],
      ['folder', 'FAIL'],
      ['cluster', 'ok'],
      ['pool', 'ok'],
      ['datastore', 'FAIL'],
      ['network', 'ok'],
    ],
  );
  assert.match(lines[4]?.detail ?? '', /DS7 does not exist; there are \/DC0\/datastore\/DS0, \/DC0\/datastore\/DS1/);
  assert.equal(lines[4]?.next, 'doctor --datastore /DC0/datastore/DS0');
  assert.equal(items.resourcePool?.path, '/DC0/host/C0/Resources');
});

test('a privilege that would be missed after the upload is missed before it, by name and object', async () => {
  const inventory = memoryInventory();
  const vcenter = inventory.client();
  const placement = await resolve(vcenter, { folder: 'ocp' });
  await checkPrivileges(vcenter, placement, true, {});
  inventory.state.deniedPrivileges.add('VirtualMachine.Config.Rename');
  await assert.rejects(
    checkPrivileges(vcenter, placement, false, {}),
    /the user \S+ lacks VirtualMachine\.Config\.Rename on \/DC0\/vm\/ocp/,
  );
});

test('OWN-18 the privilege to add disks, which an import needs on the folder, is asked for as well', async () => {
  const inventory = memoryInventory();
  const vcenter = inventory.client();
  const placement = await resolve(vcenter, { folder: 'ocp' });
  inventory.state.deniedPrivileges.add('VirtualMachine.Config.AddNewDisk');
  await assert.rejects(
    checkPrivileges(vcenter, placement, true, {}),
    /the user memory lacks VirtualMachine\.Config\.AddNewDisk on \/DC0\/vm\/ocp/,
  );
});
