import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { soaking } from '@drydock/model';
import { child, isVimError, readOvf, UpdateScanner, type UpdateSink, type XmlElement } from '@drydock/vsphere';
import { ovfText } from '@drydock/vsphere/testing';
import type { OvfDescriptor } from '../../../packages/vsphere/src/import/ovf.ts';
import { elements } from '../../../packages/vsphere/src/xml/xml.ts';
import { XmlSyntaxError } from '../../../packages/vsphere/src/xml/xml-characters.ts';
import { parseXml, TREE_LIMITS, xmlTreeBuilder } from '../../../packages/vsphere/src/xml/xml-tree.ts';
import { writeXml } from '../../../packages/vsphere/src/xml/xml-writer.ts';
import { type Format, growing, type Hostile, pieces } from '../format.ts';

const MEGABYTE = 1 << 20;
const PIECE = 16 << 10;

const deepest = TREE_LIMITS.depth - 1;

/** Documents that cost an XML reader more than their length, where it is careless. */
const DOCUMENTS: Readonly<Record<string, (size: number) => string>> = {
  'a prefix declared by each element': (size) => `<a>${pieces(size, (n) => `<b xmlns:p${n}="u"/>`)}</a>`,
  'prefixes declared around, and one more by each element': (size) => {
    const around = Array.from({ length: 150 }, (_, level) =>
      pieces(Math.min(size / 300, 4000), (n) => ` xmlns:p${level}x${n}="u"`),
    );
    const inside = pieces(size / 2, (n) => `<b xmlns:q="u${n}"/>`);
    return `${around.map((declarations) => `<w${declarations}>`).join('')}${inside}${'</w>'.repeat(150)}`;
  },
  'elements and nothing else': (size) => `<a>${'<a/>'.repeat(size / 4)}</a>`,
  'names that are all different': (size) => `<a>${pieces(size, (n) => `<n${n}/>`)}</a>`,
  'attributes that are all different': (size) =>
    `<a>${pieces(size, (n) => `<b${pieces(1500, (k) => ` a${n}x${k}=""`)}/>`)}</a>`,
  'nested and closed': (size) =>
    `<a>${pieces(size, () => `${'<b>'.repeat(deepest - 1)}${'</b>'.repeat(deepest - 1)}`)}</a>`,
  references: (size) => `<a>${'&amp;'.repeat(size / 5)}</a>`,
  'an ampersand without a reference': (size) => `<a>${'x'.repeat(size / 2)}&${'x'.repeat(size / 2)}</a>`,
  brackets: (size) => `<a>${']'.repeat(size)}</a>`,
  'carriage returns': (size) => `<a>${'\r'.repeat(size)}</a>`,
  comments: (size) => `<a>${'<!---->'.repeat(size / 7)}</a>`,
  'a comment of hyphens': (size) => `<a><!--${' -'.repeat(size / 2)}`,
  'a tag without an end': (size) => `<a ${' '.repeat(size)}`,
  'attributes without an end': (size) => `<a ${pieces(size, (n) => `a${Number.parseInt(n, 36) % 200}=">" `)}`,
};

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

type Texts = Readonly<Record<string, (size: number) => string>>;
const inBytes = (texts: Texts, only?: readonly string[]): Readonly<Record<string, (size: number) => Buffer>> =>
  Object.fromEntries(
    Object.entries(texts)
      .filter(([what]) => only?.includes(what) ?? true)
      .map(([what, text]) => [what, (size: number) => Buffer.from(text(size))]),
  );

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
      pieces(size / 2, (n) => ` xmlns:p${n}="u"`),
    ),
  'one large value': (size) => inChange(change('<a/>'.repeat(size / 4))),
  'values of comments': (size) => inChange(change('<!---->'.repeat(100)).repeat(size / 800)),
  'what is not known': (size) => inChange('<x><y/></x>'.repeat(size / 11)),
  'a tag without an end': (size) => inChange(change(`<a ${' '.repeat(size)}`)),
  'a comment without an end': (size) => inChange(change(`<!--${'- '.repeat(size / 2)}`)),
};
/** Elements in elements, each with attributes of namespaces of its own. */
function namespaces(size: number): XmlElement {
  let inner: XmlElement = { uri: '', name: 'a', attributes: [], children: [] };
  for (let level = 0; level < size / 256; level += 1) {
    const attributes = Array.from({ length: 256 }, (_, k) => ({ uri: `u${level}x${k}`, local: 'a', value: '' }));
    inner = { uri: '', name: 'b', attributes, children: [inner] };
  }
  return inner;
}

const ovf = (references: string, disks: string, system = ''): string =>
  `<Envelope><References>${references}</References><DiskSection>${disks}</DiskSection><VirtualSystem id="a">${system}</VirtualSystem></Envelope>`;

