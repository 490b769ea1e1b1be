import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readOvf } from '@drydock/vsphere';
import { isTemplateError } from '../errors.ts';
import { header, member, writeTestOva } from '../testing/ova.ts';
import { openOva } from './ova.ts';

async function scratch(): Promise<{ readonly path: string } & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), 'ova-'));
  return { path: join(dir, 'x.ova'), [Symbol.asyncDispose]: () => rm(dir, { recursive: true }) };
}

const END = Buffer.alloc(1024);

test('an OVA is indexed, its descriptor read, and each disk streams exactly its bytes', async () => {
  await using file = await scratch();
  const made = await writeTestOva(file.path, { version: '9.6', diskBytes: 3 * 1024 * 1024 + 77, secureBoot: true });
  await using ova = await openOva(made.path);
  const { networks, secureBoot, files } = readOvf(ova.descriptor);
  assert.deepEqual(
    { networks, secureBoot, files },
    {
      networks: ['VM Network'],
      secureBoot: true,
      files: [{ id: 'file1', href: 'disk.vmdk', size: 3 * 1024 * 1024 + 77 }],
    },
  );
  const source = ova.source('disk.vmdk');
  assert.equal(source?.size, 3 * 1024 * 1024 + 77);
  const hash = createHash('sha256');
  for await (const chunk of source?.open() ?? []) hash.update(chunk as Buffer);
  assert.deepEqual(ova.manifest.get('disk.vmdk'), { algorithm: 'sha256', sum: hash.digest('hex') });
  assert.equal(ova.source('other'), undefined);
});

test('long names and sizes as GNU tar and pax write them', async () => {
  await using file = await scratch();
  const long = `${'d'.repeat(150)}.vmdk`;
  const record = (key: string, value: string): string => {
    const rest = ` ${key}=${value}\n`;
    const length = `${rest.length + 3}`.length + rest.length;
    return `${length}${rest}`;
  };
  const gnu = member('././@LongLink', Buffer.from(`${long}\0`));
  gnu.write('L', 156);
  const fix = (block: Buffer): Buffer => {
    block.fill(' ', 148, 156);
    let sum = 0;
    for (const byte of block.subarray(0, 512)) sum += byte;
    block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    return block;
  };
  const pax = member('PaxHeader', Buffer.from(record('path', 'p/axed.vmdk')));
  pax.write('x', 156);
  const parts = [
    member('a.ovf', Buffer.from('<Envelope/>')),
    fix(gnu),
    member('short', Buffer.from('one')),
    fix(pax),
    member('short', Buffer.from('two!')),
    END,
  ];
  await writeFile(file.path, Buffer.concat(parts));
  await using ova = await openOva(file.path);
  assert.equal(ova.source(long)?.size, 3);
  assert.equal(ova.source('p/axed.vmdk')?.size, 4);
});

for (const [what, bytes] of Object.entries({
  'random bytes': Buffer.from('x'.repeat(2048)),
  empty: Buffer.alloc(0),
  'no descriptor': Buffer.concat([member('a.vmdk', Buffer.from('x')), END]),
  'two descriptors': Buffer.concat([member('a.ovf', Buffer.from('x')), member('b.ovf', Buffer.from('x')), END]),
  'cut off in a disk': Buffer.concat([member('a.ovf', Buffer.from('x')), header('d.vmdk', 5000), Buffer.alloc(512)]),
  'a descriptor that the manifest contradicts': Buffer.concat([
    member('a.ovf', Buffer.from('<Envelope/>')),
    member('a.mf', Buffer.from(`SHA256(a.ovf)= ${'0'.repeat(64)}\n`)),
    END,
  ]),
})) {
  test(`bad input: ${what} is refused in words`, async () => {
    await using file = await scratch();
    await writeFile(file.path, bytes);
    await assert.rejects(
      openOva(file.path),
      (error) => isTemplateError(error, 'OVA_INVALID') && error.text.startsWith('the file is no OVA: '),
    );
  });
}

for (const [what, extra, why] of [
  ['two manifests', [member('b.mf', Buffer.from('SHA1(x)= 00\n'))], /2 manifests, of which each reader takes another/],
  ['two members of one name', [member('./a.ovf', Buffer.from('<Envelope/>'))], /two members a\.ovf/],
  ['a manifest as long as a disk', [], /a\.mf has 300000 bytes, where 262144 are the most/],
  ['two sums for one member', [], /names two sums for disk\.vmdk/],
] as const) {
  test(`SAFE-1 an OVA with ${what} is refused`, async () => {
    await using file = await scratch();
    const lines = what.includes('two sums') ? 'SHA1(disk.vmdk)= 00\nSHA1(disk.vmdk)= 01\n' : 'SHA1(disk.vmdk)= 00\n';
    const manifest = what.includes('long') ? '\n'.repeat(300_000) : lines;
    const parts = [member('a.ovf', Buffer.from('<Envelope/>')), member('a.mf', Buffer.from(manifest)), ...extra, END];
    await writeFile(file.path, Buffer.concat(parts));
    await assert.rejects(openOva(file.path), (error) => isTemplateError(error, 'OVA_INVALID') && why.test(error.text));
  });
}
