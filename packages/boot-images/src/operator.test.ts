import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ClusterOperator,
  type ClusterVersion,
  ConfigMap,
  type Deployment,
  FeatureGate,
  Infrastructure,
  MachineConfig,
  MachineConfigPool,
  MachineConfiguration,
  Provisioning,
} from '@drydock/api';
import { ApiError } from '@drydock/kube';
import { optedInAnnotation } from './decide/reflect.ts';
import { createOperatorHalf } from './operator.ts';
import { fakeClient } from './testing/fake-client.ts';
import { infrastructure, managed } from './testing/fake-cluster.ts';
import { createVerdict } from './verdict/cluster-operator.ts';
import { goldenName, goldenNamespace } from './wakes/triggers.ts';

interface Half {
  readonly client: ReturnType<typeof fakeClient>;
  readonly run: () => Promise<void>;
  readonly warnings: string[];
}

interface World {
  readonly infrastructure?: Infrastructure;
  readonly clusterVersion?: ClusterVersion;
  readonly upstream?: () => Deployment | undefined;
  readonly clusterOperator?: string;
}

function half(mc: MachineConfiguration | undefined, world: World = {}): Half {
  const client = fakeClient();
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);
  const now = (): Date => new Date(0);
  if (mc !== undefined) client.put(MachineConfiguration, mc);
  client.put(Infrastructure, world.infrastructure ?? infrastructure());
  const { clusterOperator: name } = world;
  const run = createOperatorHalf({
    client,
    world: {
      machineConfiguration: () => client.peek(MachineConfiguration, { name: 'cluster' }),
      infrastructure: () => client.peek(Infrastructure, { name: 'cluster' }),
      upstream: world.upstream ?? (() => undefined),
      clusterVersion: () => world.clusterVersion,
      golden: () => client.peek(ConfigMap, { namespace: goldenNamespace, name: goldenName }),
    },
    verdict: createVerdict({ client, own: name === undefined ? undefined : { name, version: '1' }, now, warn }),
    stamp: { own: { release: '4.21.0', hash: 'abc' }, warn },
    now,
  });
  return { client, run, warnings };
}

const statusOf = ({ client }: Half): MachineConfiguration['status'] =>
  client.peek(MachineConfiguration, { name: 'cluster' })?.status;
const upgradeable = ({ client }: Half): string | undefined =>
  client
    .peek(ClusterOperator, { name: 'drydock' })
    ?.status?.conditions?.filter(({ type }) => type === 'Upgradeable')
    .map(({ status, reason }) => `${status} ${reason}`)[0];
const installed = (version: string): ClusterVersion => ({
  metadata: { name: 'version' },
  status: { desired: { version }, history: [{ state: 'Completed', version }] },
});
const passed = [{ type: 'BootImageUpdateProgressing', status: 'False', reason: 'X', message: '' }];

test('BI-V173 the operator half writes the opt-in annotation before the status', async () => {
  const { client, run } = half({ metadata: { name: 'cluster', generation: 4 } });
  await run();
  assert.deepEqual(client.writes, ['merge machineconfigurations cluster', 'status machineconfigurations cluster']);
  const mc = client.peek(MachineConfiguration, { name: 'cluster' });
  assert.equal(mc?.metadata.annotations?.[optedInAnnotation], '1970-01-01T00:00:00Z');
  assert.deepEqual(mc?.status?.managedBootImagesStatus?.machineManagers, managed('All'));
});

test('BI-V186 a missing MachineConfiguration is created, and nothing else happens in that pass', async () => {
  const { client, run } = half(undefined);
  await run();
  assert.deepEqual(client.writes, ['apply machineconfigurations cluster']);
  assert.deepEqual(client.peek(MachineConfiguration, { name: 'cluster' })?.spec, { managementState: 'Managed' });
});

test('BI-V187 observedGeneration follows when nothing else changes, and other fields of status stay', async () => {
  const { client, run } = half({
    metadata: { name: 'cluster', generation: 7 },
    spec: { managedBootImages: { machineManagers: managed('All') } },
    status: {
      observedGeneration: 6,
      conditions: [{ type: 'X', status: 'True' }],
      managedBootImagesStatus: { machineManagers: managed('All') },
    },
  });
  await run();
  const status = client.peek(MachineConfiguration, { name: 'cluster' })?.status;
  assert.deepEqual([status?.observedGeneration, status?.conditions?.length], [7, 1]);
  client.writes.length = 0;
  await run();
  assert.deepEqual(client.writes, []);
});

