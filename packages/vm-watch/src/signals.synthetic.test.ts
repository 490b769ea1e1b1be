import assert from 'node:assert/strict';
import { test } from 'node:test';
import { devicesVal, optionsVal, textVal } from '@drydock/vsphere/testing';
import { quickest } from './testing/quickest.ts';
import { liveRig, POWER, startSyntheticRig } from './testing/synthetic-rig.ts';

const nameOf = (moid: string): string => `ns/machine-${moid.slice(3)}`;

test('VS-W1 VS-W3 VS-W4 machines that carry a name and belong to nobody yet are told once each; a change of one is told once more', async () => {
  await using rig = await startSyntheticRig();
  const moids = rig.server.inventory.add(2, rig.folder);
  rig.run();
  await rig.watch(rig.folder, 'zone');
  await rig.live();
  await rig.settled();
  assert.deepEqual(rig.signals.toSorted(), moids.map((moid) => `${nameOf(moid)} changed`).toSorted());
  rig.signals.length = 0;
  const [first = ''] = moids;
  rig.power(first, true);
  await rig.settled();
  assert.deepEqual(rig.signals, [`${nameOf(first)} changed ${POWER}`]);
});

test('VS-W2 VS-W19 a machine without a name, or with one that is none, is told nobody', async () => {
  await using rig = await startSyntheticRig();
  for (const value of ['abc', 'a/b/c', '', '/x', 'x/']) {
    const [moid = ''] = rig.server.inventory.add(1, rig.folder);
    rig.server.inventory.set(moid, 'config.extraConfig', optionsVal({ 'vmservice.namespacedName': value }));
  }
  const [bare = ''] = rig.server.inventory.add(1, rig.folder);
  rig.server.inventory.set(bare, 'config.extraConfig', undefined);
  rig.run();
  await rig.watch(rig.folder, 'zone');
  await rig.live();
  await rig.settled();
  assert.deepEqual(rig.signals, []);
  assert.equal(rig.watcher.courier.unresolved, 6);
});

test('VS-W6 keys that the platform writes are no news, one beside them is', async () => {
  await using rig = await liveRig(1);
  const [moid = ''] = rig.moids;
  const options = (more: Readonly<Record<string, string>>): void =>
    rig.server.inventory.set(
      moid,
      'config.extraConfig',
      optionsVal({ 'vmservice.namespacedName': nameOf(moid), 'guestinfo.role': 'worker', ...more }),
    );
  options({ 'hpet0.present': 'TRUE', 'guestinfo.appInfo': '{}' });
  await rig.settled();
  assert.deepEqual(rig.signals, []);
  options({ 'hpet0.present': 'FALSE', 'guestinfo.appInfo': '[]', 'guestinfo.fromTheGuest': '!' });
  await rig.settled();
  assert.deepEqual(rig.signals, [`${nameOf(moid)} changed config.extraConfig`]);
});

test('VS-W6 the lists of properties and of ignored keys are those that are given', async () => {
  await using rig = await liveRig(1, {
    watcher: { paths: ['name', 'config.extraConfig', 'config.annotation'], ignoredKeys: new Set(['guestinfo.clock']) },
  });
  const [moid = ''] = rig.moids;
  const told = async (path: string, val: string): Promise<number> => {
    rig.server.inventory.set(moid, path, val);
    await rig.settled();
    return rig.signals.splice(0).length;
  };
  const options = (more: Readonly<Record<string, string>>): string =>
    optionsVal({ 'vmservice.namespacedName': nameOf(moid), 'guestinfo.role': 'worker', ...more });
  assert.equal(await told('config.extraConfig', options({ 'guestinfo.clock': '1' })), 0);
  assert.equal(await told('config.extraConfig', options({ 'guestinfo.clock': '2', 'hpet0.present': 'TRUE' })), 1);
  assert.equal(await told('config.annotation', textVal('seen')), 1);
  assert.equal(await told(POWER, textVal('poweredOn', 'VirtualMachinePowerState')), 0);
});

