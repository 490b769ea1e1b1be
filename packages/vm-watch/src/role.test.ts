import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CustomResourceDefinition, Deployment, type VirtualMachine } from '@drydock/api';
import { until } from '@drydock/kube/testing';
import { vmOperator } from './coexistence.ts';
import { missingKinds } from './role.ts';
import { type VmWorld, vmWorld } from './testing/vm-world.ts';
import { CREATED_CONDITION } from './virtual-machine.ts';

const created = ({ status }: VirtualMachine): string | undefined => {
  const condition = status?.conditions?.find(({ type }) => type === CREATED_CONDITION);
  return condition && `${condition.status} ${condition.reason}`;
};
const condition = (world: VmWorld, name: string): string | undefined =>
  created({ metadata: { name }, status: world.status(name) });

test('VS-W1 VS-W4 VS-W58 a machine that carries the name of an object shows in its status, and so does each change, with one write', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a', { 'summary.guest': '10.0.0.5' });
  world.zone('zone-1', 'f1');
  world.vm('a');
  await world.start();
  const status = await world.shows('a', 'its machine', ({ uniqueID }) => uniqueID === 'vm-1');
  const { conditions, ...rest } = status;
  assert.deepEqual(rest, {
    uniqueID: 'vm-1',
    instanceUUID: 'i-vm-1',
    biosUUID: 'b-vm-1',
    powerState: 'PoweredOff',
    nodeName: 'h1.example',
    zone: 'zone-1',
    network: { primaryIP4: '10.0.0.5' },
  });
  assert.deepEqual(
    conditions?.map(({ type, status: value, reason }) => [type, value, reason]),
    [[CREATED_CONDITION, 'True', 'Found']],
  );
  assert.equal(world.writes, 1);
  vc1.power('vm-1', 'poweredOn');
  await world.shows('a', 'power', ({ powerState }) => powerState === 'PoweredOn');
  vc1.feed.set('vm-1', 'summary.guest', 'fd00::5');
  await world.shows(
    'a',
    'address',
    ({ network }) => network?.primaryIP6 === 'fd00::5' && network.primaryIP4 === undefined,
  );
  assert.equal(world.writes, 3);
});

test('VS-W9 a machine that is destroyed out of band is marked, and one that is restored under the name takes its place', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  world.zone('zone-1', 'f1');
  world.vm('a', { uniqueID: 'vm-1', powerState: 'PoweredOff' });
  await world.start();
  await world.live();
  await world.shows('a', 'the mirror', ({ nodeName }) => nodeName === 'h1.example');
  vc1.feed.destroy('vm-1');
  const gone = await world.shows('a', 'the mark', () => condition(world, 'a') === 'False DeletedOutOfBand');
  assert.deepEqual(Object.keys(gone), ['conditions']);
  assert.match(gone.conditions?.[0]?.message ?? '', /vm-1 of vc1 was deleted there/);
  vc1.create('f1', 'vm-2', 'ns/a');
  await world.shows('a', 'the restored machine', ({ uniqueID }) => uniqueID === 'vm-2');
  assert.equal(condition(world, 'a'), 'True Found');
});

test('a machine that leaves the watched folders and lives on is no deleted one', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  world.zone('zone-1', 'f1');
  world.vm('a', { uniqueID: 'vm-1' });
  await world.start();
  await world.live();
  await world.shows('a', 'the mirror', ({ nodeName }) => nodeName === 'h1.example');
  const looks = vc1.looks.length;
  vc1.feed.move('vm-1', 'elsewhere');
  await until('it was looked at', () => vc1.looks.length > looks);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(condition(world, 'a'), 'True Found');
});

test('VS-W63 a copy that carries the name of an object with another machine changes nothing for it; two claims of one object are told', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  vc1.create('f1', 'vm-2', 'ns/a');
  vc1.create('f1', 'vm-3', 'ns/b');
  vc1.create('f1', 'vm-4', 'ns/b');
  vc1.create('f1', 'vm-5', 'ns/last');
  world.zone('zone-1', 'f1');
  world.vm('a', { uniqueID: 'vm-1' });
  world.vm('b');
  world.vm('last');
  await world.start();
  await world.live();
  const both = await world.shows('b', 'the ambiguity', () => condition(world, 'b') === 'False Ambiguous');
  assert.equal(both.uniqueID, undefined);
  assert.match(both.conditions?.[0]?.message ?? '', /vm-3, vm-4/);
  await world.shows('last', 'its machine', ({ uniqueID }) => uniqueID === 'vm-5');
  const looks = vc1.looks.filter((vm) => vm === 'vm-1').length;
  vc1.power('vm-2', 'poweredOn');
  vc1.power('vm-5', 'poweredOn');
  await world.shows('last', 'power', ({ powerState }) => powerState === 'PoweredOn');
  assert.equal(world.status('a').powerState, 'PoweredOff');
  assert.equal(vc1.looks.filter((vm) => vm === 'vm-1').length, looks);
  world.vm('b', undefined, { spec: { instanceUUID: 'I-VM-4' }, metadata: { name: 'b', generation: 2 } });
  await world.shows('b', 'the chosen machine', ({ uniqueID }) => uniqueID === 'vm-4');
});

