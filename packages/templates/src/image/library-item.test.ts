import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { explore, virtualClock } from '@drydock/model';
import { type MemoryInventory, memoryInventory, ovfText, simulatedLoss } from '@drydock/vsphere/testing';
import { portsOn } from '../act/ports.ts';
import { memoryLedger } from '../testing/memory-ledger.ts';
import { writeTestOva } from '../testing/ova.ts';
import { fails } from '../testing/rig.ts';
import { testWish } from '../testing/wishes.ts';
import { testWitnesses } from '../testing/witnesses.ts';
import { publishTemplate } from '../verbs/publication.ts';
import { ovaCache } from './cache.ts';
import { libraryLocation } from './library-item.ts';

const DISK = Buffer.from('KDMV and some bytes that are a disk'.repeat(40));
const DESCRIPTOR = Buffer.from(
  ovfText({ version: '9.6', product: 'rhcos', disks: [{ file: 'disk.vmdk', size: DISK.length }] }),
);
const sumOf = (bytes: Uint8Array, algorithm = 'sha256'): string => createHash(algorithm).update(bytes).digest('hex');
const MANIFEST = Buffer.from(`SHA256(rhcos.ovf)= ${sumOf(DESCRIPTOR)}\nSHA256(disk.vmdk)= ${sumOf(DISK)}\n`);
/** As the library lists them: in no order. */
const FILES = { 'rhcos.mf': MANIFEST, 'disk.vmdk': DISK, 'rhcos.ovf': DESCRIPTOR };
/** What tar and sha256sum say of these, see the first test. */
const DIGEST = 'b9db07e5588a757c54a26f35e6b87fb29ad1173f9866501f1e0a2b3c9337dcfc';
const ITEM = 'Images of today/rhcos 9.6';

type Files = Parameters<MemoryInventory['addLibraryItem']>[2];

function listed(change: Readonly<Record<string, object>> = {}): Files {
  return new Map(Object.entries(FILES).map(([name, bytes]) => [name, { bytes, ...change[name] }]));
}

function add(inventory: MemoryInventory, files: Files = listed(), item = ITEM): string {
  const [library = '', name = ''] = item.split('/');
  return inventory.addLibraryItem(library, name, files);
}

/** What outlives the processes of one inventory. */
const ledgers = new WeakMap<MemoryInventory, ReturnType<typeof memoryLedger>>();

/** One process with an empty cache. What it leaves there is told. */
async function publishAs(
  inventory: MemoryInventory,
  { holder = 'holder', sha256 = DIGEST, item = ITEM, bytes = 1 << 20, clock = virtualClock({ auto: true }) } = {},
): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'library-'));
  try {
    await using ovas = ovaCache({ dir, bytes, clock });
    await using vcenter = inventory.client();
    if (!ledgers.has(inventory)) ledgers.set(inventory, memoryLedger());
    const witnesses = await testWitnesses(vcenter, clock, ledgers.get(inventory));
    const { imported } = witnesses;
    const ports = portsOn({ vcenter, ovas, clock, running: new Set<string>(), imported, witnesses });
    const image = { release: '9.6', location: libraryLocation(item), sha256 };
    try {
      await publishTemplate(ports, testWish({ holder, image }), { holderIsLive: (other) => other === holder });
    } catch (error) {
      assert.deepEqual(await readdir(dir), [], 'nothing that was not whole stays in the cache');
      throw error;
    }
  } finally {
    await rm(dir, { recursive: true });
  }
}

const templates = (inventory: MemoryInventory): readonly string[] =>
  inventory
    .snapshot()
    .machines.map(({ name, isTemplate, productVersion }) => `${name.slice(0, 22)} ${isTemplate} ${productVersion}`);

test('OWN-18 the digest of an item is that of the tar of its files, as anybody can make it, and the image that has it is published', async (context) => {
  const inventory = memoryInventory();
  add(inventory);
  await publishAs(inventory);
  assert.deepEqual(templates(inventory), ['c1-abcde-rhcos-fd1-9.6 true 9.6']);
  assert.equal(inventory.state.libraryDownloads.size, 0);

  const run = promisify(execFile);
  const { stdout: version } = await run('tar', ['--version']).catch(() => ({ stdout: '' }));
  if (!version.includes('GNU tar')) return context.diagnostic('no GNU tar here to hold it against');
  const dir = await mkdtemp(join(tmpdir(), 'library-'));
  try {
    for (const [name, bytes] of Object.entries(FILES)) await writeFile(join(dir, name), bytes);
    const same = '--format=ustar --owner=0 --group=0 --numeric-owner --mode=0644 --mtime=@0'.split(' ');
    const how = { cwd: dir, encoding: 'buffer' } as const;
    const { stdout } = await run('tar', [...same, '-cf', '-', 'rhcos.ovf', 'disk.vmdk', 'rhcos.mf'], how);
    assert.equal(sumOf(stdout), DIGEST);
  } finally {
    await rm(dir, { recursive: true });
  }
});

test('OWN-18 an item that is an OVA has the digest of its file', async () => {
  const inventory = memoryInventory();
  const dir = await mkdtemp(join(tmpdir(), 'library-'));
  const { path, sha256 } = await writeTestOva(join(dir, 'a.ova'), { version: '9.6', diskBytes: 2000 });
  const id = add(inventory, new Map([['rhcos.ova', { bytes: await readFile(path) }]]));
  await rm(dir, { recursive: true });
  const [library = ''] = inventory.state.libraries.keys();
  await publishAs(inventory, { sha256, item: `${library}/${id}` });
  assert.deepEqual(templates(inventory), ['c1-abcde-rhcos-fd1-9.6 true 9.6']);
});

