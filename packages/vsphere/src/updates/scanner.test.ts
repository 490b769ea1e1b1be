import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repetitions } from '@drydock/model';
import fc from 'fast-check';
import { child, childText, elements, referenceOf, type XmlElement } from '../xml/xml.ts';
import { XmlSyntaxError } from '../xml/xml-characters.ts';
import { parseXml } from '../xml/xml-tree.ts';
import type { ItemRanges } from './item-ranges.ts';
import { eachChild } from './markup.ts';
import { SCAN_LIMITS, type ScanLimits } from './scan-limits.ts';
import { UpdateScanner } from './scanner.ts';

type Event = readonly unknown[];
type Outcome = { readonly events: readonly Event[]; readonly version: string | undefined; readonly truncated: boolean };

function scan(document: Uint8Array, cuts: readonly number[] = [], limits: ScanLimits = SCAN_LIMITS): Outcome {
  const events: Event[] = [];
  const scanner = new UpdateScanner(
    {
      object: (kind, type, value) => events.push(['object', kind, type, value]),
      change: (path, op, value, decode, items) => {
        if (value !== undefined) sameItems(value, items);
        events.push(['change', path, op, value === undefined ? undefined : decode(value)]);
      },
      missing: (path, fault, decode) => events.push(['missing', path, fault === undefined ? undefined : decode(fault)]),
      objectEnd: () => events.push(['end']),
    },
    limits,
  );
  let from = 0;
  for (const cut of [...cuts.map((cut) => cut % (document.length + 1)).toSorted((a, b) => a - b), document.length]) {
    scanner.feed(document.subarray(from, cut));
    from = cut;
  }
  return { events, ...scanner.end() };
}

/** What the scan met on its way is what is found by looking at the value once more. */
function sameItems(value: Uint8Array, items: ItemRanges | undefined): void {
  const [met, found]: [string[], string[]] = [[], []];
  const plain = items?.each((...range) => met.push(range.join()) > 0);
  if (eachChild(value, (...range) => found.push(range.join()) > 0)) {
    assert.ok(plain, 'it is plain');
    assert.deepEqual(met, found);
  } else assert.ok(!plain, 'it is not plain');
}

/** The same by the strict tokenizer and a tree. */
function oracle(root: XmlElement): Outcome {
  const events: Event[] = [];
  const answer = child(child(root, 'Body'), 'WaitForUpdatesExResponse');
  const set = child(answer, 'returnval');
  for (const object of elements(set, 'filterSet').flatMap((filter) => elements(filter, 'objectSet'))) {
    const ref = referenceOf(child(object, 'obj'));
    events.push(['object', childText(object, 'kind'), ref?.type, ref?.value]);
    for (const node of elements(object)) {
      if (node.name === 'changeSet') {
        events.push(['change', childText(node, 'name'), childText(node, 'op') ?? '', child(node, 'val')]);
      } else if (node.name === 'missingSet') events.push(['missing', childText(node, 'path'), child(node, 'fault')]);
    }
    events.push(['end']);
  }
  return { events, version: childText(set, 'version'), truncated: childText(set, 'truncated') === 'true' };
}

const ENVELOPE =
  '<?xml version="1.0"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd=\'http://www.w3.org/2001/XMLSchema\'><soapenv:Body>';
const inEnvelope = (body: string): Buffer =>
  Buffer.from(
    `${ENVELOPE}<WaitForUpdatesExResponse xmlns="urn:vim25">${body}</WaitForUpdatesExResponse></soapenv:Body></soapenv:Envelope>`,
  );

const TEXT = fc
  .array(
    fc.constantFrom(
      'a',
      'é',
      '😀',
      ' ',
      '&lt;',
      '&amp;',
      '&#x41;',
      '<!-- </val> > -->',
      '<![CDATA[</val><x>]]>',
      '<?pi > ?>',
      '-',
      '\n',
      '>',
    ),
  )
  .map((parts) => parts.join(''));
