import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BootImage, MachineSet } from '@drydock/api';
import { runVerbs } from '../testing/run-verbs.ts';
import { smallCluster } from '../testing/small-cluster.ts';
import { lastWriters } from './last-writers.ts';

const namespace = 'openshift-machine-api';
const owned = (leaf: string) => ({
  'f:spec': { 'f:template': { 'f:spec': { 'f:providerSpec': { 'f:value': { [`f:${leaf}`]: {} } } } } },
});
const managedFields = [
  { manager: 'installer', time: '2026-01-01T00:00:00Z', fieldsV1: owned('template') },
  { manager: 'night-shift', time: '2026-01-03T02:55:00Z', fieldsV1: owned('template') },
  { manager: 'autoscaler', time: '2026-01-04T00:00:00Z', fieldsV1: { 'f:spec': { 'f:replicas': {} } } },
];

test('OWN-20 history names who wrote the image of a set that is left alone, which no status and no Event knows', async () => {
  await using served = await smallCluster(['a', 'b', 'c']);
  const key = { namespace, name: 'c' };
  const set = served.cluster.peek(MachineSet, key) ?? assert.fail('a set');
  const value = { ...(set.spec?.template?.spec?.providerSpec?.value as object), template: 'by-hand' };
  served.cluster.put(MachineSet, key, {
    ...set,
    metadata: { ...set.metadata, managedFields },
    spec: { ...set.spec, template: { ...set.spec?.template, spec: { providerSpec: { value } } } },
  } as MachineSet);
  const [named, all] = await runVerbs([
    { args: ['history', 'c', ...served.flags] },
    { args: ['history', ...served.flags] },
  ]);
  assert.match(named?.out ?? '', /\n2026-01-03T02:55:00Z +ms\/c +night-shift +- +wrote its image last: by-hand\n/);
  assert.equal(named?.errors, '');
  assert.ok(!named?.out.includes('autoscaler') && !named?.out.includes('installer'));
  // Of all sets nobody asks one by one.
  assert.ok(!all?.out.includes('night-shift'));
});

test('OWN-20 an image that the status knows is not told twice, and a set that may not be read is named', async () => {
  const image = (name: string): BootImage => ({
    metadata: { name: `ms-${name}`, namespace },
    spec: { machineSet: { kind: 'MachineSet', name } },
    status: { set: `ms/${name}`, history: [{ id: '1', image: 'known' }] },
  });
  const provider = { template: { spec: { providerSpec: { value: { template: 'known' } } } } };
  const raw = async ({ path }: { readonly path: string }): Promise<unknown> => {
    if (path.endsWith('/machinesets/secret')) throw new Error('machinesets is forbidden');
    return { metadata: { managedFields }, spec: provider };
  };
  const { signal } = new AbortController();
  assert.deepEqual(await lastWriters({ raw }, [image('known'), image('secret')], signal), {
    writers: [],
    unread: ['machinesets is forbidden'],
  });
});

test('OWN-20 who wrote the image of a control plane and the template of a set of Cluster API last is named, too', async () => {
  const fields = (path: readonly string[]): object =>
    path.toReversed().reduce<object>((inner, part) => ({ [`f:${part}`]: inner }), {});
  const wrote = (path: readonly string[]) => [
    { manager: 'installer', time: '2026-01-01T00:00:00Z', fieldsV1: fields(path) },
    { manager: 'night-shift', time: '2026-01-03T02:55:00Z', fieldsV1: fields(path) },
    { manager: 'autoscaler', time: '2026-01-04T00:00:00Z', fieldsV1: fields(['spec', 'replicas']) },
  ];
  const machine = ['spec', 'template', 'machines_v1beta1_machine_openshift_io', 'spec', 'providerSpec', 'value'];
  const infrastructureRef = { kind: 'VSphereMachineTemplate', name: 'worker-by-hand' };
  const answers: Readonly<Record<string, unknown>> = {
    '/apis': {
      groups: ['cluster.x-k8s.io', 'controlplane.cluster.x-k8s.io'].map((name) => ({
        name,
        versions: [{ version: 'v1beta2', groupVersion: `${name}/v1beta2` }],
        preferredVersion: { version: 'v1beta2' },
      })),
    },
    '/apis/cluster.x-k8s.io/v1beta2': {
      resources: [{ name: 'machinedeployments', kind: 'MachineDeployment', namespaced: true }],
    },
    '/apis/controlplane.cluster.x-k8s.io/v1beta2': {
      resources: [{ name: 'kubeadmcontrolplanes', kind: 'KubeadmControlPlane', namespaced: true }],
    },
    [`/apis/machine.openshift.io/v1/namespaces/${namespace}/controlplanemachinesets/cluster`]: {
      metadata: { managedFields: wrote([...machine, 'template']) },
      spec: {
        template: {
          machines_v1beta1_machine_openshift_io: { spec: { providerSpec: { value: { template: 'mine' } } } },
        },
      },
    },
    [`/apis/cluster.x-k8s.io/v1beta2/namespaces/${namespace}/machinedeployments/worker`]: {
      metadata: { managedFields: wrote(['spec', 'template', 'spec', 'infrastructureRef', 'name']) },
      spec: { template: { spec: { infrastructureRef } } },
    },
    [`/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/${namespace}/kubeadmcontrolplanes/plane`]: {
      metadata: { managedFields: wrote(['spec', 'machineTemplate', 'spec', 'infrastructureRef', 'name']) },
      spec: { machineTemplate: { spec: { infrastructureRef } } },
    },
  };
  const raw = async ({ path }: { readonly path: string }): Promise<unknown> =>
    answers[path] ?? Promise.reject(new Error(`nothing at ${path}`));
  const image = (set: string, kind: string, name: string, apiGroup: string): BootImage => ({
    metadata: { name, namespace },
    spec: { machineSet: { apiGroup, kind, name } },
    status: { set, current: 'rhcos-9', history: [{ id: '1', image: 'rhcos-8' }] },
  });
  const { signal } = new AbortController();
  const images = [
    image('cpms/cluster', 'ControlPlaneMachineSet', 'cluster', 'machine.openshift.io'),
    image('capi-md/worker', 'MachineDeployment', 'worker', 'cluster.x-k8s.io'),
    image('capi-kcp/plane', 'KubeadmControlPlane', 'plane', 'controlplane.cluster.x-k8s.io'),
  ];
  const { unread, writers } = await lastWriters({ raw }, images, signal);
  assert.deepEqual(
    [unread, writers.map(({ subject, when, who, what }) => [subject, when, who, what].join(' '))],
    [
      [],
      [
        'cpms/cluster 2026-01-03T02:55:00Z night-shift wrote its image last: mine',
        'capi-md/worker 2026-01-03T02:55:00Z night-shift wrote last which template it refers to: worker-by-hand',
        'capi-kcp/plane 2026-01-03T02:55:00Z night-shift wrote last which template it refers to: worker-by-hand',
      ],
    ],
  );
});