test('VS-W21 where extraConfig is not watched the machine itself is asked for its name, and one that vanishes before that harms no other', async () => {
  await using rig = await liveRig(3, { watcher: { paths: ['name', POWER] } });
  const [first = '', second = '', third = ''] = rig.moids;
  rig.server.vanishing.add(second);
  for (const moid of rig.moids) rig.power(moid, true);
  await rig.settled();
  assert.deepEqual(rig.signals.toSorted(), [`${nameOf(first)} changed ${POWER}`, `${nameOf(third)} changed ${POWER}`]);
  assert.equal(rig.watcher.supervisor.state.name, 'live');
  assert.ok(!rig.server.inventory.machines.has(second), 'it vanished in the read');
});

test('TRUTH-9 where a server refuses keys in paths the name is read from the whole list, and keys are not tried again', async () => {
  await using rig = await liveRig(2, { watcher: { paths: ['name', POWER], gatherMs: 0 } });
  const [first = '', second = ''] = rig.moids;
  rig.server.faults.add('RetrievePropertiesEx', { act: 'fault', fault: 'InvalidProperty', fields: '<name>k</name>' });
  for (const moid of [first, second]) {
    rig.power(moid, true);
    await rig.settled();
  }
  assert.deepEqual(rig.signals, [`${nameOf(first)} changed ${POWER}`, `${nameOf(second)} changed ${POWER}`]);
  assert.equal(rig.server.faults.left, 0);
});

test('VS-W7 VS-W8 a snapshot, another, one less, none at all: one signal each', async () => {
  await using rig = await liveRig(1, {
    watcher: { paths: ['name', 'config.extraConfig', 'snapshot', 'rootSnapshot'] },
  });
  const [moid = ''] = rig.moids;
  const snapshot = (tree: string | undefined): void => {
    rig.server.inventory.set(
      moid,
      'snapshot',
      tree === undefined ? undefined : `<val xsi:type="VirtualMachineSnapshotInfo">${tree}</val>`,
    );
    rig.server.inventory.set(
      moid,
      'rootSnapshot',
      tree === undefined ? undefined : '<val xsi:type="ArrayOfManagedObjectReference"/>',
    );
  };
  for (const [tree, paths] of [
    ['<rootSnapshotList><name>s1</name></rootSnapshotList>', 'snapshot,rootSnapshot'],
    [
      '<rootSnapshotList><name>s1</name><childSnapshotList><name>s2</name></childSnapshotList></rootSnapshotList>',
      'snapshot',
    ],
    ['<rootSnapshotList><name>s1</name></rootSnapshotList>', 'snapshot'],
    [undefined, 'snapshot,rootSnapshot'],
  ] as const) {
    snapshot(tree);
    await rig.settled();
    assert.deepEqual(rig.signals.splice(0), [`${nameOf(moid)} changed ${paths}`]);
  }
});

test('VS-W9 VS-W27 destroyed, moved out, moved back as it was: each is told once', async () => {
  await using rig = await liveRig(2);
  const { inventory } = rig.server;
  const [gone = '', mover = ''] = rig.moids;
  for (const moid of rig.moids)
    rig.objects.push({ namespace: 'ns', name: nameOf(moid).slice(3), uniqueId: moid, deleting: false });
  inventory.destroy(gone);
  const elsewhere = inventory.container('Folder', 'group-v2');
  inventory.move(mover, elsewhere);
  await rig.settled();
  assert.deepEqual(rig.signals.splice(0).toSorted(), [
    `${nameOf(gone)} left verified`,
    `${nameOf(mover)} left verified`,
  ]);
  inventory.move(mover, rig.folder);
  await rig.settled();
  assert.deepEqual(rig.signals, [`${nameOf(mover)} changed verified`]);
  inventory.move(mover, elsewhere);
  inventory.move(mover, rig.folder);
  await rig.settled();
  assert.equal(rig.signals.length, 2, 'out and back in one answer');
});