const ATTRIBUTES = fc.constantFrom(
  '',
  ' xsi:type="xsd:string"',
  " xsi:type='ArrayOfOptionValue'",
  ' a="/>"',
  " a='>' b=\"'\"",
  ' xmlns:q="urn:q" q:z="1"',
);
const NAME = fc.constantFrom('val', 'changeSet', 'objectSet', 'name', 'key', 'vim', 'é');
const { node } = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    TEXT,
    fc.tuple(NAME, ATTRIBUTES).map(([name, attributes]) => `<${name}${attributes} />`),
    fc
      .tuple(NAME, ATTRIBUTES, fc.array(tie('node'), { maxLength: 3 }))
      .map(([name, attributes, inner]) => `<${name}${attributes}>${inner.join('')}</${name}>`),
  ),
}));
const VALUE = fc.oneof(
  fc.constant(''),
  ATTRIBUTES.map((attributes) => `<val${attributes}/>`),
  fc
    .tuple(ATTRIBUTES, fc.array(node, { maxLength: 3 }))
    .map(([attributes, inner]) => `<val${attributes}>${inner.join('')}</val>`),
);
const PATH = fc.constantFrom(
  'name',
  'config.extraConfig',
  'config.extraConfig[&#34;a&#34;]',
  'a&amp;b',
  'x<!-- -->y',
  '<![CDATA[z]]>',
);
const CHANGE = fc.oneof(
  fc
    .tuple(PATH, fc.constantFrom('assign', 'indirectRemove'), VALUE)
    .map(([path, op, value]) => `<changeSet><name>${path}</name><op>${op}</op>${value}</changeSet>`),
  fc
    .tuple(PATH, TEXT)
    .map(
      ([path, text]) =>
        `<missingSet><path>${path}</path><fault><fault xsi:type="NoPermission"/>${text}</fault></missingSet>`,
    ),
);
const OBJECT = fc
  .tuple(
    fc.constantFrom('enter', 'modify', 'leave'),
    fc.constantFrom('vm-1', 'vm-&amp;2', 'session[5]é'),
    fc.array(CHANGE, { maxLength: 4 }),
  )
  .map(
    ([kind, value, changes]) =>
      `<objectSet><kind>${kind}</kind><obj type="VirtualMachine">${value}</obj>${changes.join('')}</objectSet>`,
  );
const ANSWER = fc.oneof(
  fc.constant(''),
  fc
    .tuple(
      fc.constantFrom('1', '0_2', '-'),
      fc.array(fc.array(OBJECT, { maxLength: 3 }), { maxLength: 2 }),
      fc.boolean(),
      fc.constantFrom('', '\n  ', '<!-- c -->', '<unknown><deep a=">"/></unknown>'),
    )
    .map(
      ([version, sets, truncated, gap]) =>
        `<returnval>${gap}<version>${version}</version>${sets.map((objects) => `<filterSet><filter type="PropertyFilter">session[1]2</filter>${gap}${objects.join(gap)}</filterSet>`).join('')}${truncated ? '<truncated>true</truncated>' : ''}</returnval>`,
    ),
);

test('the scanner sees what the strict tokenizer sees, however the bytes are cut', () => {
  fc.assert(
    fc.property(ANSWER, fc.array(fc.nat(), { maxLength: 8 }), (body, cuts) => {
      const document = inEnvelope(body);
      assert.deepEqual(scan(document, cuts), oracle(parseXml(document.toString())));
    }),
    { numRuns: repetitions(2_000, 1_000_000, 'documents') },
  );
});