test('beside vm-operator signals arrive and no status is written; once it is gone, they are', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  world.zone('zone-1', 'f1');
  world.vm('a', { uniqueID: 'vm-1' });
  world.cluster.put(Deployment, vmOperator, { spec: { replicas: 0 } });
  const role = await world.start();
  await world.live();
  vc1.power('vm-1', 'poweredOn');
  await until('the signal', () => role.watch.reports()[0]?.lag === 0 && role.watch.reports()[0]?.dirty === 0);
  assert.equal(world.writes, 0);
  world.cluster.put(Deployment, vmOperator, undefined);
  const crd = { name: 'virtualmachines.vmoperator.vmware.com' };
  world.cluster.put(CustomResourceDefinition, crd, { metadata: { ...crd, labels: {} } });
  await until(
    'the foreign CRD is known',
    () => role.caches.vmOperatorCrd.get(crd)?.metadata.labels?.['app.kubernetes.io/part-of'] === undefined,
  );
  await until('it is known that the Deployment is gone', () => role.caches.vmOperator.size === 0);
  vc1.power('vm-1', 'poweredOff');
  vc1.create('f1', 'vm-2', 'ns/b');
  await until('the signals', () => role.watch.reports()[0]?.machines === 2 && role.watch.reports()[0]?.dirty === 0);
  assert.equal(world.writes, 0);
  world.cluster.put(CustomResourceDefinition, crd, {
    metadata: { ...crd, labels: { 'app.kubernetes.io/part-of': 'drydock' } },
  });
  await until(
    'the CRD is ours',
    () => role.caches.vmOperatorCrd.get(crd)?.metadata.labels?.['app.kubernetes.io/part-of'] === 'drydock',
  );
  vc1.power('vm-1', 'poweredOn');
  await world.shows('a', 'power', ({ powerState }) => powerState === 'PoweredOn');
});

test('what could not be read while the vCenter was away is looked at when it is back, and a restart shows what changed meanwhile', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  vc1.down = true;
  world.zone('zone-1', 'f1');
  world.vm('a', { uniqueID: 'vm-1' });
  const role = await world.start();
  await until('it is tried', () => role.watch.reports()[0]?.state.reason?.includes('vc1 is down'));
  const detail = role.ready['watch-vms']?.();
  assert.ok(
    typeof detail === 'object' && /vc1 (rebuilding|backoff|connecting) \(/.test(detail.remark),
    JSON.stringify(detail),
  );
  vc1.down = false;
  await world.shows('a', 'power', ({ powerState }) => powerState === 'PoweredOff');
  await world.crash();
  vc1.power('vm-1', 'poweredOn');
  await world.start();
  await world.shows('a', 'power', ({ powerState }) => powerState === 'PoweredOn');
});

test('a status that was changed behind the cache is not lost', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  world.zone('zone-1', 'f1');
  world.vm('a', { uniqueID: 'vm-1' });
  let other = false;
  world.cluster.onCall = ({ verb }, phase) => {
    if (verb !== 'replaceStatus' || phase !== 'before' || other) return;
    other = true;
    world.vm('a', { ...world.status('a'), conditions: [{ type: 'Theirs', status: 'True' }] });
  };
  await world.start();
  const { conditions } = await world.shows('a', 'both conditions', (status) => status.conditions?.length === 2);
  assert.deepEqual(
    conditions?.map(({ type }) => type),
    ['Theirs', CREATED_CONDITION],
  );
});

test('kinds that the cluster does not serve are named', async () => {
  await using world = vmWorld();
  assert.deepEqual(await missingKinds(world.client), ['zones.topology.tanzu.vmware.com']);
});
