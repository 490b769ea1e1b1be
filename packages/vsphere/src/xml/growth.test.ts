import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { assertLinear, soaking } from '@drydock/model';
import { readOvf } from '../import/ovf.ts';
import { UpdateScanner, type UpdateSink } from '../updates/scanner.ts';
import type { XmlElement } from './xml.ts';
import { TREE_LIMITS, xmlTreeBuilder } from './xml-tree.ts';
import { writeXml } from './xml-writer.ts';

const MEGABYTE = 1 << 20;
const PIECE = 16 << 10;

/** `part(index)` again and again, until there are `size` characters. */
function repeated(size: number, part: (index: number) => string): string {
  const parts: string[] = [];
  let length = 0;
  for (let index = 0; length < size; index += 1) {
    const next = part(index);
    parts.push(next);
    length += next.length;
  }
  return parts.join('');
}

const deepest = TREE_LIMITS.depth - 1;

/** Documents that cost an XML reader more than their length, where it is careless. */
const DOCUMENTS: Readonly<Record<string, (size: number) => string>> = {
  'a prefix declared by each element': (size) => `<a>${repeated(size, (n) => `<b xmlns:p${n}="u"/>`)}</a>`,
  'prefixes declared around, and one more by each element': (size) => {
    const around = Array.from({ length: 150 }, (_, level) =>
      repeated(Math.min(size / 300, 4000), (n) => ` xmlns:p${level}x${n}="u"`),
    );
    const inside = repeated(size / 2, (n) => `<b xmlns:q="u${n}"/>`);
    return `${around.map((declarations) => `<w${declarations}>`).join('')}${inside}${'</w>'.repeat(150)}`;
  },
  'elements and nothing else': (size) => `<a>${'<a/>'.repeat(size / 4)}</a>`,
  'names that are all different': (size) => `<a>${repeated(size, (n) => `<n${n}/>`)}</a>`,
  'attributes that are all different': (size) =>
    `<a>${repeated(size, (n) => `<b${repeated(1500, (k) => ` a${n}x${k}=""`)}/>`)}</a>`,
  'nested and closed': (size) =>
    `<a>${repeated(size, () => `${'<b>'.repeat(deepest - 1)}${'</b>'.repeat(deepest - 1)}`)}</a>`,
  references: (size) => `<a>${'&amp;'.repeat(size / 5)}</a>`,
  'an ampersand without a reference': (size) => `<a>${'x'.repeat(size / 2)}&${'x'.repeat(size / 2)}</a>`,
  brackets: (size) => `<a>${']'.repeat(size)}</a>`,
  'carriage returns': (size) => `<a>${'\r'.repeat(size)}</a>`,
  comments: (size) => `<a>${'<!---->'.repeat(size / 7)}</a>`,
  'a comment of hyphens': (size) => `<a><!--${' -'.repeat(size / 2)}`,
  'a tag without an end': (size) => `<a ${' '.repeat(size)}`,
  'attributes without an end': (size) => `<a ${repeated(size, (n) => `a${n % 200}=">" `)}`,
};

const bytesOf = (text: string): Buffer => Buffer.from(text);

async function fed(
  target: { feed(chunk: Uint8Array): void; end(): unknown },
  bytes: Buffer,
  piece: number,
): Promise<void> {
  for (let at = 0; at < bytes.length; at += piece) {
    target.feed(bytes.subarray(at, at + piece));
    if (piece > 1 || at % 1024 === 0) await turn();
  }
  target.end();
}

for (const [what, document] of Object.entries(DOCUMENTS)) {
  test(`SAFE-1 XML as it arrives: ${what}`, async () => {
    const limit = soaking ? TREE_LIMITS.total : MEGABYTE;
    const read = (bytes: Buffer): Promise<void> => fed(xmlTreeBuilder(), bytes, PIECE);
    await assertLinear({ name: what, input: (size) => bytesOf(document(size)), read, limit });
  });
}

for (const what of [
  'a tag without an end',
  'attributes without an end',
  'an ampersand without a reference',
  'a comment of hyphens',
])
  test(`SAFE-1 XML byte by byte: ${what}`, async () => {
    const document = DOCUMENTS[what] ?? String;
    const read = (bytes: Buffer): Promise<void> => fed(xmlTreeBuilder(), bytes, 1);
    await assertLinear({ name: what, input: (size) => bytesOf(document(size)), read, limit: MEGABYTE / 4 });
  });