test('BI-V173 a default opt-in makes the record automatic, from the release of the installation', async () => {
  const made = half({ metadata: { name: 'cluster', generation: 1 } }, { clusterVersion: installed('4.18.0') });
  await made.run();
  assert.deepEqual(statusOf(made)?.bootImageSkewEnforcementStatus, {
    mode: 'Automatic',
    automatic: { ocpVersion: '4.18.0' },
  });
});

test('BI-V179 BI-V181 control planes are in the status where their gate is on, and None unless a person says so', async () => {
  const infra = { ...infrastructure(), status: { platformStatus: { type: 'AWS' } } };
  const gate = (...disabled: readonly string[]): FeatureGate => ({
    metadata: { name: 'cluster' },
    status: { featureGates: [{ version: '4.18.0', disabled: disabled.map((name) => ({ name })) }] },
  });
  for (const [gates, resources] of [
    [undefined, ['machinesets All', 'controlplanemachinesets None']],
    [gate(), ['machinesets All', 'controlplanemachinesets None']],
    [gate('ManagedBootImagesCPMS'), ['machinesets All']],
  ] as const) {
    const world = { infrastructure: infra, clusterVersion: installed('4.18.0') };
    const made = half({ metadata: { name: 'cluster', generation: 1 } }, world);
    if (gates !== undefined) made.client.put(FeatureGate, gates);
    await made.run();
    assert.deepEqual(
      statusOf(made)?.managedBootImagesStatus?.machineManagers?.map((one) => `${one.resource} ${one.selection.mode}`),
      resources,
    );
  }
});

test('a gate that is off writes no record, and a record that was left behind stops no upgrade', async () => {
  const record = { mode: 'Automatic', automatic: { ocpVersion: '4.12.0' } } as const;
  const status = { observedGeneration: 1, conditions: passed, bootImageSkewEnforcementStatus: record };
  const world = { clusterVersion: installed('4.22.0'), clusterOperator: 'drydock' };
  const on = half({ metadata: { name: 'cluster', generation: 1 }, status }, world);
  await on.run();
  assert.equal(upgradeable(on), 'False ClusterBootImageSkewError');

  const off = half({ metadata: { name: 'cluster', generation: 1 }, status }, world);
  const disabled = [{ name: 'BootImageSkewEnforcement' }];
  off.client.put(FeatureGate, {
    metadata: { name: 'cluster' },
    status: { featureGates: [{ version: '4.22.0', disabled }] },
  });
  await off.run();
  assert.equal(upgradeable(off), 'True AsExpected');
  assert.deepEqual(statusOf(off)?.bootImageSkewEnforcementStatus, record);
});

test('BI-V194 bare metal: an image that its Provisioning names is kept by hand', async () => {
  const infra = { ...infrastructure(), status: { platformStatus: { type: 'BareMetal' } } };
  const world = { infrastructure: infra, clusterVersion: installed('4.9.0') };
  const made = half({ metadata: { name: 'cluster', generation: 1 } }, world);
  await made.run();
  assert.deepEqual(statusOf(made)?.bootImageSkewEnforcementStatus, { mode: 'None' });
  made.client.put(Provisioning, {
    metadata: { name: 'provisioning-configuration' },
    spec: { provisioningOSDownloadURL: 'http://example.test/rhcos.qcow2' },
  });
  await made.run();
  assert.equal(statusOf(made)?.bootImageSkewEnforcementStatus?.mode, 'Manual');
});

test('BI-V203 images that are too old stop minor upgrades, and nothing does when a person gives up the record', async () => {
  const manual = { mode: 'OCPVersion', ocpVersion: '4.10.0' } as const;
  const made = half(
    { metadata: { name: 'cluster', generation: 1 }, spec: { bootImageSkewEnforcement: { mode: 'Manual', manual } } },
    { clusterVersion: installed('4.22.0'), clusterOperator: 'drydock' },
  );
  await made.run();
  assert.equal(upgradeable(made), 'False ClusterBootImageSkewError');
  made.client.put(MachineConfiguration, {
    ...made.client.peek(MachineConfiguration, { name: 'cluster' }),
    metadata: { name: 'cluster', generation: 2 },
    spec: { bootImageSkewEnforcement: { mode: 'None' } },
  });
  await made.run();
  assert.equal(upgradeable(made), 'True AsExpected');
  made.client.writes.length = 0;
  await made.run();
  assert.deepEqual(made.client.writes, []);
});

