import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualClock } from '@drydock/model';
import { type MemoryOptions, simulatedFault } from '@drydock/vsphere/testing';
import { BIRTH_KEY } from './mark/birth-mark.ts';
import { fails, mutations, type TestRig, testRig } from './testing/rig.ts';
import { type MemoryOvaSpec, testPlacement, testWish } from './testing/wishes.ts';

const FOLDER = '/DC0/vm/ocp';
const COMPUTED = 'c1-abcde-rhcos-fd1';

const rig = (options: MemoryOptions = {}, ova: MemoryOvaSpec = {}): TestRig =>
  testRig(virtualClock({ auto: true }), options, ova);

test('BI-V132 BI-V134 pointer mode: looking at a template, present or absent, changes nothing', async () => {
  const made = rig();
  made.inventory.add(made.inventory.at(FOLDER), { name: COMPUTED, template: true, productVersion: '9.6' });
  const present = { kind: 'present', name: COMPUTED, version: '9.6', isTemplate: true, ours: false };
  assert.deepEqual(await made.store.inspect(testPlacement(), COMPUTED), present);
  assert.deepEqual(await made.store.inspect(testPlacement(), `${FOLDER}/${COMPUTED}`), present);
  assert.deepEqual(await made.store.inspect(testPlacement(), 'other'), { kind: 'absent' });
  assert.deepEqual(await made.store.inspect(testPlacement(), `/DC0/vm/elsewhere/${COMPUTED}`), { kind: 'absent' });
  assert.equal(mutations(made), 0);
});

test('BI-W12 a reference by instance UUID is found, but only in the folder', async () => {
  const made = rig({ folders: [FOLDER, '/DC0/vm/other'] });
  const [here, there] = ['42000000-0000-4000-8000-000000000001', '42000000-0000-4000-8000-000000000002'];
  made.inventory.add(made.inventory.at(FOLDER), { name: 'a', template: true, instanceUuid: here });
  made.inventory.add(made.inventory.at('/DC0/vm/other'), { name: 'b', template: true, instanceUuid: there });
  assert.equal((await made.store.inspect(testPlacement(), here)).kind, 'present');
  assert.equal((await made.store.inspect(testPlacement(), there)).kind, 'absent');
});

test('BI-V133 BI-V136 pointer mode: a new template under a unique name, the outdated and the custom one stay untouched; a second publish does nothing', async () => {
  const made = rig();
  for (const name of [COMPUTED, 'other'])
    made.inventory.add(made.inventory.at(FOLDER), { name, template: true, productVersion: '9.4' });
  const before = made.inventory.snapshot().machines;
  const published = await made.publish();
  assert.match(published.name, /^c1-abcde-rhcos-fd1-9\.6-[0-9a-f]{8}$/);
  assert.deepEqual([published.adopted, published.uploads], [false, 1]);
  assert.deepEqual(made.inventory.snapshot().machines.slice(0, 2), before);
  const done = mutations(made);
  assert.deepEqual(await made.publish(), { name: published.name, release: '9.6', adopted: true, uploads: 0 });
  assert.equal(mutations(made), done);
});

test('BI-V138 nothing there: disk provisioning as wished; unset, that of the replaced template; an unknown one is refused', async () => {
  for (const [wish, old, expected] of [
    [{ diskProvisioning: 'thick' }, undefined, 'thick'],
    [{ diskProvisioning: '' }, undefined, ''],
    [{}, undefined, ''],
    [{ replaces: COMPUTED }, { file: 'x', thin: true }, 'thin'],
    [{ replaces: `${FOLDER}/${COMPUTED}` }, { file: 'x', thin: false, eagerlyScrub: true }, 'eagerZeroedThick'],
    [{ replaces: COMPUTED }, { file: 'x', thin: false }, 'thick'],
  ] as const) {
    const made = rig();
    if (old !== undefined)
      made.inventory.add(made.inventory.at(FOLDER), { name: COMPUTED, template: true, disks: [old] });
    const asked: unknown[] = [];
    made.inventory.onCall = (method, phase, args) => {
      if (method === 'startImport' && phase === 'before')
        asked.push((args[0] as { diskProvisioning: string }).diskProvisioning);
    };
    await made.publish(wish);
    assert.deepEqual(asked, [expected]);
  }
  await fails(
    rig().publish({ diskProvisioning: 'sparse' }),
    'OVA_UNSUPPORTED',
    'disk provisioning type "sparse" is not supported',
  );
});

