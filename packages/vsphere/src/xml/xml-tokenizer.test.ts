import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repetitions } from '@drydock/model';
import fc from 'fast-check';
import { SaxesParser } from 'saxes';
import { XmlSyntaxError } from './xml-characters.ts';
import { DEFAULT_XML_LIMITS, type XmlLimits, XmlTokenizer } from './xml-tokenizer.ts';

type Event =
  | readonly ['open', string, readonly (readonly [string, string])[]]
  | readonly ['close', string]
  | readonly ['text', string];

/** Collects events, with neighbouring text joined and text outside the root left out. */
function collector(): { readonly events: Event[]; readonly add: (event: Event) => void } {
  const events: Event[] = [];
  let depth = 0;
  return {
    events,
    add(event) {
      if (event[0] === 'open') depth++;
      if (event[0] === 'close') depth--;
      const last = events.at(-1);
      if (event[0] !== 'text') events.push(event);
      else if (depth === 0 || event[1] === '') return;
      else if (last?.[0] === 'text') events[events.length - 1] = ['text', last[1] + event[1]];
      else events.push(event);
    },
  };
}

function ours(
  document: Uint8Array,
  cuts: readonly number[] = [],
  limits: XmlLimits = DEFAULT_XML_LIMITS,
): readonly Event[] | 'rejected' {
  const { events, add } = collector();
  const tokenizer = new XmlTokenizer(
    {
      open: (name, names, values) => add(['open', name, names.map((at, i) => [at, values[i] ?? ''] as const)]),
      close: (name) => add(['close', name]),
      text: (text) => add(['text', text]),
    },
    limits,
  );
  try {
    let from = 0;
    for (const cut of [...cuts.map((cut) => cut % (document.length + 1)).toSorted((a, b) => a - b), document.length]) {
      tokenizer.feed(document.subarray(from, cut));
      from = cut;
    }
    tokenizer.end();
  } catch (error) {
    if (error instanceof XmlSyntaxError) return 'rejected';
    throw error;
  }
  return events;
}

function oracle(document: string): readonly Event[] | 'rejected' {
  const { events, add } = collector();
  const parser = new SaxesParser({ xmlns: false, fragment: false });
  parser.on('opentag', (tag) => add(['open', tag.name, Object.entries(tag.attributes) as [string, string][]]));
  parser.on('closetag', (tag) => add(['close', tag.name]));
  parser.on('text', (text) => add(['text', text]));
  parser.on('cdata', (text) => add(['text', text]));
  parser.on('error', (error) => {
    throw error;
  });
  try {
    parser.write(document).close();
  } catch {
    return 'rejected';
  }
  return events;
}