test('a ClusterOperator of somebody else is not written, and one is taken off beside upstream', async () => {
  const mc = { metadata: { name: 'cluster', generation: 1 }, status: { observedGeneration: 1 } };
  const foreign = half(mc, { clusterOperator: 'machine-config' });
  foreign.client.put(ClusterOperator, { metadata: { name: 'machine-config' }, spec: {} });
  await foreign.run();
  await foreign.run();
  assert.equal(foreign.client.peek(ClusterOperator, { name: 'machine-config' })?.status, undefined);
  assert.equal(foreign.warnings.length, 1);

  let upstream: Deployment | undefined;
  const ours = half(mc, { clusterOperator: 'drydock', upstream: () => upstream });
  await ours.run();
  assert.equal(upgradeable(ours), 'True AsExpected');
  upstream = { metadata: { name: 'machine-config-controller' } };
  await ours.run();
  assert.equal(ours.client.peek(ClusterOperator, { name: 'drydock' }), undefined);
});

test('BI-V208 BI-V209 stamps of somebody else are put right, and a conflict is tried again with the next look', async () => {
  const made = half({ metadata: { name: 'cluster', generation: 1 }, status: { observedGeneration: 1 } });
  const golden = { namespace: goldenNamespace, name: goldenName };
  const data = { stream: '{}', MCOVersionHash: 'fake-value' };
  made.client.put(ConfigMap, { metadata: golden, data });
  made.client.put(MachineConfig, {
    metadata: {
      name: 'rendered-master-1',
      annotations: {
        'machineconfiguration.openshift.io/release-image-version': '4.21.0',
        'machineconfiguration.openshift.io/generated-by-controller-version': 'abc',
      },
    },
  });
  const configuration = { name: 'rendered-master-1' };
  made.client.put(MachineConfigPool, {
    metadata: { name: 'master' },
    spec: { configuration },
    status: { configuration, conditions: [{ type: 'Updated', status: 'True' }] },
  });
  made.client.refuse = (write) =>
    write.startsWith('merge configmaps')
      ? new ApiError({ code: 'Conflict', action: 'patch configmap', said: 'the object has been modified' })
      : undefined;
  await made.run();
  assert.equal(made.client.peek(ConfigMap, golden)?.data?.['MCOVersionHash'], 'fake-value');
  assert.equal(made.warnings.length, 1);
  made.client.refuse = undefined;
  await made.run();
  assert.deepEqual(made.client.peek(ConfigMap, golden)?.data, {
    ...{ stream: '{}', MCOVersionHash: 'abc', MCOReleaseImageVersion: '4.21.0' },
  });
});

test('upstream’s controller that appears after any call finds nothing written that is its own', async () => {
  const masters = { metadata: { name: 'master' }, spec: { configuration: { name: 'r' } } };
  const pool = { ...masters, status: { configuration: { name: 'r' }, updatedMachineCount: 1, conditions: [] } };
  const rendered = {
    'machineconfiguration.openshift.io/release-image-version': '4.21.0',
    'machineconfiguration.openshift.io/generated-by-controller-version': 'abc',
  };
  let calls = 0;
  const history = async (appearsAfter: number, mc: MachineConfiguration | undefined): Promise<readonly string[]> => {
    calls = 0;
    const there = (): boolean => calls >= appearsAfter;
    const h = half(mc, {
      upstream: () => (there() ? ({ metadata: { name: 'machine-config-controller' } } as Deployment) : undefined),
      clusterOperator: 'drydock',
    });
    h.client.put(MachineConfigPool, pool as MachineConfigPool);
    h.client.put(MachineConfig, { metadata: { name: 'r', annotations: rendered } });
    h.client.put(ConfigMap, { metadata: { namespace: goldenNamespace, name: goldenName }, data: { stream: '{}' } });
    const wrong: string[] = [];
    const inner = h.client.cluster.onCall;
    h.client.cluster.onCall = (call, phase, context) => {
      if (phase === 'before' && context.mutates && there() && !call.resource.startsWith('clusteroperators'))
        wrong.push(`${call.verb} ${call.resource}`);
      void inner?.(call, phase, context);
      if (phase === 'after') calls += 1;
    };
    await h.run();
    return wrong;
  };
  for (const mc of [undefined, { metadata: { name: 'cluster', generation: 1 } } as MachineConfiguration]) {
    assert.deepEqual(await history(Number.POSITIVE_INFINITY, mc), []);
    const all = calls;
    assert.ok(all > 1, `${all} calls`);
    for (let after = 0; after < all; after += 1) assert.deepEqual(await history(after, mc), [], `after ${after} calls`);
  }
});
