import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { type MemoryOptions, simulatedFault } from '@drydock/vsphere/testing';
import { fails, mutations, type TestRig, testRig } from '../testing/rig.ts';
import { testPlacement } from '../testing/wishes.ts';
import { hostFault } from './place.ts';

const rig = (options: MemoryOptions): TestRig => testRig(virtualClock({ auto: true }), options);
const PORTGROUP = { path: '/DC0/network/dpg', type: 'DistributedVirtualPortgroup' } as const;
const OPAQUE = { path: '/DC0/network/segment', type: 'OpaqueNetwork' } as const;

for (const network of [PORTGROUP, OPAQUE]) {
  const name = network.path.split('/').at(-1) ?? '';
  const cluster = (...hosts: NonNullable<MemoryOptions['clusters']>[number]['hosts']) => ({
    networks: [network],
    clusters: [{ path: '/DC0/host/C0', hosts }],
  });
  const placement = testPlacement({ networks: [name] });

  test(`OWN-14 a host that a ${network.type} does not reach is passed over, before anything is sent`, async () => {
    const made = rig(cluster({ name: 'h1', networks: [] }, { name: 'h2', networks: [name] }));
    const hosts: string[] = [];
    made.inventory.onCall = (method, phase, [request]) => {
      if (method === 'startImport' && phase === 'before')
        hosts.push((request as { host: { value: string } }).host.value);
    };
    assert.equal((await made.publish({ placement })).uploads, 1);
    assert.deepEqual(hosts, [made.inventory.at('/DC0/host/C0/h2').value]);
  });

  test(`OWN-14 no host that a ${network.type} reaches: each is named with what it lacks`, async () => {
    const made = rig(cluster({ name: 'h1', networks: [] }, { name: 'h2', networks: [] }));
    const why = /all hosts unavailable \(h1 does not have the network, h2 does not have the network\)/;
    await fails(made.publish({ placement }), 'HOSTS_UNAVAILABLE', why);
    assert.equal(mutations(made), 0);
  });
}

test('OWN-14 a host whose networks may not be read is not passed over', () => {
  const host = {
    ref: { type: 'HostSystem', value: 'host-1' },
    name: 'h1',
    connectionState: 'connected',
    powerState: 'poweredOn',
    inMaintenanceMode: false,
    datastores: [],
  };
  const network = { type: 'DistributedVirtualPortgroup', value: 'dvportgroup-1' };
  assert.equal(hostFault(host, undefined, network), undefined);
  assert.equal(hostFault({ ...host, networks: [] }, undefined, network), 'does not have the network');
  assert.equal(hostFault({ ...host, networks: [network] }, undefined, network), undefined);
});

for (const fault of ['CannotAccessNetwork', 'DVPortNotSupported', 'DvsOperationBulkFault']) {
  test(`OWN-14 ${fault} of one host leads to the next one`, async () => {
    const made = rig({ networks: [PORTGROUP] });
    let refused = 0;
    made.inventory.onCall = (method, phase) => {
      if (method !== 'startImport' || phase !== 'before' || refused > 0) return;
      refused += 1;
      throw simulatedFault(fault, 'ImportVApp', 'a host');
    };
    assert.equal((await made.publish({ placement: testPlacement({ networks: ['dpg'] }) })).uploads, 1);
    assert.equal(refused, 1);
  });
}

const POD: MemoryOptions = {
  datastoreClusters: ['/DC0/datastore/pod'],
  datastores: [{ path: '/DC0/datastore/pod/DS1' }, { path: '/DC0/datastore/folder/DS2' }],
};

test('OWN-15 a datastore cluster, a datastore inside of one, and one in a folder: a sentence that says what to write', async () => {
  for (const [datastore, text] of [
    [
      '/DC0/datastore/pod',
      'failed to find datastore: /DC0/datastore/pod on vcenter.example is a datastore cluster: name one of its datastores',
    ],
    ['pod', 'failed to find datastore: /DC0/datastore/pod on vcenter.example is a datastore cluster'],
    [
      'DS1',
      'failed to find datastore: /DC0/datastore/DS1 does not exist on vcenter.example, but /DC0/datastore/pod/DS1 does: give the path',
    ],
    [
      'DS2',
      'failed to find datastore: /DC0/datastore/DS2 does not exist on vcenter.example, but /DC0/datastore/folder/DS2 does: give the path',
    ],
    ['/DC0/datastore/folder', 'failed to find datastore: /DC0/datastore/folder on vcenter.example is a folder'],
  ] as const) {
    const made = rig(POD);
    await fails(made.publish({ placement: testPlacement({ datastore }) }), 'DATASTORE_NOT_FOUND', text);
    assert.equal(mutations(made), 0);
  }
  for (const datastore of ['pod/DS1', '/DC0/datastore/folder/DS2'])
    assert.equal((await rig(POD).publish({ placement: testPlacement({ datastore }) })).uploads, 1);
});

test('OWN-15 whatever is of another kind than it should be is named as what it is', async () => {
  for (const [change, code, text] of [
    [
      { computeCluster: '/DC0/host/C0/host-a' },
      'CLUSTER_NOT_FOUND',
      /C0\/host-a on vcenter\.example is a host: name the cluster/,
    ],
    [
      { networks: ['/DC0/network'] },
      'NETWORK_NOT_FOUND',
      /\/DC0\/network on vcenter\.example is a folder: name what is in it/,
    ],
    [{ resourcePool: '/DC0/host/C0' }, 'POOL_NOT_FOUND', /is a ClusterComputeResource/],
    [{ folder: '/DC0/datastore/DS0' }, 'FOLDER_NOT_FOUND', /is a Datastore/],
  ] as const)
    await fails(rig({}).publish({ placement: testPlacement(change) }), code, text);
});
