import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterVersion, Infrastructure, MachineConfiguration, Secret } from '@drydock/api';
import {
  computed,
  fakeCluster,
  infrastructure,
  machineSet,
  managed,
  newRelease,
  oldRelease,
  stub22,
} from './testing/fake-cluster.ts';

const published = `${computed}-${newRelease}-0123abcd`;
const zero =
  '0 of 0 ControlPlaneMachineSets | Reconciled 0 of 0 CAPI MachineSets | Reconciled 0 of 0 CAPI MachineDeployments';
const userDataKey = { namespace: 'openshift-machine-api', name: 'worker-user-data' };
const patches = (writes: readonly string[]): readonly string[] => writes.filter((w) => w.startsWith('patch '));

test('a new release is published and the set is pointed at it by one guarded patch of one leaf', async () => {
  const c = fakeCluster();
  await c.pass();
  assert.equal(c.template('wk-a'), published);
  assert.deepEqual(patches(c.client.writes), ['patch machinesets openshift-machine-api/wk-a']);
  const story = c.events.map((e) => e.split(' ')[1]);
  assert.deepEqual(story, ['Planned', 'DownloadVerified', 'UploadStarted', 'Imported', 'Switched', 'Retained']);
  assert.equal(c.condition('Progressing')?.status, 'False');
  assert.equal(c.condition('Degraded')?.status, 'False');
  assert.deepEqual(c.last('wk-a'), {
    kind: 'current',
    current: newRelease,
    target: newRelease,
    template: { server: 'vc1', name: published, release: newRelease },
    switchedFrom: oldRelease,
  });
});

for (const [vector, history] of [
  ['BI-V1', []],
  ['BI-V2', [{ state: 'Partial', version: '4.18.0' }]],
  [
    'BI-V4',
    [
      { state: 'Partial', version: '4.19.0' },
      { state: 'Completed', version: '4.18.0' },
    ],
  ],
] as const) {
  test(`${vector} an unstable cluster is left alone, conditions too`, async () => {
    const c = fakeCluster();
    c.client.put(ClusterVersion, { metadata: { name: 'version' }, status: { history } });
    assert.equal(await c.pass(), undefined);
    assert.deepEqual([c.client.writes, c.conditionWrites, c.store.calls], [[], [], []]);
    assert.equal(c.last('wk-a')?.kind, 'waiting');
  });
}

test('BI-V12 a MachineConfiguration that lags for more than two minutes is reported, and looked at again', async () => {
  const c = fakeCluster();
  c.edit.mc((mc) => ({
    ...mc,
    metadata: { ...mc.metadata, generation: 3 },
    status: { ...mc.status, observedGeneration: 2 },
  }));
  assert.deepEqual(await c.pass(), { after: 5000 });
  assert.equal(c.condition('Degraded'), undefined);
  c.clock += 121_000;
  assert.ok(((await c.pass())?.after ?? 0) > 0);
  const degraded = c.condition('Degraded');
  assert.equal(degraded?.status, 'True');
  assert.match(
    degraded?.message ?? '',
    /Error\(s\): MachineConfiguration was not ready: MachineConfiguration\.Status is not up to date/,
  );
});

test('BI-V13 a MachineConfiguration that catches up after 12 s is no failure', async () => {
  const c = fakeCluster();
  c.edit.mc((mc) => ({ ...mc, metadata: { ...mc.metadata, generation: 3 } }));
  await c.pass();
  c.clock += 12_000;
  c.edit.mc((mc) => ({ ...mc, status: { ...mc.status, observedGeneration: 3 } }));
  await c.pass();
  assert.equal(c.template('wk-a'), published);
  assert.ok(
    c.conditionWrites
      .flat()
      .every((condition) => condition.type.endsWith('Progressing') || condition.status === 'False'),
  );
});

test('BI-V14 without a MachineConfiguration nothing is written, and it is looked for again, slower after two minutes', async () => {
  const c = fakeCluster();
  c.client.objects.delete('machineconfigurations cluster');
  assert.deepEqual(await c.pass(), { after: 5000 });
  c.clock += 130_000;
  assert.deepEqual(await c.pass(), { after: 60_000 });
  assert.deepEqual([c.client.writes, c.conditionWrites], [[], []]);
});