test('VS-W11 VS-W12 a container is watched as long as anybody wants it; what was never added is removed without a call', async () => {
  await using rig = await liveRig(1);
  const { supervisor } = rig.watcher;
  const { inventory, calls } = rig.server;
  const other = inventory.container('ResourcePool', 'resgroup-2');
  const [moid = ''] = inventory.add(1, other);
  for (const id of ['0', '1', '2']) await rig.watch(other, id);
  await rig.settled();
  rig.signals.length = 0;
  let on = false;
  const told = async (): Promise<number> => {
    on = !on;
    rig.power(moid, on);
    await rig.settled();
    return rig.signals.splice(0).length;
  };
  await supervisor.remove(other, '0');
  assert.equal(await told(), 1);
  await supervisor.remove(other, '1');
  assert.equal(await told(), 1);
  await supervisor.remove(other, '1');
  assert.equal(await told(), 1);
  await supervisor.remove(other, '2');
  assert.equal(await told(), 0);
  const before = [...calls.entries()].filter(([method]) => method !== 'WaitForUpdatesEx');
  await supervisor.remove({ type: 'Folder', value: 'never' }, '7');
  assert.deepEqual(
    [...calls.entries()].filter(([method]) => method !== 'WaitForUpdatesEx'),
    before,
  );
});

test('VS-W11 a machine that is in two containers stays when one of them is dropped: it is counted, and told when it is destroyed', async () => {
  await using rig = await liveRig(2, { verified: true });
  const { supervisor, ledger } = rig.watcher;
  const { inventory } = rig.server;
  const [moid = ''] = rig.moids;
  const pool = inventory.container('ResourcePool', 'resgroup-2');
  inventory.move(moid, [rig.folder, pool]);
  await rig.watch(pool, 'zone');
  await rig.settled();
  await supervisor.remove(pool, 'zone');
  await rig.settled();
  assert.equal(ledger.size, 3);
  rig.signals.length = 0;
  inventory.destroy(moid);
  await rig.settled();
  assert.deepEqual(rig.signals, [`${nameOf(moid)} left verified`]);
});

test('a container that the server does not let go of is dropped later, although nobody asks again', async () => {
  await using rig = await liveRig(1, { speed: 200 });
  const { inventory, faults } = rig.server;
  const other = inventory.container('HostSystem', 'host-2');
  const [moid = ''] = inventory.add(1, other);
  await rig.watch(other, 'zone');
  await rig.settled();
  faults.add('ModifyListView', { act: 'fault', fault: 'SystemError' });
  await rig.watcher.supervisor.remove(other, 'zone');
  assert.equal(faults.left, 0);
  await rig.until('it is dropped', () => rig.server.objects().views === 1);
  await rig.settled();
  rig.signals.length = 0;
  rig.power(moid, true);
  await rig.settled();
  assert.deepEqual(rig.signals, []);
});

test('VS-W22 a container more, of which the server says everything again: no news', async () => {
  await using rig = await liveRig(3, { verified: true });
  const { inventory } = rig.server;
  const other = inventory.container('HostSystem', 'host-9');
  // They are below both: each of them enters anew.
  for (const moid of rig.moids) inventory.move(moid, [rig.folder, other]);
  await rig.settled();
  rig.signals.length = 0;
  await rig.watch(other, 'zone');
  await rig.settled();
  rig.watcher.supervisor.resync();
  await rig.settled();
  assert.deepEqual(
    rig.signals.filter((signal) => !signal.endsWith(' changed verified')),
    [],
  );
});

test('VS-W13 VS-W14 VS-W18 a cluster is added in mid-watch: the object that names the machine decides, and a verified one is baseline', async () => {
  await using rig = await liveRig(1);
  const { inventory } = rig.server;
  const cluster = inventory.container('ClusterComputeResource', 'domain-c2');
  const [known = '', misnamed = '', later = ''] = inventory.add(3, cluster);
  for (const moid of [known, later]) inventory.set(moid, 'config.extraConfig', undefined);
  rig.objects.push({ namespace: 'ns4', name: 'n1', uniqueId: known, deleting: false });
  rig.objects.push({ namespace: 'ns4', name: 'n2', uniqueId: misnamed, deleting: false });
  await rig.watch(cluster, 'zone');
  await rig.settled();
  assert.deepEqual(rig.signals, [], 'whoever knows a machine has looked at it');
  rig.power(known, true);
  rig.power(misnamed, true);
  await rig.settled();
  assert.deepEqual(
    new Set(rig.signals),
    new Set([`ns4/n1 changed ${POWER} verified`, `ns4/n2 changed ${POWER} verified`]),
  );
});

