import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTemplateError } from '../errors.ts';
import { header, member } from '../testing/ova.ts';
import { type ArchiveFile, indexTar } from './tar.ts';

function inMemory(bytes: Buffer): ArchiveFile {
  return {
    read: async (buffer, offset, length, position) => ({
      bytesRead: bytes.copy(buffer, offset, position, position + length),
    }),
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

test('SAFE-1 tar: an archive of more members than any OVA has is refused', async () => {
  const members = (size: number): Buffer =>
    Buffer.concat(Array.from({ length: size }, (_, at) => member(`m${at}`, Buffer.from('x'))));
  const many = Buffer.concat([members(1100), END]);
  await refused(many, /more than 1000 members/);
});

test('SAFE-1 a name that begins with nothing is none that begins at the root', async () => {
  const bytes = Buffer.concat([member('.//a.ovf', Buffer.from('x')), END]);
  assert.deepEqual(
    (await indexed(bytes)).map(({ name }) => name),
    ['a.ovf'],
  );
});