test('BI-V21 with no manager nothing is enrolled and the hot loop memory is cleared', async () => {
  const c = fakeCluster({ managers: [] });
  for (let i = 0; i < 3; i++) c.state.hotLoop.record('wk-a', newRelease);
  await c.pass();
  assert.equal(c.condition('Progressing')?.message, `Reconciled 0 of 0 MAPI MachineSets | Reconciled ${zero}`);
  assert.equal(c.condition('Progressing')?.status, 'False');
  assert.equal(c.state.hotLoop.exhausted('wk-a', newRelease), false);
  assert.equal(c.template('wk-a'), computed);
});

test('BI-V22 Partial moves only the selected set', async () => {
  const sets = [machineSet('wk-a', {}, { labels: { update: 'true' } }), machineSet('wk-b')];
  const c = fakeCluster({ sets, managers: managed('Partial', { matchLabels: { update: 'true' } }) });
  await c.pass();
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 1 of 1 MAPI MachineSets \|/);
  assert.deepEqual([c.template('wk-a'), c.template('wk-b')], [published, computed]);
  const left = c.last('wk-b');
  assert.ok(left?.kind === 'skip' && left.reason === 'NotSelected');
});

test('BI-V26 an invalid selector is reported and nothing is written', async () => {
  const c = fakeCluster({ managers: managed('Partial', { matchExpressions: [{ key: 'a', operator: 'Near' }] }) });
  await c.pass();
  assert.match(
    c.condition('Degraded')?.message ?? '',
    /failed to create a machineset selector while enqueueing MAPI machineset /,
  );
  assert.deepEqual(patches(c.client.writes), []);
});

test('BI-V27 mode None leaves the image where it is', async () => {
  const c = fakeCluster({ managers: managed('None') });
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
  assert.deepEqual(c.store.calls, []);
});

test('BI-V29 a missing golden ConfigMap is reported and counters stay', async () => {
  const c = fakeCluster();
  await c.pass();
  const before = c.condition('Progressing')?.message;
  c.client.objects.delete('configmaps openshift-machine-config-operator/coreos-bootimages');
  await c.pass();
  assert.match(c.condition('Degraded')?.message ?? '', /Error\(s\): failed to fetch coreos-bootimages config map: /);
  assert.equal(c.condition('Progressing')?.message, before);
});

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

test('BI-V51 BI-V52 failures are counted, named and aggregated', async () => {
  const bad = (name: string): ReturnType<typeof machineSet> => ({ ...machineSet(name), spec: {} });
  const one = fakeCluster({ sets: [bad('wk-a'), machineSet('wk-b')] });
  await one.pass();
  assert.match(one.condition('Progressing')?.message ?? '', /^Reconciled 1 of 2 MAPI MachineSets \|/);
  assert.equal(one.condition('Progressing')?.status, 'False');
  const prefix =
    '1 Degraded MAPI MachineSets | 0 Degraded ControlPlaneMachineSets | 0 Degraded CAPI MachineSets | 0 Degraded CAPI MachineDeployments | Error(s): error syncing MAPI MachineSet wk-a: ';
  assert.ok(one.condition('Degraded')?.message?.startsWith(prefix));
  const two = fakeCluster({ sets: [bad('wk-a'), bad('wk-b')] });
  await two.pass();
  assert.match(
    two.condition('Degraded')?.message ?? '',
    /Error\(s\): \[error syncing .*wk-a: .*, error syncing .*wk-b: .*\]$/,
  );
});

test('BI-V53 between two sets Progressing says how far the pass is', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a'), machineSet('wk-b')] });
  await c.pass();
  const said = c.conditionWrites.map(([p]) => `${p?.status} ${p?.message?.split(' MAPI')[0]}`);
  assert.deepEqual(said, ['True Reconciled 0 of 2', 'True Reconciled 1 of 2', 'False Reconciled 2 of 2']);
});