test('BI-V139 VS-W102 a template has the version of its product, or none: who asks for one says so', async () => {
  const made = rig();
  for (const [name, productVersion] of [
    ['nil', undefined],
    ['empty', ''],
    ['good', '9.6'],
  ] as const) {
    made.inventory.add(made.inventory.at(FOLDER), {
      name,
      template: true,
      ...(productVersion === undefined ? {} : { productVersion }),
    });
  }
  const version = async (name: string): Promise<string | undefined> => {
    const state = await made.store.inspect(testPlacement(), name);
    return state.kind === 'present' ? state.version : assert.fail(`${name} is not there`);
  };
  assert.deepEqual(await Promise.all(['nil', 'empty', 'good'].map(version)), [undefined, '', '9.6']);
});

test("BI-V141 unknown folder, cluster, pool, network, datastore: upstream's words, nothing uploaded, the old template intact", async () => {
  for (const [change, code, text] of [
    [{ folder: '/DC0/vm/no' }, 'FOLDER_NOT_FOUND', 'failed to find folder'],
    [{ computeCluster: '/DC0/host/no' }, 'CLUSTER_NOT_FOUND', 'failed to find compute cluster'],
    [{ resourcePool: '/DC0/host/C0/Resources/no' }, 'POOL_NOT_FOUND', 'failed to find resource pool'],
    [{ networks: ['no'] }, 'NETWORK_NOT_FOUND', 'failed to find network'],
    [{ networks: [] }, 'NETWORK_NOT_FOUND', 'failed to find network'],
    [{ datastore: 'no' }, 'DATASTORE_NOT_FOUND', 'failed to find datastore'],
  ] as const) {
    const made = rig();
    made.inventory.add(made.inventory.at(FOLDER), { name: COMPUTED, template: true });
    await fails(made.publish({ placement: testPlacement(change) }), code, text);
    assert.equal(mutations(made), 0);
  }
});

test('BI-V141 names without a path and an absolute network path are found as well', async () => {
  const placement = testPlacement({
    folder: 'ocp',
    datastore: 'DS0',
    resourcePool: '',
    computeCluster: 'C0',
    networks: ['/DC0/network/VM Network'],
  });
  assert.equal((await rig().publish({ placement })).uploads, 1);
});

test('BI-V142 no usable host: every host says why; no host at all says so', async () => {
  const cluster = (hosts: NonNullable<MemoryOptions['clusters']>[number]['hosts']) => ({
    clusters: [{ path: '/DC0/host/C0', hosts }],
  });
  const all = 'failed to find available host system: all hosts unavailable';
  await fails(rig(cluster([{ name: 'h1', inMaintenanceMode: true }])).publish(), 'HOSTS_UNAVAILABLE', all);
  await fails(
    rig(cluster([{ name: 'h1', datastores: [] }])).publish(),
    'HOSTS_UNAVAILABLE',
    `${all} (h1 does not mount the datastore)`,
  );
  await fails(rig(cluster([{ name: 'h1', connectionState: 'disconnected' }])).publish(), 'HOSTS_UNAVAILABLE', all);
  await fails(rig(cluster([])).publish(), 'HOSTS_UNAVAILABLE', 'the vCenter cluster /DC0/host/C0 has no ESXi nodes');
});

