import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterVersion, Infrastructure } from '@drydock/api';
import type { Platform } from '../platform.ts';
import { computed, fakeCluster, infrastructure, machineSet, published } from '../testing/fake-cluster.ts';

const zero =
  '0 of 0 ControlPlaneMachineSets | Reconciled 0 of 0 CAPI MachineSets | Reconciled 0 of 0 CAPI MachineDeployments';

test('BI-V31 an owned set is skipped, counted, and says who owns it', async () => {
  const owner = { apiVersion: 'hive/v1', kind: 'MachinePool', name: 'p', uid: 'u' };
  const c = fakeCluster({ sets: [machineSet('wk-a', {}, { ownerReferences: [owner] })] });
  await c.pass();
  assert.equal(
    c.condition('Progressing')?.message,
    `Reconciled 0 of 1 MAPI MachineSets (1 skipped) | Reconciled ${zero}`,
  );
  assert.deepEqual([c.condition('Progressing')?.status, c.condition('Degraded')?.status], ['False', 'False']);
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'skip' && outcome.brief === 'owned by MachinePool/p');
});

test('BI-V32 BI-V33 another OS stream is out of scope and not counted as skipped', async () => {
  for (const osstream of ['rhel-10', 'custom-stream']) {
    const labels = { 'machineconfiguration.openshift.io/osstream': osstream };
    const c = fakeCluster({ sets: [machineSet('wk-a', {}, { labels })] });
    await c.pass();
    assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 1 of 1 MAPI MachineSets \|/);
    assert.equal(c.template('wk-a'), computed);
  }
});

test('BI-V34 the stream rhel-9, and no stream at all, are processed', async () => {
  for (const labels of [{ 'machineconfiguration.openshift.io/osstream': 'rhel-9' }, {}]) {
    const c = fakeCluster({ sets: [machineSet('wk-a', {}, { labels })] });
    await c.pass();
    assert.equal(c.template('wk-a'), published);
  }
});

test('BI-V41 an invalid architecture degrades, and a repaired annotation clears it', async () => {
  const key = 'capacity.cluster-autoscaler.kubernetes.io/labels';
  const c = fakeCluster({
    sets: [machineSet('wk-a', {}, { annotations: { [key]: 'kubernetes.io/arch=invalid-arch' } })],
  });
  await c.pass();
  const text =
    'error syncing MAPI MachineSet wk-a: failed to fetch arch during machineset sync: invalid architecture value found in annotation: invalid-arch';
  assert.ok(c.condition('Degraded')?.message?.includes(`Error(s): ${text}`));
  c.edit.set('wk-a', (set) => ({
    ...set,
    metadata: { ...set.metadata, annotations: { [key]: 'kubernetes.io/arch=amd64' } },
  }));
  await c.pass();
  assert.equal(c.condition('Degraded')?.status, 'False');
});

test('BI-V44 a multi-architecture cluster without an annotation skips the set', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a', {}, { annotations: {} })] });
  c.client.put(ClusterVersion, {
    metadata: { name: 'version' },
    status: { desired: { architecture: 'Multi' }, history: [{ state: 'Completed' }] },
  });
  await c.pass();
  assert.match(c.condition('Progressing')?.message ?? '', /\(1 skipped\)/);
  assert.equal(c.condition('Degraded')?.status, 'False');
});

test('BI-V47 an absent providerSpec is an error', async () => {
  const c = fakeCluster({ sets: [{ ...machineSet('wk-a'), spec: {} }] });
  await c.pass();
  assert.match(
    c.condition('Degraded')?.message ?? '',
    /failed to reconcile machineset wk-a, err: providerSpec field was empty$/,
  );
});

test('BI-V48 a broken stream fails every set in scope, and owned ones are still skipped', async () => {
  const owner = { apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u' };
  const c = fakeCluster({
    stream: '{not json',
    sets: [machineSet('wk-a'), machineSet('wk-b', {}, { ownerReferences: [owner] })],
  });
  await c.pass();
  assert.match(
    c.condition('Degraded')?.message ?? '',
    /^1 Degraded MAPI MachineSets .*failed to parse CoreOS stream metadata: /,
  );
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 0 of 2 MAPI MachineSets \(1 skipped\)/);
});

test('BI-V49 a platform that is not served is out of scope', async () => {
  const c = fakeCluster();
  c.client.put(Infrastructure, { ...infrastructure(), status: { platformStatus: { type: 'OpenStack' } } });
  await c.pass();
  assert.equal(c.condition('Degraded')?.status, 'False');
  assert.equal(c.last('wk-a')?.kind, 'skip');
});

test('BI-V118 Azure Stack Hub is out of scope, whoever serves Azure', async () => {
  const c = fakeCluster({ platform: { type: 'Azure' } as Platform });
  const azure = { type: 'Azure', azure: { cloudName: 'AzureStackCloud' } };
  c.client.put(Infrastructure, { ...infrastructure(), status: { platformStatus: azure } });
  await c.pass();
  const outcome = c.last('wk-a');
  assert.deepEqual([outcome?.kind, outcome?.kind === 'skip' && outcome.brief], ['skip', 'Azure Stack Hub']);
  assert.equal(c.condition('Degraded')?.status, 'False');
});
