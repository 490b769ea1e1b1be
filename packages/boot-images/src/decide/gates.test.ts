import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterVersion } from '@drydock/api';
import { fakeCluster, machineSet, managed, published } from '../testing/fake-cluster.ts';
import { clusterStable } from './gates.ts';

const version = (...states: readonly string[]): ClusterVersion => ({
  metadata: { name: 'version' },
  status: { history: states.map((state) => ({ state })) },
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

test('BI-V3 a Completed newest entry is stable', () => {
  assert.equal(clusterStable(version('Completed')), true);
  assert.equal(clusterStable(version('Partial', 'Completed')), false);
});

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

for (const way of ['by request', 'by taking it out of the selection'] as const) {
  test(`BI-V59 [N] while an upgrade runs, opting out the one set that fails ${way} clears its failure, and no other`, async () => {
    const labels = { labels: { update: 'true' } };
    const broken = (name: string) => ({ ...machineSet(name, {}, labels), spec: {} });
    const c = fakeCluster({
      sets: [broken('wk-a'), machineSet('wk-b', {}, labels), broken('wk-c')],
      managers: managed('Partial', { matchLabels: { update: 'true' } }),
    });
    await c.pass();
    c.client.put(ClusterVersion, { metadata: { name: 'version' }, status: { history: [{ state: 'Partial' }] } });
    const more = way === 'by request' ? { annotations: { 'drydock.dev/boot-image': 'Disabled' } } : { labels: {} };
    const optOut = (name: string): void =>
      c.edit.set(name, (set) => ({ ...set, metadata: { ...set.metadata, ...more } }));
    const writes = c.client.writes.length;
    await c.pass();
    assert.match(c.condition('Degraded')?.message ?? '', /^2 Degraded MAPI MachineSets/);
    optOut('wk-a');
    await c.pass();
    const { status, message = '' } = c.condition('Degraded') ?? {};
    assert.equal(status, 'True');
    assert.match(message, /^1 Degraded MAPI MachineSets .*Error\(s\): error syncing MAPI MachineSet wk-c: /);
    optOut('wk-c');
    await c.pass();
    assert.equal(c.condition('Degraded')?.status, 'False');
    assert.deepEqual(c.client.writes.slice(writes), [], 'nothing is done meanwhile');
  });
}