test('VS-T7 a host that fails the import is followed by the next one', async () => {
  const made = rig();
  let refused = 0;
  made.inventory.onCall = (method, phase) => {
    if (method !== 'startImport' || phase !== 'before' || refused > 0) return;
    refused += 1;
    throw simulatedFault('HostNotConnected', 'ImportVApp', 'h1');
  };
  assert.equal((await made.publish()).uploads, 1);
  assert.equal(made.inventory.counters.byMethod.get('startImport'), 2);
});

test('BI-V143 a missing tag is found before anything is uploaded; an unknown tag id costs no second upload', async () => {
  const made = rig();
  made.inventory.add(made.inventory.at(FOLDER), { name: COMPUTED, template: true });
  await fails(made.publish({ tagName: 'absent' }), 'TAG_NOT_FOUND', 'failed to attach tag: unable to attach tag: ');
  assert.equal(mutations(made), 0);
  for (let round = 0; round < 2; round += 1) {
    await fails(made.publish({ tagIds: ['urn:no'] }), 'TAG_NOT_FOUND', 'failed to attach tag: unable to attach tag: ');
  }
  assert.equal(made.inventory.counters.uploads, 1);
  assert.equal((await made.publish()).adopted, true);
  assert.ok(made.inventory.snapshot().machines.some(({ name }) => name === COMPUTED));
});

test('BI-V144 VS-W101 secure boot is turned off before the template is marked; off it is left alone; two networks are refused', async () => {
  const made = rig();
  const order: string[] = [];
  made.inventory.onCall = (method, phase, args) => {
    if (phase === 'before' && (method === 'reconfigure' || method === 'markAsTemplate'))
      order.push(`${method} ${(args[1] as { secureBoot?: boolean } | undefined)?.secureBoot ?? ''}`);
  };
  await made.publish();
  assert.deepEqual(order, ['reconfigure false', 'markAsTemplate ']);
  assert.equal(made.inventory.snapshot().machines[0]?.secureBoot, false);

  const off = rig({}, { secureBoot: false });
  off.inventory.onCall = (method, phase, args) => {
    if (phase === 'before' && method === 'reconfigure') assert.ok(!('secureBoot' in (args[1] as object)));
  };
  await off.publish();
  const two = rig({}, { networks: ['a', 'b'] });
  await fails(two.publish(), 'OVA_UNSUPPORTED', 'expected the OVA to only have a single network adapter');
  assert.equal(mutations(two), 0);
});

test('BI-V147 only the vCenter of the placement is asked for', async () => {
  const made = rig();
  await made.publish({ placement: testPlacement({ server: 'second.test' }) });
  assert.deepEqual(made.logins, ['second.test']);
});

test('BI-V153 pointer mode: an older release becomes a template of its own, the newer one stays as the way back', async () => {
  const made = rig();
  const newer = await made.publish({ image: { release: '9.8', location: 'https://m.test/x', sha256: 'e'.repeat(64) } });
  const older = await made.publish();
  const names = made.inventory.snapshot().machines.map(({ name }) => name);
  assert.deepEqual(names.toSorted(), [newer.name, older.name].toSorted());
});

test('BI-V157 two machine sets with the same wish at once: one upload, tags of both', async () => {
  const made = rig({
    tags: [
      { name: 'infra', category: 'openshift-infra', id: 'urn:1' },
      { name: 'x', category: 'y', id: 'urn:2' },
    ],
  });
  const [first, second] = await Promise.all([made.publish(), made.publish({ tagIds: ['urn:2'] })]);
  assert.equal(first.name, second.name);
  assert.equal(made.inventory.counters.uploads, 1);
  assert.deepEqual(made.inventory.snapshot().machines[0]?.tags, ['urn:1', 'urn:2']);
});

for (const abortLeavesVm of [false, true]) {
  test(`VS-W96 an upload that fails half-way: one abort, no machine left${abortLeavesVm ? ' even where the server leaves it' : ''}`, async () => {
    const made = rig({ abortLeavesVm });
    made.inventory.onCall = (method) => {
      if (method === 'lease.upload.half') throw simulatedFault('HostCommunication', 'POST nfc', 'disk.vmdk');
    };
    await fails(made.publish(), 'IMPORT_FAILED', /HostCommunication/);
    assert.deepEqual(made.inventory.snapshot().machines, []);
    assert.equal(made.inventory.counters.byMethod.get('lease.abort'), 1);
  });
}

