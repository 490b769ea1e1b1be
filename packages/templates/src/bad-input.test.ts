import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { virtualClock } from '@drydock/model';
import { ovfText, simulatedFault } from '@drydock/vsphere/testing';
import { openOva } from './image/ova.ts';
import { templateStore } from './store-vsphere.ts';
import { header, member, writeTestOva } from './testing/ova.ts';
import { fails, mutations, testRig } from './testing/rig.ts';
import { testWish } from './testing/wishes.ts';

const FOLDER = '/DC0/vm/ocp';
const NAME = 'stable';
const END = Buffer.alloc(1024);
const disk = Buffer.from('KDMV is how a disk begins');
const descriptor = (size = disk.length) => Buffer.from(ovfText({ size, version: '9.6' }));

async function file(bytes: Buffer): Promise<{ readonly path: string } & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), 'bad-'));
  const path = join(dir, 'x.ova');
  await writeFile(path, bytes);
  return { path, [Symbol.asyncDispose]: () => rm(dir, { recursive: true }) };
}

const tar = (...members: Buffer[]): Buffer => Buffer.concat([...members, END]);

for (const [what, bytes, text] of [
  ['a whole archive in gzip', gzipSync(tar(member('a.ovf', descriptor()))), /it is compressed with gzip/],
  [
    'gzip inside the tar',
    tar(member('a.ovf', descriptor()), member('disk.vmdk', gzipSync(disk))),
    /disk\.vmdk is compressed with gzip/,
  ],
  [
    'a parent folder in a member name',
    tar(member('a.ovf', descriptor()), member('../../etc/passwd', disk)),
    /\.\.\/\.\.\/etc\/passwd is named outside/,
  ],
  ['an absolute member name', tar(member('/etc/a.ovf', descriptor())), /\/etc\/a\.ovf is named outside/],
  ['a descriptor of 50 MB', tar(header('a.ovf', 50 << 20), Buffer.alloc(50 << 20, ' ')), /a\.ovf has 52428800 bytes/],
  [
    'a manifest of 50 MB',
    tar(member('a.ovf', descriptor()), header('a.mf', 50 << 20), Buffer.alloc(50 << 20, ' ')),
    /a\.mf has 52428800 bytes/,
  ],
] as const) {
  test(`bad input: ${what} is refused in words`, async () => {
    await using made = await file(bytes);
    await fails(openOva(made.path), 'OVA_INVALID', text);
  });
}

test('a member that is named with ./ is the one that the descriptor means', async () => {
  await using made = await file(tar(member('./a.ovf', descriptor()), member('./disk.vmdk', disk)));
  await using ova = await openOva(made.path);
  assert.equal(ova.source('disk.vmdk')?.size, disk.length);
});

test('bad input: an OVA that ends anywhere is refused, never taken for a smaller one', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'bad-'));
  try {
    const path = join(dir, 'whole.ova');
    const { size } = await writeTestOva(path, { version: '9.6', diskBytes: 20_000 });
    const whole = await readFile(path);
    for (const length of [0, 1, 511, 512, 600, size - 21_000, size - 2000]) {
      const cut = join(dir, `${length}.ova`);
      await writeFile(cut, whole.subarray(0, length));
      await fails(openOva(cut), 'OVA_INVALID', 'the file is no OVA: ');
    }
  } finally {
    await rm(dir, { recursive: true });
  }
});

/** A rig with a template in place; whatever goes wrong must leave it as it is. */
function rig(...[options, ova]: [Parameters<typeof testRig>[1]?, Parameters<typeof testRig>[2]?]) {
  const made = testRig(virtualClock({ auto: true }), options, ova);
  made.inventory.add(made.inventory.at(FOLDER), { name: NAME, template: true, productVersion: '9.4' });
  return { ...made, before: made.in(FOLDER) };
}

test('an OVA with two disks is imported whole, both disks checked', async () => {
  const made = rig({}, { disks: [disk, Buffer.from('KDMV another one')] });
  await made.swap(NAME);
  const current = made.in(FOLDER).find(({ name }) => name === NAME);
  assert.deepEqual([current?.disks.length, current?.complete], [2, true]);
  assert.equal(made.inventory.counters.uploads, 2);
});

