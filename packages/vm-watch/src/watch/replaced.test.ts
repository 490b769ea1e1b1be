import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '@drydock/kube/testing';
import { textVal } from '@drydock/vsphere/testing';
import { CREATED_CONDITION } from '../kubernetes/virtual-machine.ts';
import { serviceRig } from '../testing/service-rig.ts';
import { liveRig, POWER } from '../testing/synthetic-rig.ts';
import { vmWorld } from '../testing/vm-world.ts';

const folder = { type: 'Folder', value: 'f1' };

test('VS-W46 another vCenter under the same address: its machines are found, and what it calls as the old one did is no news and no loss', async () => {
  await using rig = await liveRig(3, { verified: true });
  const { server } = rig;
  const [same = '', changed = ''] = rig.moids;
  assert.equal(rig.watcher.ledger.size, 4);
  server.instanceUuid = 'synthetic-2';
  server.endSessions();
  // Its machine of the same reference is another one, which nobody saw change.
  server.inventory.set(changed, 'name', textVal('somebody else'));
  rig.power(changed, true);
  server.inventory.destroy(same);
  await rig.until('it is noticed', () => rig.warnings.some((text) => text.startsWith('Another vCenter answers')));
  await rig.live();
  await rig.settled();
  assert.deepEqual(rig.signals.splice(0), [], 'no change of the old one, and nothing of it left');
  assert.equal(rig.watcher.ledger.size, 3);
  assert.ok(rig.resolved.some(([moid, how]) => moid === changed && how.kind === 'drop' && how.reason === 'baseline'));
  rig.power(changed, false);
  await rig.settled();
  assert.deepEqual(rig.signals.splice(0), [`ns/machine-${changed.slice(3)} changed ${POWER} verified`]);

  rig.warnings.length = 0;
  server.endSessions();
  rig.power(changed, true);
  await rig.until('a third login', () => server.calls.get('Login') === 3);
  await rig.live();
  await rig.settled();
  assert.deepEqual(
    rig.warnings.filter((text) => text.startsWith('Another vCenter')),
    [],
    'the same one is known again',
  );
  assert.equal(rig.signals.filter((signal) => signal.includes(POWER)).length, 1);
});

test('what was on its way when the vCenter was replaced is not told of the new one', async () => {
  const stuck = Promise.withResolvers<void>();
  let refuse = true;
  await using rig = await serviceRig({
    deliver: async () => {
      if (!refuse) return;
      await stuck.promise;
      throw new Error('refused');
    },
  });
  const vc1 = rig.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/a');
  vc1.create('f1', 'vm-2', 'ns/b');
  rig.run();
  await rig.service.add('vc1', folder, 'ns/z');
  vc1.feed.replace();
  vc1.create('f1', 'vm-1', 'ns/c');
  await until('the new one is live', () => rig.service.reports()[0]?.machines === 1);
  refuse = false;
  stuck.resolve();
  await rig.until('ns/c vm-1 changed');
  assert.deepEqual(rig.signals, ['vc1 ns/c vm-1 changed']);
});

test('objects are given the machines of the new vCenter that carry their names, whatever their references said', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  const machine = (vm: string, name: string): void =>
    vc1.create('f1', vm, `ns/${name}`, {
      'summary.config.instanceUuid': `i-${name}`,
      'summary.config.uuid': `b-${name}`,
    });
  machine('vm-1', 'a');
  machine('vm-2', 'b');
  machine('vm-3', 'c');
  world.zone('zone-1', 'f1');
  for (const name of ['a', 'b', 'c']) world.vm(name);
  const role = await world.start();
  for (const [name, vm] of [
    ['a', 'vm-1'],
    ['b', 'vm-2'],
    ['c', 'vm-3'],
  ] as const)
    await world.shows(name, 'its machine', ({ uniqueID }) => uniqueID === vm);

  // The references of a and b are exchanged, that of c names a stranger, and c is not there.
  vc1.feed.replace();
  machine('vm-1', 'b');
  machine('vm-2', 'a');
  machine('vm-3', 'stranger');
  vc1.power('vm-1', 'poweredOn');
  const b = await world.shows('b', 'the new reference', ({ uniqueID }) => uniqueID === 'vm-1');
  assert.equal(b.powerState, 'PoweredOn');
  assert.equal(b.instanceUUID, 'i-b');
  const a = await world.shows('a', 'the new reference', ({ uniqueID }) => uniqueID === 'vm-2');
  assert.equal(a.powerState, 'PoweredOff');
  const c = await world.shows('c', 'that it has none', ({ uniqueID }) => uniqueID === undefined);
  assert.match(
    c.conditions?.find(({ type }) => type === CREATED_CONDITION)?.message ?? '',
    /^vm-3 of vc1 is another machine than before|^no machine of vc1 carries ns\/c/,
  );
  vc1.power('vm-2', 'poweredOn');
  await world.shows('a', 'a change', ({ powerState }) => powerState === 'PoweredOn');
  assert.equal(role.watch.reports()[0]?.machines, 3);
});

test('also where it was replaced while nobody looked', async () => {
  await using world = vmWorld();
  const vc1 = world.estate.vcenter('vc1');
  vc1.create('f1', 'vm-1', 'ns/stranger', {
    'summary.config.instanceUuid': 'i-x',
    'summary.config.uuid': 'b-x',
  });
  vc1.create('f1', 'vm-9', 'ns/a', { 'summary.config.instanceUuid': 'i-a', 'summary.config.uuid': 'b-a' });
  world.zone('zone-1', 'f1');
  world.vm('a', { uniqueID: 'vm-1', instanceUUID: 'i-a', biosUUID: 'b-a', powerState: 'PoweredOn' });
  // vCenter gave it another instance UUID on a conflict: it is the same machine all the same.
  vc1.create('f1', 'vm-2', undefined, { 'summary.config.instanceUuid': 'i-new', 'summary.config.uuid': 'b-b' });
  world.vm('b', { uniqueID: 'vm-2', instanceUUID: 'i-b', biosUUID: 'b-b' });
  await world.start();
  await world.shows(
    'a',
    'its own machine',
    ({ uniqueID, powerState }) => uniqueID === 'vm-9' && powerState === 'PoweredOff',
  );
  await world.shows(
    'b',
    'the new UUID',
    ({ uniqueID, instanceUUID }) => uniqueID === 'vm-2' && instanceUUID === 'i-new',
  );
});