const SILENT: UpdateSink = {
  object: () => undefined,
  change: (_path, _op, value, decode) => void (value === undefined || decode(value)),
  missing: () => undefined,
  objectEnd: () => undefined,
};
const inChange = (value: string, envelope = ''): string =>
  `<Envelope${envelope}><Body><WaitForUpdatesExResponse><returnval><version>1</version><filterSet><objectSet><kind>enter</kind><obj type="VirtualMachine">vm-1</obj>${value}</objectSet></filterSet></returnval></WaitForUpdatesExResponse></Body></Envelope>`;
const change = (value: string): string => `<changeSet><name>name</name><op>assign</op><val>${value}</val></changeSet>`;

/** Answers of WaitForUpdatesEx that cost a scan more than their length. */
const ANSWERS: Readonly<Record<string, (size: number) => string>> = {
  'many small values inside many declarations': (size) =>
    inChange(
      change('').repeat(size / 2 / change('').length),
      repeated(size / 2, (n) => ` xmlns:p${n}="u"`),
    ),
  'one large value': (size) => inChange(change('<a/>'.repeat(size / 4))),
  'values of comments': (size) => inChange(change('<!---->'.repeat(100)).repeat(size / 800)),
  'what is not known': (size) => inChange('<x><y/></x>'.repeat(size / 11)),
  'a tag without an end': (size) => inChange(change(`<a ${' '.repeat(size)}`)),
  'a comment without an end': (size) => inChange(change(`<!--${'- '.repeat(size / 2)}`)),
};
for (const [what, answer] of Object.entries(ANSWERS)) {
  test(`SAFE-1 updates as they arrive: ${what}`, async () => {
    const read = (bytes: Buffer): Promise<void> => fed(new UpdateScanner(SILENT), bytes, PIECE);
    await assertLinear({ name: what, input: (size) => bytesOf(answer(size)), read, limit: MEGABYTE });
  });
}
for (const what of ['a tag without an end', 'a comment without an end'])
  test(`SAFE-1 updates byte by byte: ${what}`, async () => {
    const answer = ANSWERS[what] ?? String;
    const read = (bytes: Buffer): Promise<void> => fed(new UpdateScanner(SILENT), bytes, 1);
    await assertLinear({ name: what, input: (size) => bytesOf(answer(size)), read, limit: MEGABYTE / 4 });
  });

test('SAFE-1 XML is written: an attribute of another namespace on each element', async () => {
  const nested = (size: number): XmlElement => {
    let inner: XmlElement = { uri: '', name: 'a', attributes: [], children: [] };
    for (let level = 0; level < size / 256; level += 1) {
      const attributes = Array.from({ length: 256 }, (_, k) => ({ uri: `u${level}x${k}`, local: 'a', value: '' }));
      inner = { uri: '', name: 'b', attributes, children: [inner] };
    }
    return inner;
  };
  await assertLinear({ name: 'namespaces', input: nested, read: (tree) => writeXml(tree), limit: 200 * 256 });
});

const ovf = (references: string, disks: string, system = ''): string =>
  `<Envelope><References>${references}</References><DiskSection>${disks}</DiskSection><VirtualSystem id="a">${system}</VirtualSystem></Envelope>`;

/** Descriptors that cost a reader more than their length. */
const DESCRIPTORS: Readonly<Record<string, (size: number) => string>> = {
  'as many disks as files': (size) =>
    ovf(
      repeated(size / 2, (n) => `<File id="${n}" href="${n}"/>`),
      repeated(size / 2, (n) => `<Disk diskId="${n}" fileRef="${Math.floor((size / 2 / 27) * 0.9)}"/>`),
    ),
  'elements and nothing else': (size) => ovf('', '', '<a/>'.repeat(size / 4)),
  'one long text': (size) => ovf('', '', 'x&#65;'.repeat(size / 6)),
};
for (const [what, descriptor] of Object.entries(DESCRIPTORS)) {
  test(`SAFE-1 OVF at once: ${what}`, async () => {
    await assertLinear({ name: what, input: descriptor, read: (text) => readOvf(text), limit: 4 * MEGABYTE });
  });
}