test('bad input: a disk whose bytes are not what the manifest says: nothing is left, the old template is untouched', async () => {
  const made = rig({}, { sum: 'f'.repeat(64) });
  await fails(made.swap(NAME), 'DIGEST_MISMATCH', /disk\.vmdk: the manifest of the OVA says sha256 f{64}/);
  assert.deepEqual(made.in(FOLDER), made.before);
});

test('bad input: a descriptor that gives its disk another size, or names a file that is not there', async () => {
  const clock = virtualClock({ auto: true });
  for (const [text, said] of [
    [
      ovfText({ size: disk.length + 1 }),
      `disk.vmdk has ${disk.length} bytes, but the descriptor says ${disk.length + 1}`,
    ],
    [ovfText({ size: 1, disk: 'other.vmdk' }), 'the file is no OVA: it lacks other.vmdk'],
  ] as const) {
    await using made = await file(tar(member('a.ovf', Buffer.from(text)), member('disk.vmdk', disk)));
    const opened = testRig(clock, {}, {});
    await using store = templateStore({
      vcenters: async () => opened.inventory.client(),
      cacheDir: '/nonexistent',
      clock,
      ovas: { open: () => openOva(made.path) },
    });
    await fails(store.publish(testWish(), { holderIsLive: () => true }), 'OVA_INVALID', said);
    assert.equal(mutations(opened), 0);
  }
});

for (const [what, code, options, hook] of [
  ['a full datastore', 'NO_SPACE', {}, ['lease.upload', 'NoDiskSpace']],
  ['a host that disconnects during the upload', 'IMPORT_FAILED', {}, ['lease.upload.half', 'HostNotConnected']],
  ['a missing folder', 'FOLDER_NOT_FOUND', { folders: ['/DC0/vm/else'] }, undefined],
  [
    'disconnected hosts',
    'HOSTS_UNAVAILABLE',
    { clusters: [{ path: '/DC0/host/C0', hosts: [{ name: 'h1', connectionState: 'disconnected' }] }] },
    undefined,
  ],
] as const) {
  test(`bad input: ${what}: ${code}, the old template untouched`, async () => {
    const missing = 'folders' in options;
    const made = missing ? { ...testRig(virtualClock({ auto: true }), options), before: [] } : rig(options);
    if (hook !== undefined) {
      made.inventory.onCall = (method, phase) => {
        if (method === hook[0] && phase === 'before') throw simulatedFault(hook[1], 'POST nfc', 'host-a');
      };
    }
    await fails(made.swap(NAME), code, /./);
    assert.deepEqual(made.in(FOLDER), made.before);
  });
}

test('VS-T7 a host that fails is followed by the next, and where all fail the last failure is told', async () => {
  const made = rig();
  const hosts: string[] = [];
  made.inventory.onCall = (method, phase, [request]) => {
    if (method !== 'startImport' || phase !== 'before') return;
    hosts.push((request as { host: { value: string } }).host.value);
    throw simulatedFault('HostNotReachable', 'ImportVApp', `host ${hosts.length}`);
  };
  await fails(made.swap(NAME), 'IMPORT_FAILED', /host 2.*HostNotReachable/);
  assert.equal(new Set(hosts).size, 2);
  assert.deepEqual(made.in(FOLDER), made.before);
});

test('space: thick disks need their capacity and the reserve stays free, both known before the first byte', async () => {
  const GiB = 2 ** 30;
  const free = (freeSpace: number) => ({ datastores: [{ path: '/DC0/datastore/DS0', freeSpace }] });
  await fails(
    rig(free(GiB)).swap(NAME),
    'NO_SPACE',
    /has 1073741824 bytes free, but the import needs 105 and 1073741824 must stay free/,
  );
  await fails(rig(free(17 * GiB - 1)).swap(NAME, { diskProvisioning: 'thick' }), 'NO_SPACE', /needs 17179869184/);
  assert.equal((await rig(free(17 * GiB)).swap(NAME, { diskProvisioning: 'thick' })).uploads, 1);
  assert.equal((await rig(free(115)).swap(NAME, { reserveBytes: 10 })).uploads, 1);
});
