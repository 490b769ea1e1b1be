import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BootImage, Infrastructure, Machine, MachineSet } from '@drydock/api';
import type { KubeObject, Resource } from '@drydock/kube';
import { memoryCluster } from '@drydock/kube/testing';
import { machineImages } from './machine-images.ts';
import { machineApiNamespace as namespace } from './user-data/machine-api.ts';
import { worldNow } from './world-now.ts';

const core = { group: 'cluster.x-k8s.io', version: 'v1beta1', scope: 'Namespaced' } as const;
const capiMachine: Resource<KubeObject> = { ...core, kind: 'Machine', plural: 'machines' };
const vsphereMachine: Resource<KubeObject> = {
  ...core,
  ...{ group: 'infrastructure.cluster.x-k8s.io', kind: 'VSphereMachine', plural: 'vspheremachines' },
};
const status = (set: string, name: string): BootImage => ({
  metadata: { name, namespace: set.startsWith('capi') ? 'team' : namespace },
  status: {
    ...{ set, phase: 'Current', current: '9.8.20260802-0', target: '9.8.20260802-0' },
    history: [
      { id: '2', image: 'new', release: '9.8.20260802-0', since: '2026-02-01T00:00:00Z' },
      {
        id: '1',
        image: 'old',
        release: '9.6.20260512-0',
        since: '2026-01-01T00:00:00Z',
        until: '2026-02-01T00:00:00Z',
      },
    ],
  },
});

test('a machine has the image that its object names: old where new ones start from another, in both worlds; what is not known is said', async () => {
  const cluster = memoryCluster({
    namespaces: [namespace, 'team'],
    resources: [capiMachine, vsphereMachine, Machine, Infrastructure],
  });
  const put = <T extends KubeObject>(resource: Resource<T>, object: T): void =>
    cluster.put(resource, { ...object.metadata, namespace: object.metadata.namespace ?? '' }, object);
  cluster.put(Infrastructure, { name: 'cluster' }, {
    metadata: { name: 'cluster' },
    status: { platformStatus: { type: 'VSphere' } },
  } as Infrastructure);
  const machine = (name: string, set: string | undefined, template: string | undefined): void =>
    put(Machine, {
      metadata: {
        ...{ name, namespace },
        ...(set === undefined ? {} : { labels: { 'machine.openshift.io/cluster-api-machineset': set } }),
      },
      spec: { providerSpec: { value: { ...(template === undefined ? {} : { template }) } } },
      status: { phase: 'Running', nodeRef: { name: `node-${name}` } },
    });
  machine('m-new', 'a', '/DC0/vm/f/new');
  machine('m-old', 'a', 'old');
  machine('m-bare', 'a', undefined);
  machine('m-lone', undefined, 'new');
  const rotated = (name: string, template: string): void => {
    const infrastructureRef = { apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1', kind: 'VSphereMachine', name };
    const labels = { 'cluster.x-k8s.io/deployment-name': 'md', 'cluster.x-k8s.io/set-name': 'md-1' };
    put(capiMachine, { metadata: { name, namespace: 'team', labels }, spec: { infrastructureRef } } as KubeObject);
    put(vsphereMachine, { metadata: { name, namespace: 'team' }, spec: { template } } as KubeObject);
  };
  rotated('c-old', '/DC0/vm/old');
  rotated('c-new', 'new');
  const client = cluster.client();
  const { machines, unread } = await machineImages(client, {
    world: await worldNow(client, { credentials: 'unread' }),
    served: {
      of: (group, kind) =>
        [capiMachine, vsphereMachine].find((one) => one.group === group && one.kind === kind) as never,
    },
    images: [status('ms/a', 'ms-a'), status('capi-md/md', 'capi-md-md')],
  });
  assert.deepEqual(unread, []);
  assert.deepEqual(
    machines.map(({ machine: name, set, image, release, state, node }) => [name, set, image, release, state, node]),
    [
      ['m-bare', 'ms/a', undefined, undefined, 'unknown', 'node-m-bare'],
      ['m-new', 'ms/a', 'new', '9.8.20260802-0', 'current', 'node-m-new'],
      ['m-old', 'ms/a', 'old', '9.6.20260512-0', 'old', 'node-m-old'],
      ['m-lone', undefined, 'new', '9.8.20260802-0', 'unknown', 'node-m-lone'],
      ['c-new', 'capi-md/md', 'new', '9.8.20260802-0', 'current', undefined],
      ['c-old', 'capi-md/md', 'old', '9.6.20260512-0', 'old', undefined],
    ],
  );
  const whys = Object.fromEntries(machines.map(({ machine: name, why }) => [name, why]));
  assert.equal(whys['m-old'], 'new machines of ms/a start from 9.8.20260802-0');
  assert.equal(whys['m-bare'], 'its object names no image that can be read');
});

test('OWN-18 a machine that no set owns yet is of the set that selects it; a selector of everything, and one that nobody understands, say nothing', async () => {
  const cluster = memoryCluster({ namespaces: [namespace], resources: [Machine, MachineSet, Infrastructure] });
  const set = (name: string, selector: object): void =>
    cluster.put(MachineSet, { namespace, name }, { metadata: { namespace, name }, spec: { selector } } as MachineSet);
  set('all', {});
  set('odd', { matchExpressions: [{ key: 'a', operator: 'Unheard' }] });
  set('taking', { matchLabels: { pool: 'one' } });
  const machine = (name: string, metadata: object): void =>
    cluster.put(Machine, { namespace, name }, { metadata: { namespace, name, ...metadata } } as Machine);
  const owner = { apiVersion: 'machine.openshift.io/v1beta1', kind: 'MachineSet', name: 'owning', uid: 'u' };
  machine('free', { labels: { pool: 'one' } });
  machine('owned', { labels: { pool: 'one' }, ownerReferences: [{ ...owner, controller: true }] });
  machine('told', { labels: { 'machine.openshift.io/cluster-api-machineset': 'gone' } });
  machine('lone', { labels: { pool: 'two' } });
  const client = cluster.client();
  const world = await worldNow(client, { credentials: 'unread' });
  const { machines } = await machineImages(client, { world, served: { of: () => undefined }, images: [] });
  assert.deepEqual(Object.fromEntries(machines.map((one) => [one.machine, one.set])), {
    ...{ free: 'ms/taking', lone: undefined, owned: 'ms/owning', told: 'ms/gone' },
  });
});
