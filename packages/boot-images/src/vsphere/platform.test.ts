import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, Infrastructure, Secret } from '@drydock/api';
import { computed, fakeCluster, infrastructure, machineSet, newRelease, oldRelease } from '../testing/fake-cluster.ts';

test('BI-V127 a workspace in no failure domain is skipped with upstream text', async () => {
  const c = fakeCluster();
  c.client.put(
    Infrastructure,
    infrastructure(() => ({ platformSpec: { vsphere: {} } })),
  );
  await c.pass();
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'skip' && outcome.counted);
  assert.match(
    outcome.message,
    /server: vc1, .* does not match any vCenter\/failure domain in the Infrastructure object$/,
  );
  assert.equal(c.condition('Degraded')?.status, 'False');
});

test('BI-V132 a template on the release is current: nothing is written anywhere', async () => {
  const c = fakeCluster({ templates: { [computed]: { version: newRelease } } });
  await c.pass();
  assert.deepEqual(c.client.writes, []);
  assert.ok(c.store.calls.every((call) => !call.startsWith('publish')));
});

test('BI-V133 pointer mode: an outdated computed template gets a successor and stays untouched', async () => {
  const c = fakeCluster();
  await c.pass();
  assert.deepEqual(c.store.templates.get(computed), { version: oldRelease });
  assert.equal(c.store.wishes[0]?.diskProvisioning, undefined);
});

test('BI-V134 an absent template with a current computed one is only pointed there', async () => {
  const c = fakeCluster({
    templates: { [computed]: { version: newRelease } },
    sets: [machineSet('wk-a', { template: 'other' })],
  });
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
  assert.equal(c.store.uploads, 0);
});

test('BI-W13 an outdated template of a person is skipped with a reason', async () => {
  const c = fakeCluster({
    templates: { other: { version: oldRelease } },
    sets: [machineSet('wk-a', { template: 'other' })],
  });
  await c.pass();
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'skip' && outcome.reason === 'CustomImage' && outcome.current === oldRelease);
});

test('BI-V138 with nothing there the disk type comes from the install-config', async () => {
  const c = fakeCluster({ templates: {} });
  await c.pass();
  assert.equal(c.store.wishes[0]?.diskProvisioning, 'thin');
  const none = fakeCluster({ templates: {} });
  none.client.objects.delete('configmaps kube-system/cluster-config-v1');
  await none.pass();
  assert.match(
    none.condition('Degraded')?.message ?? '',
    /failed to determine disk provisioning type for new template c1-abcde-rhcos-fd1: failed to fetch cluster-config-v1 configmap: /,
  );
  const unset = fakeCluster({ templates: {} });
  unset.client.put(ConfigMap, {
    metadata: { namespace: 'kube-system', name: 'cluster-config-v1' },
    data: { 'install-config': 'platform: {}' },
  });
  await unset.pass();
  assert.equal(unset.store.wishes[0]?.diskProvisioning, '');
});

test('BI-V139 a template without a product version is an error', async () => {
  for (const version of [undefined, '']) {
    const c = fakeCluster({ templates: { [computed]: { version } } });
    await c.pass();
    assert.match(
      c.condition('Degraded')?.message ?? '',
      /unable to determine RHCOS version of virtual machine: c1-abcde-rhcos-fd1$/,
    );
  }
});

test('BI-V147 a set on the second vCenter causes no call to the first', async () => {
  const c = fakeCluster({
    sets: [
      machineSet('wk-a', {
        workspace: { server: 'vc2', datacenter: 'dc2', datastore: 'ds', resourcePool: 'rp', folder: 'f' },
      }),
    ],
  });
  c.client.put(
    Infrastructure,
    infrastructure((spec) => {
      const vsphere = spec.platformSpec?.vsphere;
      const domain = {
        name: 'fd2',
        server: 'vc2',
        topology: { datacenter: 'dc2', computeCluster: 'c', datastore: 'ds', resourcePool: 'rp', networks: ['n'] },
      };
      return {
        platformSpec: {
          vsphere: {
            vcenters: [...(vsphere?.vcenters ?? []), { server: 'vc2' }],
            failureDomains: [...(vsphere?.failureDomains ?? []), domain],
          },
        },
      };
    }),
  );
  c.client.put(Secret, {
    metadata: { namespace: 'kube-system', name: 'vsphere-creds' },
    data: { 'vc2.username': 'dQ==', 'vc2.password': 'cA==' },
  });
  await c.pass();
  assert.ok(c.store.calls.length > 0 && c.store.calls.every((call) => call.includes(' vc2')));
});

test('BI-V154 an architecture without a vmware artifact is an error', async () => {
  const annotations = { 'capacity.cluster-autoscaler.kubernetes.io/labels': 'kubernetes.io/arch=arm64' };
  const c = fakeCluster({ sets: [machineSet('wk-a', {}, { annotations })] });
  await c.pass();
  assert.match(c.condition('Degraded')?.message ?? '', /rhcos-4\.22\/aarch64: artifact 'vmware' not found$/);
});

test('BI-V156 an Infrastructure without vsphere is no change and not skipped', async () => {
  const c = fakeCluster();
  c.client.put(
    Infrastructure,
    infrastructure(() => ({})),
  );
  await c.pass();
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 1 of 1 MAPI MachineSets \|/);
  assert.equal(c.template('wk-a'), computed);
});

test('missing credentials are named with the key', async () => {
  const c = fakeCluster();
  c.client.put(Secret, {
    metadata: { namespace: 'kube-system', name: 'vsphere-creds' },
    data: { 'vc1.username': 'dQ==' },
  });
  await c.pass();
  assert.match(c.condition('Degraded')?.message ?? '', /vsphere-creds Secret has no key vc1\.password$/);
  c.client.objects.delete('secrets kube-system/vsphere-creds');
  await c.pass();
  assert.match(c.condition('Degraded')?.message ?? '', /failed to fetch vsphere-creds Secret during machineset sync: /);
});