test('a full datastore: retriable, nothing left; too little space is seen before the upload', async () => {
  const made = rig();
  made.inventory.onCall = (method, phase) => {
    if (method === 'lease.upload' && phase === 'before') throw simulatedFault('NoDiskSpace', 'POST nfc', 'disk.vmdk');
  };
  await fails(made.publish(), 'NO_SPACE', /NoDiskSpace/);
  assert.deepEqual(made.inventory.snapshot().machines, []);
  const small = rig({ datastores: [{ path: '/DC0/datastore/DS0', freeSpace: 10 }] });
  await fails(small.publish(), 'NO_SPACE', 'datastore DS0 has 10 bytes free');
  assert.equal(mutations(small), 0);
});

test('VS-W98 a disk that is not what the manifest names: both sums are in the error, nothing is left', async () => {
  const made = rig({}, { sum: '0'.repeat(64) });
  await fails(
    made.publish(),
    'DIGEST_MISMATCH',
    /disk\.vmdk: the manifest of the OVA says sha256 0{64}, but [0-9a-f]{64} was sent/,
  );
  assert.deepEqual(made.inventory.snapshot().machines, []);
});

test('VS-W98 vCenter acknowledges half of the disk: refused although it would complete the lease', async () => {
  const made = rig();
  made.inventory.onCall = (method, phase) => {
    if (method !== 'lease.upload' || phase !== 'after') return;
    for (const file of [...made.inventory.state.leases.values()].flatMap(({ files }) => files)) {
      // A new object: the client holds the old one.
      if (file.received !== undefined) file.received = { ...file.received, sha1: '0'.repeat(40) };
    }
  };
  await fails(made.publish(), 'DIGEST_MISMATCH', /disk\.vmdk: SHA-1 [0-9a-f]{40} was sent, the server received 0{40}/);
  assert.deepEqual(made.inventory.snapshot().machines, []);
});

test('OWN-10 a vCenter whose manifest says nothing of an upload gets its template', async () => {
  const made = rig({ manifest: 'none' });
  const { name } = await made.publish();
  const machines = made.inventory.snapshot().machines;
  assert.deepEqual(
    machines.map((machine) => [machine.name, machine.isTemplate]),
    [[name, true]],
  );
});

test('VS-W92 a second publication of the same wish, after its template was removed, works', async () => {
  const made = rig();
  const first = await made.publish();
  made.inventory.remove(made.inventory.at(`${FOLDER}/${first.name}`));
  assert.deepEqual(await made.publish(), { ...first, uploads: 1, adopted: false });
});

test('a foreign machine that bears the name is left alone: the next name is used', async () => {
  const made = rig();
  const first = await made.publish();
  made.inventory.remove(made.inventory.at(`${FOLDER}/${first.name}`));
  made.inventory.add(made.inventory.at(FOLDER), { name: first.name, powerState: 'poweredOn' });
  const second = await made.publish();
  assert.notEqual(second.name, first.name);
  assert.equal(made.inventory.snapshot().machines.length, 2);
});

test('the operation is announced before the import, with the identity that the machine then has', async () => {
  const made = rig();
  let seen: unknown;
  await made.store.publish(testWish(), {
    holderIsLive: () => true,
    announce: async (operation) => {
      assert.equal(mutations(made), 0);
      seen = operation;
    },
  });
  const [machine] = made.inventory.snapshot().machines;
  assert.deepEqual(seen, {
    id: (JSON.parse(machine?.extraConfig[BIRTH_KEY] ?? '') as { operation: string }).operation,
    name: machine?.name,
    holder: 'holder-1',
    instanceUuid: machine?.instanceUuid,
  });
});
