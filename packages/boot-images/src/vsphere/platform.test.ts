import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, Infrastructure, Secret } from '@drydock/api';
import {
  computed,
  fakeCluster,
  infrastructure,
  machineSet,
  newRelease,
  oldRelease,
  published,
  stream,
} from '../testing/fake-cluster.ts';

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
  assert.deepEqual([c.store.wishes[0]?.diskProvisioning, c.store.wishes[0]?.replaces], [undefined, computed]);
});

test('BI-V134 an absent template with a current computed one is only pointed there', async () => {
  const c = fakeCluster({
    templates: { [computed]: { version: newRelease } },
    sets: [machineSet('wk-a', { template: 'other' })],
  });
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
  assert.equal(c.store.uploads, 0);
  assert.deepEqual(c.counted, ['absent']);
});

test('OWN-3 a template that somebody puts under the computed name is not pointed at: nothing in the cluster names it', async () => {
  for (const template of ['other', 'outdated']) {
    const c = fakeCluster({
      templates: { [computed]: { version: newRelease }, outdated: { version: oldRelease } },
      sets: [machineSet('wk-a', { template })],
    });
    c.client.put(
      Infrastructure,
      infrastructure((spec) => {
        for (const { topology } of spec.platformSpec?.vsphere?.failureDomains ?? [])
          Object.assign(topology, { template: '' });
        return spec;
      }),
    );
    await c.pass();
    assert.notEqual(c.template('wk-a'), computed);
    assert.equal(c.store.wishes.length, 1, 'one of our own is made beside it');
  }
});

test('BI-V133 swap mode: the new template takes the name over, the set is not touched, and the gap is reported', async () => {
  const c = fakeCluster({ publication: 'swap' });
  await c.pass();
  assert.deepEqual(c.store.wishes[0]?.publication, { kind: 'swap', name: computed, unmarked: 'retire' });
  assert.equal(c.template('wk-a'), computed);
  assert.ok(
    c.client.writes.every((write) => !write.includes('machinesets')),
    c.client.writes.join(),
  );
  assert.deepEqual(c.last('wk-a'), {
    kind: 'current',
    current: newRelease,
    target: newRelease,
    template: {
      server: 'vc1',
      name: computed,
      release: newRelease,
      digest: 'ab',
      retired: `${computed}-retired`,
      absentMilliseconds: 7,
    },
    by: 'release',
    movedTo: computed,
    attempts: { target: newRelease, count: 1 },
  });
  const note = `wk-a Switched machineset wk-a: ${computed}: ${oldRelease} → ${newRelease}; the name was absent for 7 ms`;
  assert.ok(c.events.includes(note), c.events.join('\n'));
  assert.ok(c.events.includes(`wk-a Retained template ${computed}-retired stays until nothing needs it`));
  assert.ok(c.counted.includes('absent for 0.007 s'));
  await c.pass();
  assert.equal(c.store.uploads, 1);
});

test("BI-V136 swap mode: a person's template is not replaced under its name; the computed one is, and the set is pointed there", async () => {
  const c = fakeCluster({
    publication: 'swap',
    templates: { other: { version: oldRelease }, [computed]: { version: oldRelease } },
    sets: [machineSet('wk-a', { template: 'other' })],
  });
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
  assert.deepEqual(c.store.templates.get('other'), { version: oldRelease });
});

test("BI-V136 pointer mode: a person's outdated template stays, and the set is pointed at the current computed one", async () => {
  const c = fakeCluster({
    templates: { other: { version: oldRelease }, [computed]: { version: newRelease } },
    sets: [machineSet('wk-a', { template: 'other' })],
  });
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
  assert.deepEqual([c.store.uploads, c.store.templates.get('other')], [0, { version: oldRelease }]);
  assert.deepEqual(c.last('wk-a'), {
    kind: 'current',
    current: newRelease,
    target: newRelease,
    template: { server: 'vc1', name: computed, release: newRelease },
    by: 'release',
    movedTo: computed,
    attempts: { target: newRelease, count: 1 },
  });
});

test("BI-V136 pointer mode: without a current computed template one is published, from the disks of the person's, which stays", async () => {
  for (const more of [{}, { [computed]: { version: oldRelease } }, { [computed]: { version: undefined } }]) {
    const c = fakeCluster({
      templates: { other: { version: oldRelease }, ...more },
      sets: [machineSet('wk-a', { template: 'other' })],
    });
    await c.pass();
    assert.equal(c.template('wk-a'), published);
    assert.deepEqual([c.store.wishes[0]?.base, c.store.wishes[0]?.replaces], [computed, 'other']);
    assert.deepEqual(c.store.templates.get('other'), { version: oldRelease });
    assert.ok(!c.counted.includes('absent'));
  }
});

test("a person's template on the release, or newer, is left where it is", async () => {
  for (const version of [newRelease, '9.9.20270101-0']) {
    const c = fakeCluster({
      templates: { other: { version } },
      sets: [machineSet('wk-a', { template: 'other' })],
    });
    await c.pass();
    assert.deepEqual(c.client.writes, []);
  }
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

test('SAFE-10 the ConfigMap of a cluster names addresses, and no file of the operator', async () => {
  for (const location of ['file:///etc/passwd', 'FILE:///dev/zero', 'https:/x', 'user:hunter2@mirror/a.ova']) {
    const c = fakeCluster({ stream: stream.replace('https://example/rhcos.ova', location), locate: (given) => given });
    await c.pass();
    assert.deepEqual(c.store.wishes, [], location);
    const said = c.condition('Degraded')?.message ?? '';
    assert.match(said, /artifact 'vmware' is at .*, which is no address of http:\/\/ or https:\/\//, location);
    assert.doesNotMatch(said, /hunter2/);
  }
});

test('an image is read from its mirror, and stays the same image', async () => {
  const c = fakeCluster({ locate: (location) => location.replace('https://example/', 'file:///mirror/') });
  await c.pass();
  const [wish] = c.store.wishes;
  assert.deepEqual(wish?.image, { release: newRelease, location: 'file:///mirror/rhcos.ova', sha256: 'ab' });
  assert.equal(c.template('wk-a'), published);
});

test("BI-V149 BI-V151 pointer mode: another tool's crash left the custom name absent, or its rollback template there: the set gets a whole template, and nothing of the other tool is touched", async () => {
  const left = { 'mco-old-0a1b2c3d': { version: oldRelease } };
  const absent = fakeCluster({ templates: left, sets: [machineSet('wk-a', { template: 'custom' })] });
  await absent.pass();
  assert.equal(absent.template('wk-a'), published);
  const current = fakeCluster({ templates: { ...left, [computed]: { version: newRelease } } });
  await current.pass();
  for (const c of [absent, current]) {
    assert.deepEqual(c.store.templates.get('mco-old-0a1b2c3d'), { version: oldRelease });
    assert.ok(!c.store.removed.includes('mco-old-0a1b2c3d'));
  }
});