test('OWN-18 an item that is missing, not one, no image, another one than wanted, or another one than the library says: told by name, nothing imported', async () => {
  const cases: readonly (readonly [
    what: Parameters<typeof fails>[1],
    says: RegExp,
    files: Files | undefined,
    more?: object,
  ])[] = [
    [
      'LIBRARY_ITEM_MISSING',
      /^library:\/\/vcenter\/Images%20of%20today\/rhcos%209\.6 is not there: the vCenter has no content libraries Images of today/,
      undefined,
    ],
    [
      'LIBRARY_ITEM_MISSING',
      /no items other of content library Images of today/,
      listed(),
      { item: 'Images of today/other' },
    ],
    [
      'DIGEST_MISMATCH',
      new RegExp(`has sha256 ${DIGEST}, but a{64} was expected`),
      listed(),
      { sha256: 'a'.repeat(64) },
    ],
    [
      'DIGEST_MISMATCH',
      /file disk\.vmdk of library:.* has sha1 [0-9a-f]{40}, but the library says b{40}/,
      listed({ 'disk.vmdk': { checksum: { algorithm: 'sha1', sum: 'b'.repeat(40) } } }),
    ],
    ['DOWNLOAD_FAILED', /more than the 3 bytes that the library lists/, listed({ 'disk.vmdk': { size: 3 } })],
    ['DOWNLOAD_FAILED', /ended after 1400 of the 9000 bytes/, listed({ 'disk.vmdk': { size: 9000 } })],
    ['CACHE_FAILED', /the image has \d+ bytes, but the cache may hold 1048576/, listed({ 'disk.vmdk': { size: 4e9 } })],
    ['LIBRARY_ITEM_UNUSABLE', /its file disk\.vmdk has 9000000000 bytes/, listed({ 'disk.vmdk': { size: 9e9 } })],
    ['LIBRARY_ITEM_UNUSABLE', /of its 1 files 0 are OVF descriptors/, new Map([['a.iso', { bytes: DISK }]])],
    [
      'LIBRARY_ITEM_UNUSABLE',
      /of its 2 files 2 are/,
      new Map(['a.ovf', 'b.ovf'].map((name) => [name, { bytes: DESCRIPTOR }])),
    ],
    ['LIBRARY_ITEM_UNUSABLE', /a name that no OVA can have/, new Map([['../a.ovf', { bytes: DESCRIPTOR }]])],
  ];
  for (const [code, says, files, more] of cases) {
    const inventory = memoryInventory();
    if (files !== undefined) add(inventory, files);
    await fails(publishAs(inventory, more), code, says);
    assert.deepEqual([templates(inventory), inventory.state.libraryDownloads.size], [[], 0], String(says));
  }
  const twice = memoryInventory();
  const ids = [add(twice), add(twice)];
  await fails(
    publishAs(twice),
    'LIBRARY_ITEM_AMBIGUOUS',
    new RegExp(`has 2 items rhcos 9\\.6 of content library .* \\(${ids.join(', ')}\\)`),
  );
  const denied = memoryInventory();
  add(denied);
  denied.state.deniedPrivileges.add('ContentLibrary.DownloadSession');
  await fails(
    publishAs(denied),
    'PRIVILEGE_MISSING',
    /needs the privilege ContentLibrary\.DownloadSession by a global permission \(govc role\.update/,
  );
});

test('OWN-18 a file whose connection breaks is begun anew, and one that breaks again and again is given up', async () => {
  for (const breaks of [2, 3]) {
    const inventory = memoryInventory();
    add(inventory);
    let left = breaks;
    inventory.onCall = (method, phase, [, name]) => {
      if (method !== 'libraries.read' || phase !== 'before' || name !== 'disk.vmdk' || left === 0) return;
      left -= 1;
      throw simulatedLoss(method);
    };
    const published = publishAs(inventory);
    if (breaks === 2) await published;
    else await fails(published, 'DOWNLOAD_FAILED', /the connection was lost/);
    assert.equal(templates(inventory).length, breaks === 2 ? 1 : 0);
    assert.equal(inventory.state.libraryDownloads.size, 0);
  }
});

test('OWN-18 a crash or a lost answer at every call of a publication from a library: one clean pass converges, and only the dead leave a download open', async () => {
  interface World {
    readonly inventory: MemoryInventory;
    readonly clock: ReturnType<typeof virtualClock>;
    runs: number;
    kills: number;
  }
  const coverage = await explore<World, 'kill' | 'lose'>({
    setup: () => {
      const clock = virtualClock({ auto: true });
      const inventory = memoryInventory({ now: clock.now });
      add(inventory);
      return { inventory, clock, runs: 0, kills: 0 };
    },
    run: async (world, tripwire) => {
      world.runs += 1;
      world.inventory.onCall = (method, phase, _args, { client }) => {
        if (!/^(?:libraries\.|startImport|lease\.complete|markAsTemplate)/.test(method)) return;
        const fault = tripwire.hit(`${phase} ${method}`);
        if (fault === 'kill') {
          client.kill();
          world.kills += 1;
        }
        if (fault !== undefined) throw simulatedLoss(method);
      };
      await publishAs(world.inventory, { holder: `holder-${world.runs}`, clock: world.clock });
    },
    check: ({ inventory, kills }) => {
      assert.deepEqual(templates(inventory), ['c1-abcde-rhcos-fd1-9.6 true 9.6']);
      // An answer that was lost may have been that of the opening.
      assert.ok(inventory.state.libraryDownloads.size <= Math.max(1, kills));
    },
    faults: ['kill', 'lose'],
  });
  for (const call of ['named', 'items', 'files', 'download', 'read', 'close'])
    assert.ok(coverage.places.includes(`after libraries.${call}`), `${call} was not tried`);
  assert.ok(!coverage.complete || coverage.scenarios > 30, `only ${coverage.scenarios} scenarios`);
});
