import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear, repetitions } from '@drydock/model';
import fc from 'fast-check';
import { isTemplateError } from '../errors.ts';
import { header, member } from '../testing/ova.ts';
import { readManifest } from './ova.ts';
import { type ArchiveFile, indexTar } from './tar.ts';

/** An archive in memory, which counts how often it is read. */
function inMemory(bytes: Buffer): ArchiveFile & { readonly reads: number } {
  let reads = 0;
  return {
    get reads() {
      return reads;
    },
    async read(buffer, offset, length, position) {
      reads += 1;
      return { bytesRead: bytes.copy(buffer, offset, position, position + length) };
    },
  };
}

const indexed = (bytes: Buffer) => indexTar(inMemory(bytes), bytes.length);
const END = Buffer.alloc(1024);
const paxed = (records: string | Buffer): Buffer => {
  const content = Buffer.from(records);
  return Buffer.concat([
    header('PaxHeader', content.length, 'x'),
    content,
    Buffer.alloc((512 - (content.length % 512)) % 512),
  ]);
};
const record = (key: string, value: string): string => {
  const rest = ` ${key}=${value}\n`;
  const length = rest.length + String(rest.length + 2).length;
  return `${length}${rest}`;
};
const refused = (bytes: Buffer, why: RegExp): Promise<void> =>
  assert.rejects(indexed(bytes), (error) => isTemplateError(error, 'OVA_INVALID') && why.test(error.text));

for (const [what, size] of [
  ['negative', '-1024'],
  ['no number', '0x10'],
  ['a fraction', '1.5'],
  ['in another notation', '1e3'],
  ['empty', ''],
  ['beyond all bounds', '9'.repeat(30)],
] as const)
  test(`SAFE-1 a pax size that is ${what} is refused`, async () => {
    await refused(
      Buffer.concat([paxed(record('size', size)), member('a.ovf', Buffer.from('x')), END]),
      /size cannot be read/,
    );
  });

test('SAFE-1 a size in base 256 that is negative, or longer than eight bytes, is refused', async () => {
  for (const [at, byte] of [
    [0, 0xff],
    [1, 1],
    [3, 1],
  ] as const) {
    const block = header('disk.vmdk', 2 ** 34);
    block[124 + at] = byte;
    block.fill(' ', 148, 156);
    const sum = block.reduce((all, one) => all + one, 0);
    block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    await refused(Buffer.concat([block, END]), /negative or beyond all bounds/);
  }
});

for (const [what, records] of [
  ['have no length', 'path=x\n'],
  ['have a length of nothing', '0 path=x\n'],
  ['have a length that is no decimal', '\n9 path=x\n'],
  ['reach beyond their end', '99 path=x\n'],
  ['do not end with their line', '9 path=xx\n'],
  ['have no key', '5 =x\n'],
  ['are too many', record('a', 'b').repeat(101)],
] as const)
  test(`SAFE-1 pax records that ${what} are refused`, async () => {
    await refused(Buffer.concat([paxed(records), member('a.ovf', Buffer.from('x')), END]), /pax record cannot be read/);
  });

test('SAFE-1 pax: headers full of records cost what they weigh', async () => {
  const records = [
    (size: number) => '\n'.repeat(size - 3) + '1 x',
    (size: number) => '1 '.repeat(size / 2),
    (size: number) => `${' '.repeat(size - 1)}1`,
    (size: number) => record('a', 'b').repeat(size / record('a', 'b').length),
  ];
  for (const [index, made] of records.entries()) {
    // As many headers as an archive may have, each as long as it may be.
    const input = (size: number): Buffer =>
      Buffer.concat(Array.from({ length: 999 }, () => paxed(made(Math.max(8, Math.floor(size / 999))))));
    await assertLinear({ name: `pax ${index}`, input, read: indexed, limit: 999 * 32_768 });
  }
});

test('SAFE-1 tar: members and long names cost what they weigh', async () => {
  const members = (size: number): Buffer =>
    Buffer.concat(Array.from({ length: size }, (_, at) => member(`m${at}`, Buffer.from('x'))));
  await assertLinear({ name: 'members', input: members, read: indexed, limit: 1000 });
  const many = Buffer.concat([members(1100), END]);
  await refused(many, /more than 1000 members/);
});

test('SAFE-1 manifest: lines of every kind cost what they weigh', async () => {
  for (const line of [
    '\n',
    'SHA256(',
    'SHA256(a)=',
    `SHA256 ${' '.repeat(50)}(a) = \n`,
    `SHA1(x)= ab\n`,
    ' \t'.repeat(40),
  ]) {
    const input = (size: number): string => line.repeat(size / line.length);
    await assertLinear({ name: JSON.stringify(line), input, read: readManifest, limit: 256 * 1024 });
  }
});

test('SAFE-1 whatever is done to an archive, each member lies inside of it, or it is refused', async () => {
  const whole = Buffer.concat([
    member('a.ovf', Buffer.from('<Envelope/>')),
    paxed(record('path', 'p/axed.vmdk') + record('size', '5')),
    member('short', Buffer.from('12345')),
    header('disk.vmdk', 2 ** 34),
    member('a.mf', Buffer.from('SHA1(a.ovf)= 00\n')),
    END,
  ]);
  const fix = (bytes: Buffer, block: number): void => {
    bytes.fill(' ', block + 148, block + 156);
    const sum = bytes.subarray(block, block + 512).reduce((all, one) => all + one, 0);
    bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, block + 148, 'latin1');
  };
  let accepted = 0;
  const change = fc.tuple(
    fc.nat(whole.length - 1),
    fc.constantFrom(0, 0x20, 0x30, 0x37, 0x39, 0x2d, 0x80, 0xff, 0x78, 0x4c, 0x0a),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), fc.nat(whole.length), async (changes, end) => {
      const bytes = Buffer.from(end % 3 === 0 ? whole.subarray(0, end) : whole);
      for (const [at, byte] of changes) {
        if (at >= bytes.length) continue;
        bytes[at] = byte;
        // Otherwise nearly all would be refused by their checksum.
        if (
          at % 512 < 500 &&
          bytes.length >= at - (at % 512) + 512 &&
          bytes.toString('latin1', at - (at % 512) + 257, at - (at % 512) + 262) === 'ustar'
        )
          fix(bytes, at - (at % 512));
      }
      const file = inMemory(bytes);
      try {
        for (const { offset, size, name } of await indexTar(file, bytes.length)) {
          assert.ok(size >= 0 && offset >= 0 && offset + size <= bytes.length);
          assert.ok(!name.split('/').includes('..') && !name.startsWith('/'));
        }
        accepted += 1;
      } catch (error) {
        assert.ok(isTemplateError(error, 'OVA_INVALID'), String(error));
      }
      assert.ok(file.reads < 100);
    }),
    { numRuns: repetitions(10_000, 1_000_000, 'archives') },
  );
  assert.ok(accepted > 100, `${accepted} accepted: the changes prove nothing`);
});
