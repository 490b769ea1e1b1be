import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { virtualClock } from '@drydock/model';
import type { OvfDescriptor } from '@drydock/vsphere';
import { memoryInventory, simulatedFault } from '@drydock/vsphere/testing';
import { templateStore } from '../store-vsphere.ts';
import { writeTestOva } from '../testing/ova.ts';
import { fails, mutations, type TestRig, testRig } from '../testing/rig.ts';
import { memoryOva, testWish } from '../testing/wishes.ts';
import { importBytes } from './disk-space.ts';

const GiB = 2 ** 30;
const DATASTORE = '/DC0/datastore/DS0';
const datastores = (freeSpace: number) => ({ datastores: [{ path: DATASTORE, freeSpace }] });
/** Bytes of the test image's disk, and its capacity. */
const [FILE, CAPACITY] = [35, 16 * GiB];

for (const [what, disk, provisioning, bytes] of [
  ['takes its populated size', { capacity: 1000, populatedSize: 400 }, 'thin', 400],
  ['takes three times its file where the descriptor does not say', { capacity: 1000 }, 'thin', 300],
  ['takes at most its capacity', { capacity: 120 }, 'thin', 120],
  [
    'takes at most its capacity, whatever the descriptor says',
    { capacity: 1000, populatedSize: 2 ** 50 },
    'thin',
    1000,
  ],
  ['takes at least its file', { capacity: 90 }, 'thin', 100],
  ['is not smaller than its file, whatever the descriptor says', { capacity: 1000, populatedSize: 0 }, 'thin', 300],
  ['is thin where nothing is said', { capacity: 1000, populatedSize: 400 }, '', 400],
  ['takes its capacity where it is thick', { capacity: 1000, populatedSize: 400 }, 'thick', 1000],
  ['takes its capacity where it is zeroed at once', { capacity: 1000, populatedSize: 400 }, 'eagerZeroedThick', 1000],
  ['takes three times its file where it is thick and has no capacity', {}, 'thick', 300],
] as const) {
  test(`KEEP-7 a disk ${what}`, () => {
    const file = { id: 'f', href: 'disk.vmdk' };
    const descriptor = { networks: [], files: [file], disks: [{ id: 'd', file, ...disk }] };
    assert.equal(
      importBytes(descriptor, provisioning, () => 100),
      bytes,
    );
  });
}

test('KEEP-7 empty disks and files that are no disks count, each as what it is', () => {
  const [file, nvram] = [
    { id: 'f', href: 'disk.vmdk' },
    { id: 'n', href: 'efi.nvram' },
  ];
  const disks = [
    { id: 'd', file, capacity: 1000 },
    { id: 'e', capacity: 500 },
  ];
  const descriptor: OvfDescriptor = { networks: [], files: [file, nvram], disks };
  const sizeOf = (href: string): number => (href === 'disk.vmdk' ? 100 : 7);
  assert.equal(importBytes(descriptor, 'thin', sizeOf), 307);
  assert.equal(importBytes(descriptor, 'thick', sizeOf), 1507);
});

for (const [what, ova, needed] of [
  ['the descriptor says how much the disk holds', { populatedSize: 2 * GiB }, 2 * GiB],
  ['the descriptor does not say how much the disk holds', {}, 3 * FILE],
] as const) {
  test(`KEEP-7 where ${what}, the import begins with that much free beside the reserve, and not with less`, async () => {
    const rig = (free: number) => testRig(virtualClock({ auto: true }), datastores(free), ova);
    const small = rig(needed + GiB - 1);
    await fails(small.publish(), 'NO_SPACE', `datastore DS0 has ${needed + GiB - 1} bytes free`);
    assert.equal(mutations(small), 0);
    assert.equal((await rig(needed + GiB).publish()).uploads, 1);
  });
}

/** The upload ends with a full datastore. */
function runOut(made: TestRig): void {
  made.inventory.onCall = (method, phase) => {
    if (method === 'lease.upload.half' && phase === 'before') throw simulatedFault('NoDiskSpace', 'POST nfc', 'x');
  };
}

function setFree(made: TestRig, freeSpace: number): void {
  for (const datastore of made.inventory.state.datastores.values()) datastore.freeSpace = freeSpace;
}