const NAME = fc.constantFrom('a', 'b', 'val', 'vim:x', 'objectSet', 'é', '_1', '__proto__', 'a.b-c');
const TEXT = fc
  .array(
    fc.constantFrom(
      'x',
      ' ',
      '\n',
      '\r\n',
      '\r',
      '\t',
      '&amp;',
      '&lt;',
      '&gt;',
      '&#65;',
      '&#x1F600;',
      '&#13;',
      '😀',
      ']',
      ']]',
      '"',
      "'",
      'a&quot;b',
      'é',
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(''));
const ATTRIBUTE = fc
  .tuple(NAME, fc.oneof(TEXT, fc.constant('a>b/>')), fc.constantFrom('"', "'"), fc.constantFrom(' ', '\n', '  '))
  .map(([name, text, quote, gap]) => `${gap}${name}=${quote}${text.replaceAll(quote, '')}${quote}`);
const MISC = fc.constantFrom(
  '',
  '<!-- c -->',
  '<!---->',
  '<?pi data?>',
  '<![CDATA[a<b&c]]]]>',
  '<![CDATA[]]>',
  '<!-- a - b -->',
);
const { node: DOCUMENT } = fc.letrec<{ node: string; inner: string }>((tie) => ({
  inner: fc.oneof({ maxDepth: 4 }, TEXT, MISC, tie('node')),
  node: fc
    .tuple(
      NAME,
      fc.uniqueArray(ATTRIBUTE, { maxLength: 3, selector: (at) => at.trim().split('=')[0] ?? '' }),
      fc.array(tie('inner'), { maxLength: 4 }),
      fc.constantFrom('', ' ', '\n'),
    )
    .map(([name, attributes, inner, gap]) =>
      inner.length === 0
        ? `<${name}${attributes.join('')}${gap}/>`
        : `<${name}${attributes.join('')}${gap}>${inner.join('')}</${name}${gap}>`,
    ),
}));
const WHOLE = fc
  .tuple(
    fc.constantFrom('', '<?xml version="1.0"?>', '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n', ' \n'),
    DOCUMENT,
    fc.constantFrom('', '\n', '<!-- end -->'),
  )
  .map((parts) => parts.join(''));
const CUTS = fc.array(fc.nat(), { maxLength: 8 });

test('SAFE-1 on well-formed documents, however they are cut, the events are those of saxes', () => {
  fc.assert(
    fc.property(WHOLE, CUTS, (document, cuts) => {
      const expected = oracle(document);
      assert.notEqual(expected, 'rejected', document);
      assert.deepEqual(ours(Buffer.from(document), cuts), expected);
    }),
    { numRuns: repetitions(2_000, 1_000_000, 'documents') },
  );
});

test('SAFE-1 on mutated documents the events are those of saxes, or both reject', () => {
  const piece = fc.constantFrom(
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
    '?>',
    '</',
    'a',
    '&#0;',
    '&#x110000;',
    '&foo;',
    '\u0001',
    '\uffff',
    '<a>',
    '</a>',
    '<?xml version="1.0"?>',
    ']]',
    '<![CDATA[',
    '-->',
    '\r',
    ':',
    '0',
  );
  let accepted = 0;
  let rejected = 0;
  fc.assert(
    fc.property(
      WHOLE,
      fc.array(fc.tuple(fc.nat(), fc.nat(3), piece), { minLength: 1, maxLength: 2 }),
      CUTS,
      (document, mutations, cuts) => {
        let text = document;
        for (const [at, remove, insert] of mutations) {
          const where = at % (text.length + 1);
          text = (text.slice(0, where) + insert + text.slice(where + remove)).toWellFormed();
        }
        // What we refuse on purpose and saxes does not: DTD, XML other than 1.0, other encodings.
        if (
          text.includes('<!D') ||
          /version\s*=\s*["']1\.(?!0["'])/.test(text) ||
          /encoding\s*=\s*(["'])(?!utf-8\1)/i.test(text) ||
          // White space, or the end, follows the target of an instruction (XML 1.0, production 16); saxes takes a question mark, too.
          /<\?[^\s?>]+\?(?!>)/.test(text)
        )
          return;
        const expected = oracle(text);
        if (expected === 'rejected') rejected++;
        else accepted++;
        assert.deepEqual(ours(Buffer.from(text), cuts), expected, JSON.stringify(text));
      },
    ),
    { numRuns: repetitions(10_000, 1_000_000, 'documents') },
  );
  assert.ok(accepted > 50 && rejected > 50, `${accepted} accepted, ${rejected} rejected: the mutations prove nothing`);
});

for (const [what, document] of [
  ['a DOCTYPE', '<!DOCTYPE a><a/>'],
  ['an entity bomb', '<!DOCTYPE a [<!ENTITY b "xx"><!ENTITY c "&b;&b;">]><a>&c;</a>'],
  ['an unknown entity', '<a>&foo;</a>'],
  ['a bare ampersand', '<a>R&D</a>'],
  ['a reference to NUL', '<a>&#0;</a>'],
  ['a reference to a surrogate', '<a>&#xD800;</a>'],
  ['a duplicate attribute', '<a b="1" b="2"/>'],
  ['an unquoted attribute', '<a b=1/>'],
  ['content after the root', '<a/>x'],
  ['a second root', '<a/><a/>'],
  ['crossed tags', '<a><b></a></b>'],
  ['a truncated document', '<a><b>'],
  ['a truncated tag', '<a b="'],
  ['a truncated comment', '<a/><!-- '],
  ['an empty document', ''],
  ['another encoding', '<?xml version="1.0" encoding="ISO-8859-1"?><a/>'],
  ['an XML declaration in the middle', '<a/><?xml version="1.0"?>'],
] as const) {
  test(`${what} is an error`, () => {
    assert.equal(ours(Buffer.from(document)), 'rejected');
    // Byte by byte, too.
    assert.equal(
      ours(
        Buffer.from(document),
        Array.from(document, (_, i) => i),
      ),
      'rejected',
    );
  });
}

test('bytes that are not UTF-8 are an error', () => {
  assert.equal(ours(Buffer.from([0x3c, 0x61, 0x3e, 0xff, 0x3c, 0x2f, 0x61, 0x3e])), 'rejected');
});

test('after an error the tokenizer stays broken', () => {
  const tokenizer = new XmlTokenizer({ open: () => undefined, close: () => undefined, text: () => undefined });
  assert.throws(() => tokenizer.feed(Buffer.from('<a></b>')), XmlSyntaxError);
  assert.throws(() => tokenizer.feed(Buffer.from('<a/>')), XmlSyntaxError);
  assert.throws(() => tokenizer.end(), XmlSyntaxError);
});

test('VS-W89 depth, size and text limits are errors, with bounded memory', () => {
  assert.equal(ours(Buffer.from('<a>'.repeat(10_000))), 'rejected');
  assert.notEqual(ours(Buffer.from('<a>'.repeat(200) + '</a>'.repeat(200))), 'rejected');
  assert.equal(ours(Buffer.from('<a>'.repeat(201) + '</a>'.repeat(201))), 'rejected');

  // 300 MB in one value: refused at the limit, without having been kept.
  let fed = 0;
  let kept = 0;
  const tokenizer = new XmlTokenizer({
    open: () => undefined,
    close: () => undefined,
    text: (text) => (kept += text.length),
  });
  tokenizer.feed(Buffer.from('<val>'));
  const chunk = Buffer.alloc(1 << 20, 'x');
  assert.throws(() => {
    for (; fed < 300; fed++) tokenizer.feed(chunk);
  }, XmlSyntaxError);
  assert.equal(fed, DEFAULT_XML_LIMITS.text >> 20);
  assert.equal(kept, DEFAULT_XML_LIMITS.text);

  const small: XmlLimits = { ...DEFAULT_XML_LIMITS, total: 1000, markup: 500 };
  assert.equal(ours(Buffer.from(`<a>${'<b/>'.repeat(300)}</a>`), [], small), 'rejected');
  assert.equal(ours(Buffer.from(`<a b="${'x'.repeat(700)}`), [300, 600], small), 'rejected');
});
