import assert from 'node:assert/strict';
import { isTemplateError } from '@drydock/templates';
import { readManifest } from '../../../packages/templates/src/image/ova.ts';
import { type ArchiveFile, indexTar, type TarMember } from '../../../packages/templates/src/image/tar.ts';
import { header, member } from '../../../packages/templates/src/testing/ova.ts';
import { type Format, growing, type Hostile } from '../format.ts';

const BLOCK = 512;
const END = Buffer.alloc(2 * BLOCK);
const refuses = (error: unknown): boolean => isTemplateError(error, 'OVA_INVALID');

function inMemory(bytes: Buffer): ArchiveFile {
  let reads = 0;
  return {
    read: async (buffer, offset, length, position) => {
      reads += 1;
      assert.ok(reads < 3_010, 'more reads than an archive may have headers and records');
      return { bytesRead: bytes.copy(buffer, offset, position, position + length) };
    },
  };
}

const indexed = (bytes: Buffer): Promise<readonly TarMember[]> => indexTar(inMemory(bytes), bytes.length);

/** A pax record that is as long as it says. */
export function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + 1;
  while (String(length).length + bytes !== length) length += 1;
  return `${length}${rest}`;
}

/** A pax header with these records. */
export function paxed(records: string | Buffer): Buffer {
  const content = Buffer.from(records);
  return Buffer.concat([
    header('PaxHeader', content.length, 'x'),
    content,
    Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK),
  ]);
}

/** Gives each header the sum that it should have. */
function summed(bytes: Buffer): Buffer {
  const whole = Buffer.from(bytes);
  for (let at = 0; at + BLOCK <= whole.length; at += BLOCK) {
    if (whole.toString('latin1', at + 257, at + 262) !== 'ustar') continue;
    whole.fill(' ', at + 148, at + 156);
    const sum = whole.subarray(at, at + BLOCK).reduce((all, one) => all + one, 0);
    whole.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148, 'latin1');
  }
  return whole;
}

/** The members lie inside of the archive, one behind the other, and an archive made of them again has the same ones. */
async function sameAgain(members: readonly TarMember[], bytes: Buffer): Promise<void> {
  let end = 0;
  for (const { name, offset, size } of members) {
    assert.ok(Number.isSafeInteger(size) && size >= 0 && offset >= end + BLOCK && offset + size <= bytes.length);
    assert.ok(!name.split('/').includes('..') && !name.startsWith('/'));
    end = offset + size;
  }
  const parts = members.flatMap(({ name, offset, size }) => [
    // A name with a NUL, or none, can be written in records alone.
    paxed(paxRecord('path', name)),
    member('x', bytes.subarray(offset, offset + size)),
  ]);
  const again = Buffer.concat([...parts, END]);
  const content = (all: readonly TarMember[], of: Buffer): readonly unknown[] =>
    all.map(({ name, offset, size }) => [name, of.subarray(offset, offset + size).toString('latin1')]);
  assert.deepEqual(content(await indexed(again), again), content(members, bytes));
}

const gnuName = Buffer.from('a/very/long/name.vmdk\0');

/** Archives by their headers. */
export const tar: Format<readonly TarMember[]> = {
  name: 'tar archives',
  examples: [
    Buffer.concat([member('a.ovf', Buffer.from('<Envelope/>')), member('short', Buffer.from('12345')), END]),
    Buffer.concat([member('a.mf', Buffer.from('SHA1(a.ovf)= 00\n')), header('empty', 0), header('d/', 0, '5'), END]),
    Buffer.concat([
      header('@LongLink', gnuName.length, 'L'),
      gnuName,
      Buffer.alloc(BLOCK - gnuName.length),
      member('b', Buffer.from('b')),
      END,
    ]),
    Buffer.concat([
      paxed(paxRecord('path', 'p/axed.vmdk') + paxRecord('size', '5')),
      member('short', Buffer.from('12345')),
      END,
    ]),
  ],
  pieces: [
    '\0',
    ' ',
    '0',
    '7',
    '9',
    '-',
    '\x80',
    '\xff',
    'x',
    'L',
    'g',
    '5',
    '/',
    '../',
    '\n',
    'ustar\0',
    '00000000777\0',
  ],
  nest: ['a/', '/b'],
  repair: summed,
  read: indexed,
  refuses,
  check: sameAgain,
};

