import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CustomResourceDefinition, Deployment, VirtualMachine } from '@drydock/api';
import { createLedger } from '@drydock/crd';
import { memoryStore } from '@drydock/crd/testing';
import { until } from '@drydock/kube/testing';
import { virtualClock } from '@drydock/model';
import { Registry } from 'prom-client';
import { vmOperator } from './kubernetes/coexistence.ts';
import { kindsServed, missingKinds } from './kubernetes/kinds.ts';
import { CREATED_CONDITION } from './kubernetes/virtual-machine.ts';
import { watchMetrics } from './metrics.ts';
import { extraConfig } from './testing/pages.ts';
import { type VmWorld, vmWorld } from './testing/vm-world.ts';
import { NAMESPACED_NAME } from './watch/watched-paths.ts';

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

test('what the mirror saw while the watch heard nothing, and nobody knew it, does not stay when it is over', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  world.zone('zone-1', 'f1');
  world.vm('a', { uniqueID: 'vm-1' });
  await world.start();
  await world.live();
  await world.shows('a', 'the mirror', ({ powerState }) => powerState === 'PoweredOff');
  vc1.feed.mute = true;
  vc1.power('vm-1', 'poweredOn');
  // Somebody edits the object, and the mirror looks for that.
  world.vm('a', world.status('a'), { metadata: { name: 'a', annotations: { edited: 'yes' } } });
  await world.shows('a', 'what is there', ({ powerState }) => powerState === 'PoweredOn');
  vc1.power('vm-1', 'poweredOff');
  vc1.feed.mute = false;
  vc1.feed.endSession();
  await world.shows('a', 'that it is over', ({ powerState }) => powerState === 'PoweredOff');
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
  const registry = new Registry();
  await world.start({ metrics: watchMetrics(registry) });
  await world.live();
  const both = await world.shows('b', 'the ambiguity', () => condition(world, 'b') === 'False Ambiguous');
  assert.equal(both.uniqueID, undefined);
  assert.match(both.conditions?.[0]?.message ?? '', /vm-3, vm-4/);
  await world.shows('last', 'its machine', ({ uniqueID }) => uniqueID === 'vm-5');
  const counted = async (): Promise<readonly number[]> => {
    const text = await registry.metrics();
    return [
      'signals_total{watch="vms",vcenter="vc1",kind="changed"}',
      'dropped_total{watch="vms",vcenter="vc1",reason="copy"}',
    ].map((name) => Number(text.split(`drydock_watch_${name} `)[1]?.split('\n')[0]));
  };
  const [signals = 0, copies = 0] = await counted();
  vc1.power('vm-2', 'poweredOn');
  vc1.power('vm-5', 'poweredOn');
  // Changes are handed on in their order: the copy's was before this one.
  await world.shows('last', 'power', ({ powerState }) => powerState === 'PoweredOn');
  assert.deepEqual(await counted(), [signals + 1, copies + 1], 'one signal, which is that of the other machine');
  assert.equal(world.status('a').powerState, 'PoweredOff');
  world.vm('b', undefined, { spec: { instanceUUID: 'I-VM-4' }, metadata: { name: 'b', generation: 2 } });
  await world.shows('b', 'the chosen machine', ({ uniqueID }) => uniqueID === 'vm-4');
});

test('VS-W59 a key that is changed to one of no object, together with what the guest says, is nobody’s', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  vc1.create('f1', 'vm-2', 'ns/b');
  world.zone('zone-1', 'f1');
  // Beside vm-operator, so that the machine does not become the object's.
  world.cluster.put(Deployment, vmOperator, { spec: {} });
  world.vm('a');
  world.vm('b', { uniqueID: 'vm-2' });
  const registry = new Registry();
  await world.start({ metrics: watchMetrics(registry) });
  await world.live();
  const orphans = async (): Promise<number> =>
    Number(
      /dropped_total\{watch="vms",vcenter="vc1",reason="no-object"\} (\d+)/.exec(await registry.metrics())?.[1] ?? 0,
    );
  assert.equal(await orphans(), 0);
  vc1.feed.set(
    'vm-1',
    'config.extraConfig',
    extraConfig({ [NAMESPACED_NAME]: 'invalid/a', 'guestinfo.ipaddr': '10.0.0.9' }),
  );
  await until('it was nobody’s', async () => (await orphans()) === 1);
  assert.equal(world.writes, 0);
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
  await world.shows('a', 'what it is now, without another change', ({ powerState }) => powerState === 'PoweredOff');
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

test('an object that is deleted and made anew gets its machine, which said nothing meanwhile', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  vc1.create('f1', 'vm-2', 'ns/b');
  world.zone('zone-1', 'f1');
  world.vm('a');
  world.vm('b');
  const role = await world.start();
  for (const name of ['a', 'b']) await world.shows(name, 'its machine', ({ uniqueID }) => uniqueID !== undefined);
  world.cluster.put(VirtualMachine, { namespace: 'ns', name: 'a' }, undefined);
  await until('the cache knows', () => role.caches.virtualMachines.size === 1);
  // Whatever follows from the deletion is through when this is.
  vc1.power('vm-2', 'poweredOn');
  await world.shows('b', 'power', ({ powerState }) => powerState === 'PoweredOn');
  world.vm('a');
  await world.shows('a', 'its machine', ({ uniqueID }) => uniqueID === 'vm-1');
});

