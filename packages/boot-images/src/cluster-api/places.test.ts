import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capiObject, machineDeployment } from '../testing/capi-world.ts';
import type { ClusterApiObject } from './kinds.ts';
import { namesInUse } from './needs.ts';
import { type PlaceSources, placeOfZone, placesOf } from './places.ts';
import { type RotatedKind, rotatedSet } from './set.ts';

const domains: Readonly<Record<string, ClusterApiObject>> = Object.fromEntries(
  ['a', 'b'].map((name) => [
    `fd-${name}`,
    {
      metadata: { name: `fd-${name}` },
      spec: {
        topology: { datacenter: 'dc1', computeCluster: `cl-${name}`, datastore: `ds-${name}`, networks: ['net'] },
      },
    },
  ]),
);
const zones: Readonly<Record<string, ClusterApiObject>> = Object.fromEntries(
  ['a', 'b'].map((name) => [
    `zone-${name}`,
    {
      metadata: { name: `zone-${name}` },
      spec: {
        ...{ server: 'vc1', failureDomain: `fd-${name}` },
        placementConstraint: { resourcePool: `pool-${name}`, folder: '/dc1/vm/images' },
      },
    },
  ]),
);
const template: ClusterApiObject = capiObject('VSphereMachineTemplate', 'worker', {
  template: {
    spec: {
      ...{ template: 'old', datacenter: '/dc1', datastore: 'ds', resourcePool: '/dc1/host/cl/Resources', folder: 'f' },
      network: { devices: [{ networkName: 'net' }] },
    },
  },
});

function sources(kind: RotatedKind, set: ClusterApiObject, more: Partial<PlaceSources> = {}): PlaceSources {
  return {
    ...{ set: rotatedSet(kind, set), template, cluster: undefined },
    provider: capiObject('Cluster', 'c1', { server: 'vc9' }),
    ...{ zone: (name) => zones[name], domain: (name) => domains[name], ...more },
  };
}

const zoneA = {
  ...{ server: 'vc1', datacenter: 'dc1', failureDomain: 'zone-a', folder: '/dc1/vm/images', datastore: 'ds-a' },
  ...{ resourcePool: 'pool-a', computeCluster: 'cl-a', networks: ['net'] },
};

test('a set in a failure domain has the place of its zone; one without, that of its template on the server of its cluster', () => {
  const inZone = machineDeployment('worker', 'worker', { failureDomain: 'zone-a' });
  assert.deepEqual(placesOf(sources('MachineDeployment', inZone)), [zoneA]);
  assert.deepEqual(placesOf(sources('MachineDeployment', machineDeployment('worker', 'worker'))), [
    {
      ...{ server: 'vc9', datacenter: '/dc1', failureDomain: 'dc1', folder: 'f', datastore: 'ds' },
      ...{ resourcePool: '/dc1/host/cl/Resources', computeCluster: '/dc1/host/cl', networks: ['net'] },
    },
  ]);
  assert.deepEqual(
    placeOfZone(zones['zone-a'] ?? template, (name) => domains[name]),
    zoneA,
  );
});

test('a control plane has the places of its cluster in both versions of the contract', () => {
  const plane = capiObject('KubeadmControlPlane', 'cp', {});
  for (const failureDomains of [
    { 'zone-a': { controlPlane: true }, 'zone-b': { controlPlane: false } },
    [{ name: 'zone-a', controlPlane: true }, { name: 'zone-b' }],
  ]) {
    const cluster = { ...capiObject('Cluster', 'c1', {}), status: { failureDomains } };
    assert.deepEqual(placesOf(sources('KubeadmControlPlane', plane, { cluster })), [zoneA]);
  }
});

test('a place that nobody names is told by what is missing, and where to name it', () => {
  const bare = capiObject('VSphereMachineTemplate', 'worker', { template: { spec: { template: 'old' } } });
  const set = machineDeployment('worker', 'worker');
  const fault = placesOf(sources('MachineDeployment', set, { template: bare }));
  assert.ok('message' in fault);
  assert.match(
    fault.message,
    /vspheremachinetemplate worker .*datacenter, datastore, computeCluster, networks missing/,
  );
  const nowhere = placesOf(
    sources('MachineDeployment', machineDeployment('worker', 'worker', { failureDomain: 'zone-z' })),
  );
  assert.ok('message' in nowhere && /no vspheredeploymentzone zone-z/.test(nowhere.message));
});

test('names in vCenter that templates and machines name are in use, by their last part', () => {
  const machine = capiObject('VSphereMachine', 'm', { template: '/dc1/vm/images/kube-1' });
  assert.deepEqual(Object.fromEntries(namesInUse([template, machine])), {
    old: 'vspheremachinetemplate ns/worker',
    'kube-1': 'vspheremachine ns/m',
  });
});