test('cut at every single byte it is the same', () => {
  const document = inEnvelope(
    `<returnval><version>0_1</version><filterSet><filter type="PropertyFilter">f</filter><objectSet><kind>modify</kind><obj type='VirtualMachine'>vm-1</obj><changeSet><name>name</name><op>assign</op><val xsi:type="xsd:string">a&gt;b<![CDATA[</val>]]></val></changeSet><changeSet><name>snapshot</name><op>assign</op></changeSet></objectSet></filterSet><truncated>true</truncated></returnval>`,
  );
  const whole = scan(document);
  assert.equal(whole.events.length, 4);
  for (let cut = 1; cut < document.length; cut += 1) assert.deepEqual(scan(document, [cut]), whole, `cut at ${cut}`);
  const bytes = Array.from(document, (_, at) => at);
  assert.deepEqual(scan(document, bytes), whole);
});

test('SAFE-1 a mangled answer is refused as such or read as the strict tokenizer reads it; nothing else is ever thrown', () => {
  fc.assert(
    fc.property(
      ANSWER,
      fc.nat(),
      fc.constantFrom('', '<', '>', '"', '</', '<!', '<x', '</val>', '<changeSet>', '\u0000', '<!DOCTYPE a>'),
      fc.nat({ max: 30 }),
      (body, at, put, cut) => {
        const text = inEnvelope(body).toString('latin1');
        const where = at % text.length;
        const document = Buffer.from(text.slice(0, where) + put + text.slice(where + cut), 'latin1');
        let mine: Outcome | undefined;
        try {
          mine = scan(document, [where]);
        } catch (error) {
          assert.ok(error instanceof XmlSyntaxError, String(error));
        }
        let theirs: XmlElement | undefined;
        try {
          theirs = parseXml(document.toString());
        } catch {
          return;
        }
        const answered = child(child(theirs, 'Body'), 'WaitForUpdatesExResponse');
        if (mine !== undefined && answered !== undefined && theirs.name === 'Envelope')
          assert.deepEqual(mine, oracle(theirs));
      },
    ),
    { numRuns: repetitions(10_000, 1_000_000, 'documents') },
  );
});

function refused(document: Buffer, why: RegExp, limits: Partial<ScanLimits> = {}): void {
  assert.throws(
    () => scan(document, [], { ...SCAN_LIMITS, ...limits }),
    (error) => error instanceof XmlSyntaxError && why.test(error.message),
  );
}

test('VS-W89 what could cost without bound is refused: document types, depth, size of a value, of markup, of the answer', () => {
  const value = (text: string): Buffer =>
    inEnvelope(
      `<returnval><version>1</version><filterSet><objectSet><kind>enter</kind><obj type="VirtualMachine">vm-1</obj><changeSet><name>a</name><op>assign</op><val>${text}</val></changeSet></objectSet></filterSet></returnval>`,
    );
  refused(Buffer.from('<!DOCTYPE lolz [<!ENTITY lol "lol">]><a/>'), /document type/);
  refused(value('<a>'.repeat(10_000)), /nested deeper/);
  refused(value('x'.repeat(3000)), /value exceeds 1000/, { value: 1000, markup: 500 });
  refused(value(`<a b="${'x'.repeat(3000)}"/>`), /exceeds/, { value: 1000, markup: 500 });
  refused(value('x'.repeat(3000)), /answer exceeds 2000/, { total: 2000 });
  refused(value('x').subarray(0, 400), /too early/);
  refused(Buffer.from('<a><b/></a>'), /no answer|too early/);
});

test('VS-W89 a value of 300 MB is refused before it is held', () => {
  const scanner = new UpdateScanner({ object() {}, change() {}, missing() {}, objectEnd() {} });
  scanner.feed(
    Buffer.from(
      `${ENVELOPE}<WaitForUpdatesExResponse><returnval><version>1</version><filterSet><objectSet><kind>enter</kind><obj type="VirtualMachine">vm-1</obj><changeSet><name>a</name><op>assign</op><val>`,
    ),
  );
  const megabyte = Buffer.alloc(1 << 20, 'x');
  let fed = 0;
  assert.throws(() => {
    for (; fed < 300; fed += 1) scanner.feed(megabyte);
  }, /value exceeds/);
  assert.ok(fed < 20, `${fed} MB were held`);
});
