import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  BootImage,
  ClusterVersion,
  ConfigMap,
  Infrastructure,
  MachineConfiguration,
  MachineSet,
  Namespace,
  Secret,
} from '@drydock/api';
import { bootImagesRole } from '@drydock/boot-images';
import {
  computed,
  fakeStore,
  infrastructure,
  machineSet,
  newRelease,
  oldRelease,
  stream,
} from '@drydock/boot-images/testing';
import { createClient, isInvalid, type KubeClient, loadKubeconfig, run, statusWriter } from '@drydock/kube';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { pino } from 'pino';

let sandbox: Sandbox;
let client: KubeClient;

before(async () => {
  sandbox = await startSandbox({
    crds: ['openshift', resolve(import.meta.dirname, '../../api/crds/drydock.dev_bootimages.yaml')],
  });
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
});

after(async () => {
  await client[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
});

const manager = (mode: string, more: object = {}): object => ({
  resource: 'machinesets',
  apiGroup: 'machine.openshift.io',
  selection: { mode },
  ...more,
});

const refused: readonly (readonly [string, readonly object[]])[] = [
  ['Partial without its block', [manager('Partial')]],
  [
    'All with a partial block',
    [manager('All', { selection: { mode: 'All', partial: { machineResourceSelector: {} } } })],
  ],
  ['two managers for one resource', [manager('All'), manager('None')]],
  ['another apiGroup', [manager('All', { apiGroup: 'cluster.x-k8s.io' })]],
  [
    'Partial for control plane sets',
    [
      manager('Partial', {
        resource: 'controlplanemachinesets',
        selection: { mode: 'Partial', partial: { machineResourceSelector: {} } },
      }),
    ],
  ],
];

for (const [what, machineManagers] of refused) {
  test(`BI-V188 the CRD refuses ${what}`, async () => {
    const wanted = {
      apiVersion: 'operator.openshift.io/v1',
      kind: 'MachineConfiguration',
      metadata: { name: 'cluster' },
      spec: { managementState: 'Managed', managedBootImages: { machineManagers } },
    } as unknown as MachineConfiguration;
    await assert.rejects(client.create(MachineConfiguration, wanted), isInvalid);
  });
}

test('BI-V188 the message for control plane sets says what is permitted, and a valid list is accepted', async () => {
  const create = (machineManagers: readonly object[]): Promise<MachineConfiguration> =>
    client.create(
      MachineConfiguration,
      {
        apiVersion: 'operator.openshift.io/v1',
        kind: 'MachineConfiguration',
        metadata: { name: 'cluster' },
        spec: { managementState: 'Managed', managedBootImages: { machineManagers } },
      } as unknown as MachineConfiguration,
      {},
    );
  await assert.rejects(
    create([
      manager('Partial', {
        resource: 'controlplanemachinesets',
        selection: { mode: 'Partial', partial: { machineResourceSelector: {} } },
      }),
    ]),
    /Only All or None selection mode is permitted for ControlPlaneMachineSets/,
  );
  await create([manager('All')]);
  await client.delete(MachineConfiguration, { name: 'cluster' });
});

test('BI-V173 the role on a real API server: opt-in reflected, set switched, BootImage current, conditions clear', async () => {
  for (const name of ['openshift-machine-api', 'openshift-machine-config-operator']) {
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  const { status, ...infra } = infrastructure();
  await client.create(Infrastructure, { apiVersion: 'config.openshift.io/v1', kind: 'Infrastructure', ...infra });
  const writer = statusWriter({ client, resource: Infrastructure });
  await writer.write({ name: 'cluster' }, () => ({
    ...status,
    infrastructureTopology: 'HighlyAvailable',
    controlPlaneTopology: 'HighlyAvailable',
  }));
  await client.create(ClusterVersion, {
    apiVersion: 'config.openshift.io/v1',
    kind: 'ClusterVersion',
    metadata: { name: 'version' },
    spec: { clusterID: '0b9a6f4e-6c7d-4d6e-8f8a-000000000001' },
  });
  const time = '2026-08-02T00:00:00Z';
  await statusWriter({ client, resource: ClusterVersion }).write(
    { name: 'version' },
    () =>
      ({
        desired: { version: '4.22.0', image: 'i' },
        history: [
          {
            state: 'Completed',
            version: '4.22.0',
            image: 'i',
            startedTime: time,
            completionTime: time,
            verified: false,
          },
        ],
        observedGeneration: 1,
        versionHash: 'h',
        availableUpdates: null,
      }) as never,
  );
  const text = (value: string): string => Buffer.from(value).toString('base64');
  await client.create(ConfigMap, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' },
    data: { stream },
  });
  await client.create(Secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'kube-system', name: 'vsphere-creds' },
    data: { 'vc1.username': text('u'), 'vc1.password': text('p') },
  });
  await client.create(Secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'openshift-machine-api', name: 'worker-user-data' },
    data: { userData: text('{"ignition":{"version":"3.4.0"}}') },
  });
  await client.create(MachineSet, {
    apiVersion: 'machine.openshift.io/v1beta1',
    kind: 'MachineSet',
    ...machineSet('wk-a'),
  });

  const log = pino({ level: 'silent' });
  const stop = new AbortController();
  const leader = { identity: 'me', holderIsLive: () => true };
  const store = fakeStore({ [computed]: { version: oldRelease } });
  const role = bootImagesRole({ client, store, leader, log, architecture: 'x86_64' });
  await using operator = await run({ client, ...role, log, signal: stop.signal });
  const image = { namespace: 'openshift-machine-api', name: 'ms-wk-a' };
  const deadline = Date.now() + 20_000;
  let seen: BootImage | undefined;
  while (seen?.status?.phase !== 'Current' && Date.now() < deadline) {
    seen = await client.get(BootImage, image).catch(() => undefined);
    await sleep(50);
  }
  assert.equal(seen?.status?.phase, 'Current', JSON.stringify(seen?.status));
  assert.deepEqual([seen.status.current, seen.status.revertTo], [newRelease, oldRelease]);
  const set = await client.get(MachineSet, { namespace: 'openshift-machine-api', name: 'wk-a' });
  assert.equal(set.spec?.template?.spec?.providerSpec?.value?.['template'], `${computed}-${newRelease}-0123abcd`);
  assert.deepEqual(set.spec?.template?.spec?.providerSpec?.value?.['unknownField'], { kept: 1 });
  stop.abort();
  await operator.finished;
  const mc = await client.get(MachineConfiguration, { name: 'cluster' });
  assert.deepEqual(
    mc.status?.conditions?.filter((c) => c.type.startsWith('BootImageUpdate')).map((c) => c.status),
    ['False', 'False'],
  );
});