/** Descriptors that cost a reader more than their length. */
const DESCRIPTORS: Readonly<Record<string, (size: number) => string>> = {
  'as many disks as files': (size) =>
    ovf(
      pieces(size / 2, (n) => `<File id="${n}" href="${n}"/>`),
      pieces(size / 2, (n) => `<Disk diskId="${n}" fileRef="${Math.floor((size / 2 / 27) * 0.9).toString(36)}"/>`),
    ),
  'elements and nothing else': (size) => ovf('', '', '<a/>'.repeat(size / 4)),
  'one long text': (size) => ovf('', '', 'x&#65;'.repeat(size / 6)),
};

const MARKS = [
  '<',
  '>',
  '&',
  ';',
  '"',
  "'",
  '/',
  '=',
  ' ',
  ']]>',
  '--',
  '<!',
  '<?',
  '</',
  '&#0;',
  '&foo;',
  '<!DOCTYPE a>',
  '<![CDATA[',
  ':',
  'xmlns:x=""',
  'xsi:type="x:y"',
];

const answer = inChange(
  change('<a xsi:type="xsd:string" b="1">x&amp;y<![CDATA[<]]></a>'),
  ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="u"',
);

/** Documents with namespaces, as vCenter answers. */
export const xml: Format<XmlElement> = {
  name: 'XML documents',
  examples: [answer, '<?xml version="1.0"?>\n<a:b xmlns:a="u" xmlns="v" a:c="1"><!-- d --><e/>f<?g h?></a:b>'],
  pieces: MARKS,
  nest: ['<a>', '</a>'],
  read: (bytes) => parseXml(bytes.toString()),
  refuses: (error) => error instanceof XmlSyntaxError,
  check: (tree, bytes) => {
    // Written and read again it says the same, and so does what is fed in two pieces.
    assert.deepEqual(parseXml(writeXml(tree, '', new Map())), tree);
    const text = Buffer.from(bytes.toString());
    const builder = xmlTreeBuilder();
    builder.feed(text.subarray(0, text.length >> 1));
    builder.feed(text.subarray(text.length >> 1));
    assert.deepEqual(builder.end(), tree);
  },
};

/** Descriptors of virtual machines. */
export const descriptors: Format<OvfDescriptor> = {
  name: 'OVF descriptors',
  examples: [
    ovfText({
      networks: ['a', 'b'],
      disks: [
        { file: 'a.vmdk', size: 1 },
        { file: 'b.vmdk', size: 2 },
      ],
    }),
    '<Envelope><References><File id="f" href="a.vmdk" size="5"/></References><DiskSection><Disk diskId="d" fileRef="f" capacity="2" capacityAllocationUnits="byte * 2^30"/></DiskSection><NetworkSection><Network name="n"/></NetworkSection><VirtualSystem id="a"><Name>x</Name><ProductSection><Version>9.8</Version></ProductSection></VirtualSystem></Envelope>',
  ],
  pieces: [...MARKS, '</File>', '<Disk/>', 'ovf:', '-1', '^99', 'chunkSize="1"', 'href="../x"', 'fileRef="f"'],
  nest: ['<Name>', '</Name>'],
  read: (bytes) => readOvf(bytes.toString()),
  refuses: (error) => isVimError(error, 'VIM_OVF_REFUSED'),
  check: ({ disks, files, networks }, bytes) => {
    for (const { file, capacity = 0 } of disks) {
      assert.ok(file === undefined || files.includes(file));
      assert.ok(capacity >= 0 && !Number.isNaN(capacity));
    }
    for (const { size = 0 } of files) assert.ok(Number.isSafeInteger(size) && size >= 0);
    assert.equal(new Set(networks).size, networks.length);
    const tree = parseXml(bytes.toString());
    assert.equal(elements(child(tree, 'References'), 'File').length, files.length);
    assert.equal(elements(child(tree, 'DiskSection'), 'Disk').length, disks.length);
  },
};

const ENDLESS = [
  'a tag without an end',
  'attributes without an end',
  'an ampersand without a reference',
  'a comment of hyphens',
  'a comment without an end',
];
const arriving = (piece: number) => (bytes: Buffer) => fed(xmlTreeBuilder(), bytes, piece);
const scanned = (piece: number) => (bytes: Buffer) => fed(new UpdateScanner(SILENT), bytes, piece);
const limit = soaking ? TREE_LIMITS.total : MEGABYTE;

export const xmlGrowth: readonly Hostile[] = [
  ...growing('XML as it arrives', inBytes(DOCUMENTS), { limit, read: arriving(PIECE) }),
  ...growing('XML byte by byte', inBytes(DOCUMENTS, ENDLESS), { limit: MEGABYTE / 4, read: arriving(1) }),
  ...growing('updates as they arrive', inBytes(ANSWERS), { limit: MEGABYTE, read: scanned(PIECE) }),
  ...growing('updates byte by byte', inBytes(ANSWERS, ENDLESS), { limit: MEGABYTE / 4, read: scanned(1) }),
  ...growing('XML is written', { namespaces }, { limit: 200 * 256, read: (tree) => writeXml(tree) }),
  ...growing('OVF at once', DESCRIPTORS, { limit: 4 * MEGABYTE, read: (text) => readOvf(text) }),
];