const imports = ({ inventory }: TestRig): number => inventory.counters.byMethod.get('startImport') ?? 0;

test('KEEP-7 an import that ran out of space begins again once what it had is free beside the reserve', async () => {
  const made = testRig(virtualClock({ auto: true }), datastores(5 * GiB));
  runOut(made);
  await fails(made.publish(), 'NO_SPACE', /NoDiskSpace/);
  made.inventory.onCall = undefined;
  setFree(made, 6 * GiB - 1);
  await fails(made.publish(), 'NO_SPACE', /an import of this image used up 5368709120 .* 1073741824 must stay free/);
  await fails(made.store.plan({ kind: 'publish', wish: testWish() }, { holderIsLive: () => true }), 'NO_SPACE', /used/);
  assert.equal(imports(made), 1);
  setFree(made, 6 * GiB);
  assert.equal((await made.publish()).uploads, 1);
});

test('KEEP-7 what one image ran out of holds up no other image, and no other datastore', async () => {
  const other = { path: '/DC0/datastore/DS1', freeSpace: 5 * GiB };
  const made = testRig(virtualClock({ auto: true }), { datastores: [{ path: DATASTORE, freeSpace: 5 * GiB }, other] });
  runOut(made);
  await fails(made.publish(), 'NO_SPACE', /NoDiskSpace/);
  made.inventory.onCall = undefined;
  const wish = testWish();
  assert.equal((await made.publish({ placement: { ...wish.placement, datastore: other.path } })).uploads, 1);
  assert.equal((await made.publish({ image: { ...wish.image, release: '9.8', sha256: 'e'.repeat(64) } })).uploads, 1);
});

test('KEEP-7 an import that ran out of space never asks for more than its disks can hold', async () => {
  const made = testRig(virtualClock({ auto: true }), datastores(CAPACITY + GiB));
  runOut(made);
  await fails(made.publish(), 'NO_SPACE', /NoDiskSpace/);
  made.inventory.onCall = undefined;
  assert.equal((await made.publish()).uploads, 1);
});

test('KEEP-7 an import that failed otherwise begins again with the same space', async () => {
  const made = testRig(virtualClock({ auto: true }), datastores(2 * GiB));
  made.inventory.onCall = (method, phase) => {
    if (method === 'lease.upload.half' && phase === 'before') throw simulatedFault('SystemError', 'POST nfc', 'x');
  };
  await fails(made.publish(), 'IMPORT_FAILED', /SystemError/);
  made.inventory.onCall = undefined;
  assert.equal((await made.publish()).uploads, 1);
});

test('KEEP-7 a plan needs three times the image where only its size is known', async () => {
  const plan = (freeSpace: number) => {
    const client = memoryInventory(datastores(freeSpace)).client();
    const ovas = { ...memoryOva(), size: async () => ({ here: false, bytes: GiB }) };
    const store = templateStore({ vcenters: async () => client, cacheDir: '/nonexistent', ovas });
    return store.plan({ kind: 'publish', wish: testWish() }, { holderIsLive: () => true });
  };
  await fails(plan(4 * GiB - 1), 'NO_SPACE', /the import needs 3221225472 and 1073741824 must stay free/);
  const { amounts } = await plan(4 * GiB);
  assert.deepEqual([amounts?.bytes, amounts?.needed], [GiB, 3 * GiB]);
});

test('KEEP-7 a plan goes by the descriptor where the image is here, and by the disks that are asked for', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'disk-space-'));
  try {
    const path = join(dir, 'a.ova');
    const { sha256 } = await writeTestOva(path, { version: '9.6', diskBytes: 2000, populatedSize: 9_000 });
    const client = memoryInventory(datastores(20_000 + GiB)).client();
    await using store = templateStore({ vcenters: async () => client, cacheDir: dir, clock: virtualClock() });
    const image = { release: '9.6', location: pathToFileURL(path).href, sha256 };
    const plan = (diskProvisioning: string) =>
      store.plan({ kind: 'publish', wish: testWish({ image, diskProvisioning }) }, { holderIsLive: () => true });
    assert.equal((await plan('thin')).amounts?.needed, 9_000);
    await fails(plan('thick'), 'NO_SPACE', new RegExp(`the import needs ${CAPACITY} and`));
  } finally {
    await rm(dir, { recursive: true });
  }
});