test('BI-V59 opting out clears a failure even while an upgrade runs', async () => {
  const c = fakeCluster({ sets: [{ ...machineSet('wk-a'), spec: {} }] });
  await c.pass();
  assert.equal(c.condition('Degraded')?.status, 'True');
  c.client.put(ClusterVersion, { metadata: { name: 'version' }, status: { history: [{ state: 'Partial' }] } });
  await c.pass();
  assert.equal(c.condition('Degraded')?.status, 'True');
  c.edit.mc((mc) => ({
    ...mc,
    status: { ...mc.status, managedBootImagesStatus: { machineManagers: managed('None') } },
  }));
  await c.pass();
  assert.equal(c.condition('Degraded')?.status, 'False');
});

test('BI-V63 BI-V64 the fourth move to one release is refused before the vCenter is touched; a new value or opting out resets', async () => {
  const c = fakeCluster();
  const revert = (): void => c.edit.set('wk-a', () => machineSet('wk-a'));
  for (let i = 0; i < 3; i++) {
    await c.pass();
    assert.equal(c.template('wk-a'), published);
    revert();
  }
  c.store.calls.length = 0;
  await c.pass();
  assert.match(
    c.condition('Degraded')?.message ?? '',
    /error syncing MAPI MachineSet wk-a: refusing to reconcile machineset wk-a, hot loop detected\. Please opt-out/,
  );
  assert.ok(c.store.calls.every((call) => call.startsWith('inspect') || call.startsWith('collect')));
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'failed' && outcome.blocked);
  const managers = (mode: string): void =>
    c.edit.mc((mc) => ({
      ...mc,
      status: { ...mc.status, managedBootImagesStatus: { machineManagers: managed(mode) } },
    }));
  managers('None');
  await c.pass();
  managers('All');
  await c.pass();
  assert.equal(c.template('wk-a'), published);
});

test('BI-V68 a failure is retried at its own pace without an event, and stays reported until then', async () => {
  const c = fakeCluster();
  c.store.fail = Object.assign(new Error('503'), { retriable: true });
  const first = await c.pass();
  assert.equal(c.condition('Degraded')?.status, 'True');
  assert.deepEqual(first, { after: 5000 });
  c.store.fail = undefined;
  c.clock += 1000;
  await c.pass({ timer: true });
  assert.equal(c.condition('Degraded')?.status, 'True');
  assert.equal(c.template('wk-a'), computed);
  c.clock += 5000;
  await c.pass({ timer: true });
  assert.equal(c.condition('Degraded')?.status, 'False');
  assert.equal(c.template('wk-a'), published);
  assert.equal(c.events.filter((e) => e.includes(' Failed ')).length, 1);
});

test('BI-V157 two sets of one failure domain cost one import', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a'), machineSet('wk-b')] });
  await c.pass();
  assert.equal(c.store.uploads, 1);
  assert.deepEqual([c.template('wk-a'), c.template('wk-b')], [published, published]);
});

test('BI-V161 a missing user-data secret stops the update before anything is imported', async () => {
  const c = fakeCluster();
  c.client.objects.delete('secrets openshift-machine-api/worker-user-data');
  await c.pass();
  assert.ok(
    c
      .condition('Degraded')
      ?.message?.includes(
        'error grabbing user data secret referenced in machineset: secrets "worker-user-data" not found',
      ),
  );
  assert.equal(c.store.uploads, 0);
  assert.equal(c.template('wk-a'), computed);
});

test('BI-V162 a stub that cannot be converted stops the update', async () => {
  const c = fakeCluster({ userData: '{"ignition":{"version":"1.2.0"}}' });
  await c.pass();
  assert.match(
    c.condition('Degraded')?.message ?? '',
    /converting ignition stub failed: failed to parse Ignition config: parsing Ignition config failed: unknown version\. Supported spec versions: 2\.2,3\.0,3\.1,3\.2,3\.3,3\.4,3\.5$/,
  );
  assert.deepEqual([c.store.uploads, c.template('wk-a')], [0, computed]);
});