test('after a restart under a definition that hides the identity a machine is known from the ledger, although the objects were listed before it was read', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1');
  world.zone('zone-1', 'f1');
  const crd = { name: 'virtualmachines.vmoperator.vmware.com' };
  const text = { type: 'string' };
  const conditions = {
    type: 'array',
    items: {
      type: 'object',
      properties: { type: text, status: text, reason: text, message: text, lastTransitionTime: text },
    },
  };
  const status = { type: 'object', properties: { powerState: text, conditions } };
  const openAPIV3Schema = { type: 'object', properties: { status } };
  const { group, plural, kind } = VirtualMachine;
  const version = { name: VirtualMachine.version, served: true, storage: true, schema: { openAPIV3Schema } };
  world.cluster.put(CustomResourceDefinition, crd, {
    metadata: { ...crd, labels: { 'app.kubernetes.io/part-of': 'drydock' } },
    spec: { group, names: { plural, kind }, scope: 'Namespaced', versions: [version] },
  });
  const uid = '00000000-0000-4000-8000-000000000001';
  // Nothing has to be written, or the write would show what is hidden.
  const shown = { type: CREATED_CONDITION, status: 'True', reason: 'Found', message: 'machine vm-1 of vc1' };
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  const mirrored = { powerState: 'PoweredOff', conditions: [{ ...shown, lastTransitionTime }] };
  world.vm('a', mirrored, { metadata: { name: 'a', uid } });
  const listed = Promise.withResolvers<void>();
  const store = memoryStore((place) => (place === 'before the ledger is read' ? listed.promise : Promise.resolve()));
  await createLedger({ store }).grow(
    { uid, object: 'ns/a', resourceVersion: '1' },
    [{ at: ['uniqueID'], value: 'vm-1' }],
    { schemaHash: 'x', firstSeen: '2026-01-01T00:00:00Z', release: '' },
    {},
  );
  const starting = world.start({ statuses: () => ({ ledger: createLedger({ store }) }) });
  const role = await starting;
  await until('the objects are listed', () => role.caches.virtualMachines.size === 1);
  listed.resolve();
  await until('it was looked at', () => vc1.looks.length > 0);
  vc1.power('vm-1', 'poweredOn');
  await world.shows('a', 'power', ({ powerState }) => powerState === 'PoweredOn');
  vc1.feed.destroy('vm-1');
  await world.shows('a', 'the mark', () => condition(world, 'a') === 'False DeletedOutOfBand');
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

test('kinds that the cluster does not serve are named once and waited for, whatever the server answers meanwhile', async () => {
  await using world = vmWorld();
  const { client, cluster } = world;
  const zones = 'zones.topology.tanzu.vmware.com';
  assert.deepEqual(await missingKinds(client), [zones]);
  const clock = virtualClock();
  const said: string[] = [];
  const log = {
    info: () => undefined,
    warn: (fields: object) => said.push('err' in fields ? String(fields.err) : ''),
  };
  const stop = new AbortController();
  let served = false;
  const waiting = kindsServed({ client, clock, log, signal: stop.signal }).then((found) => {
    served = found;
  });
  const look = async (): Promise<void> => {
    const before = cluster.counters.get('get') ?? 0;
    await until('another look', () => {
      clock.advance(5_000);
      return (cluster.counters.get('get') ?? 0) > before + 1;
    });
  };
  await look();
  await look();
  assert.equal(said.length, 1, said.join('\n'));
  assert.match(
    said[0] ?? '',
    /does not serve zones\.topology\.tanzu\.vmware\.com\. Install the CRDs of api\/optional; the process notices/,
  );
  const status = (value: string): object => ({ conditions: [{ type: 'Established', status: value }] });
  cluster.put(CustomResourceDefinition, { name: zones }, { metadata: { name: zones }, status: status('False') });
  await look();
  assert.equal(served, false);
  cluster.put(CustomResourceDefinition, { name: zones }, { metadata: { name: zones }, status: status('True') });
  await look();
  await waiting;
  assert.equal(served, true);

  cluster.put(CustomResourceDefinition, { name: zones }, undefined);
  const given = kindsServed({ client, clock, log, signal: stop.signal });
  stop.abort();
  assert.equal(await given, false);
});