test('VS-W16 cancelled at once: it stops within 100 ms, without an error and without a signal', async () => {
  await quickest(100, async () => {
    await using rig = await startSyntheticRig();
    rig.server.inventory.add(5, rig.folder);
    void rig.watcher.supervisor.add(rig.folder, 'zone');
    rig.run();
    const from = performance.now();
    await rig.stop();
    const took = performance.now() - from;
    assert.deepEqual(rig.signals, []);
    assert.deepEqual(rig.warnings, []);
    return took;
  });
});

test('VS-W21 a machine that vanishes before anybody can look at it: the others are told, and the watch lives', async () => {
  await using rig = await liveRig(3);
  const [first = '', second = '', third = ''] = rig.moids;
  rig.power(first, true);
  rig.power(second, true);
  rig.server.inventory.destroy(second);
  rig.power(third, true);
  await rig.settled();
  assert.deepEqual(rig.signals.toSorted(), [`${nameOf(first)} changed ${POWER}`, `${nameOf(third)} changed ${POWER}`]);
  assert.equal(rig.watcher.supervisor.state.name, 'live');
  rig.server.vanishing.add(third);
  assert.equal(
    await rig.vcenter.updates.property(
      { type: 'VirtualMachine', value: third },
      'config.extraConfig["vmservice.namespacedName"]',
    ),
    undefined,
  );
  await rig.settled();
  assert.equal(rig.watcher.supervisor.state.name, 'live');
});

test('VS-W24 VS-W26 a network card more, decrypted, and a value that goes and comes back: one signal each', async () => {
  await using rig = await liveRig(1);
  const [moid = ''] = rig.moids;
  const { inventory } = rig.server;
  const disk = [2000, 'VirtualDisk', 'Hard disk 1'] as const;
  const card = [4000, 'VirtualVmxnet3', 'Network adapter 1'] as const;
  for (const [path, val] of [
    ['config.hardware.device', devicesVal([disk, card])],
    ['config.keyId', undefined],
    ['config.keyId', '<val xsi:type="CryptoKeyId"><keyId>key</keyId></val>'],
  ] as const) {
    inventory.set(moid, path, val);
    await rig.settled();
    assert.deepEqual(rig.signals.splice(0), [`${nameOf(moid)} changed ${path}`]);
  }
  inventory.set(moid, 'config.hardware.device', devicesVal([card, disk]));
  await rig.settled();
  assert.deepEqual(rig.signals, [], 'another order is the same list');
});

test('VS-W28 VS-W29 a machine that nobody knows is told as soon as an object names it, or it carries the name of one', async () => {
  await using rig = await liveRig(1);
  const { inventory } = rig.server;
  const [named = ''] = inventory.add(1, rig.folder);
  inventory.set(named, 'config.extraConfig', undefined);
  const [keyed = ''] = inventory.add(1, rig.folder);
  inventory.set(keyed, 'config.extraConfig', undefined);
  await rig.settled();
  assert.deepEqual(rig.signals, []);
  rig.objects.push({ namespace: 'ns', name: 'late', uniqueId: named, deleting: false });
  rig.watcher.courier.claimed({ uniqueId: named, namespacedName: 'ns/late' });
  await rig.until('the object is told', () => rig.signals.length === 1);
  inventory.set(keyed, 'config.extraConfig', optionsVal({ 'vmservice.namespacedName': 'ns/keyed' }));
  await rig.settled();
  assert.deepEqual(rig.signals, ['ns/late changed verified', 'ns/keyed changed']);
});

test('VS-W64 two objects name one machine: only the key that it carries decides', async () => {
  await using rig = await liveRig(1);
  const [moid = ''] = rig.moids;
  for (const name of ['one', 'two']) rig.objects.push({ namespace: 'ns', name, uniqueId: moid, deleting: false });
  rig.power(moid, true);
  await rig.settled();
  assert.deepEqual(rig.signals, [`${nameOf(moid)} changed ${POWER}`]);
});

test('VS-W47 a machine that comes and changes in one answer is told once', async () => {
  await using rig = await liveRig(1);
  const [moid = ''] = rig.server.inventory.add(1, rig.folder);
  rig.objects.push({ namespace: 'ns', name: 'one', uniqueId: moid, deleting: false });
  rig.power(moid, true);
  rig.server.inventory.set(moid, 'name', textVal('another'));
  await rig.settled();
  assert.deepEqual(rig.signals, ['ns/one changed verified']);
});