/** Archives whose pax records alone are changed. */
export const pax: Format<readonly TarMember[]> = {
  name: 'pax records',
  examples: [
    paxRecord('path', 'p/axed.vmdk') + paxRecord('size', '5'),
    paxRecord('mtime', '1.5') + paxRecord('comment', 'é💥') + paxRecord('path', './a'),
    paxRecord('size', '5') + paxRecord('SCHILY.xattr.user.a', '\u0001='),
  ],
  pieces: ['\n', ' ', '=', '0 ', '9 ', '12 path=x', 'path=', 'size=', '5 =x\n', '9 path=x\n', '..', '/', '\0'],
  nest: ['../', ''],
  read: (bytes) => indexed(Buffer.concat([paxed(bytes), member('short', Buffer.from('12345')), END])),
  refuses,
  check: (members, bytes) =>
    sameAgain(members, Buffer.concat([paxed(bytes), member('short', Buffer.from('12345')), END])),
};

const hex = 'ab'.repeat(32);

/** The sums of an OVA. */
export const manifest: Format<ReturnType<typeof readManifest>> = {
  name: 'manifests of OVAs',
  examples: [
    `SHA256(disk.vmdk)= ${hex}\nSHA256(a.ovf)= ${hex.toUpperCase()}\n`,
    `SHA1 (a b.vmdk) = ${hex.slice(0, 40)}\r\nSHA512(a b.vmdk)= ${hex}${hex}\n# more\n`,
    `SHA256(disk.vmdk)= ${hex}\nSHA256(disk.vmdk)= ${hex}\n\n`,
  ],
  pieces: [
    '\n',
    '(',
    ')',
    ')= ',
    '=',
    ' ',
    'SHA1(',
    'SHA256(disk.vmdk)= 00\n',
    'SHA512(a)=ff\n',
    'MD5(a)= 00',
    '\r',
    'g',
  ],
  nest: ['(', ')'],
  read: (bytes) => readManifest(bytes.toString()),
  refuses,
  check: (sums, bytes) => {
    const text = bytes.toString();
    const lines = [...sums].map(([name, { algorithm, sum }]) => `${algorithm.toUpperCase()}(${name})= ${sum}\n`);
    assert.deepEqual(readManifest(lines.join('')), sums);
    // The second reader cuts where the marks are.
    const said = new Map<string, object>();
    for (const line of text.split('\n')) {
      const [head = '', ...rest] = line.split('(');
      const [name = '', ...tail] = rest.join('(').split(')');
      const [gap = '', sum = '', ...more] = tail.join(')').split('=');
      const algorithm = head.trim();
      if (!['SHA1', 'SHA256', 'SHA512'].includes(algorithm) || gap.trim() !== '' || more.length > 0 || name === '')
        continue;
      if (/^[\da-f]+$/i.test(sum.trim()))
        said.set(name, { algorithm: algorithm.toLowerCase(), sum: sum.trim().toLowerCase() });
    }
    assert.deepEqual(sums, said);
  },
};

const small = paxRecord('a', 'b');
const headers =
  (records: (size: number) => string) =>
  (size: number): Buffer =>
    // As many headers as an archive may have, each as long as it may be.
    Buffer.concat(Array.from({ length: 999 }, () => paxed(records(Math.max(8, Math.floor(size / 999))))));

export const tarGrowth: readonly Hostile[] = [
  ...growing(
    'pax',
    {
      'ends of lines': headers((size) => `${'\n'.repeat(size - 3)}1 x`),
      lengths: headers((size) => '1 '.repeat(size / 2)),
      blanks: headers((size) => `${' '.repeat(size - 1)}1`),
      records: headers((size) => small.repeat(size / small.length)),
    },
    { read: indexed, limit: 999 * 32_768 },
  ),
  ...growing(
    'tar',
    { members: (size) => Buffer.concat(Array.from({ length: size }, (_, at) => member(`m${at}`, Buffer.from('x')))) },
    { read: indexed, limit: 1000 },
  ),
  ...growing(
    'a manifest',
    Object.fromEntries(
      ['\n', 'SHA256(', 'SHA256(a)=', `SHA256 ${' '.repeat(50)}(a) = \n`, 'SHA1(x)= ab\n', ' \t'.repeat(40)].map(
        (line) => [JSON.stringify(line), (size: number) => line.repeat(size / line.length)],
      ),
    ),
    { read: readManifest, limit: 256 * 1024 },
  ),
];