test('BI-V163 BI-V172 a spec 2 stub is converted in its own secret, before the set is patched', async () => {
  const c = fakeCluster({ userData: stub22 });
  await c.pass();
  const writes = c.client.writes.filter((w) => !w.startsWith('status'));
  assert.deepEqual(writes, [
    'replace secrets openshift-machine-api/worker-user-data',
    'patch machinesets openshift-machine-api/wk-a',
  ]);
  const secret = c.client.peek(Secret, userDataKey);
  const stub = JSON.parse(Buffer.from(secret?.data?.['userData'] ?? '', 'base64').toString()) as {
    ignition: { version: string; config: { merge: { source: string }[] } };
  };
  assert.equal(stub.ignition.version, '3.5.0');
  assert.equal(stub.ignition.config.merge[0]?.source, 'https://api-int.c1:22623/config/worker');
  const prefix = 'machineconfiguration.openshift.io/stub-ignition-upgraded-';
  assert.equal(secret?.metadata.annotations?.[`${prefix}to`], '3.5.0');
  assert.match(secret?.metadata.annotations?.[`${prefix}at`] ?? '', /^2026-08-02T00:00:00Z$/);
});

test('BI-V164 a spec 3 stub is not written', async () => {
  const c = fakeCluster();
  await c.pass();
  assert.ok(c.client.writes.every((w) => !w.includes('secrets')));
});

test('BI-V168 BI-V169 the stub of a current and of a custom set stays as it is', async () => {
  for (const templates of [{ [computed]: { version: newRelease } }, { mine: { version: oldRelease } }]) {
    const name = Object.keys(templates)[0];
    const c = fakeCluster({ userData: stub22, templates, sets: [machineSet('wk-a', { template: name })] });
    await c.pass();
    assert.deepEqual(c.client.writes, []);
  }
});

test('BI-V171 a conflict on the secret is reported, the set is not patched, and the next pass succeeds', async () => {
  const c = fakeCluster({ userData: stub22 });
  c.client.refuse = (write) => (write.startsWith('replace secrets') ? new Error('conflict') : undefined);
  await c.pass();
  assert.ok(c.condition('Degraded')?.message?.includes('could not update secret worker-user-data: conflict'));
  assert.equal(c.template('wk-a'), computed);
  c.client.refuse = undefined;
  await c.pass();
  assert.equal(c.template('wk-a'), published);
  assert.equal(c.store.uploads, 1);
});

test('a concurrent change of the image wins: the guard fails and nothing is overwritten', async () => {
  const c = fakeCluster();
  c.store.onPublish = () => c.edit.set('wk-a', () => machineSet('wk-a', { template: 'by-hand' }));
  await c.pass();
  assert.equal(c.template('wk-a'), 'by-hand');
  assert.match(c.condition('Degraded')?.message ?? '', /unable to patch new machineset: /);
});

test('an upload of another process is waited for and is no failure', async () => {
  const c = fakeCluster();
  c.store.fail = Object.assign(new Error('busy'), { code: 'UPLOAD_IN_PROGRESS', retriable: true });
  assert.deepEqual(await c.pass(), { after: 5000 });
  assert.equal(c.condition('Degraded')?.status, 'False');
  assert.equal(c.condition('Progressing')?.status, 'True');
  assert.equal(c.last('wk-a')?.kind, 'waiting');
});

test('what nobody needs is collected only after a quiet time, and a fresh pointer counts as a reference', async () => {
  const c = fakeCluster({
    templates: { [computed]: { version: oldRelease }, stale: { version: oldRelease, ours: true } },
  });
  assert.deepEqual(await c.pass(), { after: 60_000 });
  assert.deepEqual(c.store.removed, []);
  c.clock += 61_000;
  c.machines.push({ metadata: { name: 'm' }, spec: { providerSpec: { value: { template: 'stale' } } } });
  await c.pass({ timer: true });
  assert.deepEqual(c.store.removed, []);
  c.machines.length = 0;
  await c.pass({ timer: true });
  assert.deepEqual(c.store.removed, ['stale']);
  assert.ok(c.store.templates.has(published));
});

test('BI-V28 a manager of control plane sets alone enrols no machine set', async () => {
  const c = fakeCluster({
    managers: [{ resource: 'controlplanemachinesets', apiGroup: 'machine.openshift.io', selection: { mode: 'All' } }],
  });
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
  assert.match(c.condition('Progressing')?.message ?? '', /^Reconciled 0 of 0 MAPI MachineSets/);
  assert.ok(c.client.peek(MachineConfiguration, { name: 'cluster' }) !== undefined);
});
