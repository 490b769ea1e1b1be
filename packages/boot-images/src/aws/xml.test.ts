import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '@drydock/model';
import { itemsOf, readXml, textAt, XmlInvalid } from './xml.ts';

const answer = `<?xml version="1.0" encoding="UTF-8"?>
<!-- from EC2 --><DescribeImagesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
  <requestId>1</requestId>
  <imagesSet><item><imageId>ami-1</imageId><name>a &lt;b&gt; &amp; &#233;&#x1F4A5;<![CDATA[<c>]]></name><description/></item><item a='"' b = ">"></item></imagesSet>
</DescribeImagesResponse >
`;

test('elements, texts, references and lists are read', () => {
  const root = readXml(answer);
  const [first, second] = itemsOf(root, 'imagesSet');
  assert.equal(root.name, 'DescribeImagesResponse');
  assert.equal(textAt(root, 'imagesSet', 'item', 'imageId'), 'ami-1');
  assert.equal(textAt(first, 'name'), 'a <b> & é💥<c>');
  assert.deepEqual(
    [textAt(first, 'description'), textAt(first, 'none'), textAt(second, 'imageId')],
    [...[undefined, undefined, undefined]],
  );
  assert.deepEqual([itemsOf(root, 'none'), itemsOf(undefined, 'none')], [[], []]);
});

test('control characters in one text leave the others readable', () => {
  const root = readXml('<a><b>x\u001b[2J&#x1b;</b><c>y</c></a>');
  assert.deepEqual([textAt(root, 'b'), textAt(root, 'c')], ['x [2J\u001b', 'y']);
});

test('what is no such document is refused without a word of it', () => {
  const secret = 'hunter2';
  for (const text of [
    ...['', secret, `<a>${secret}`, `<a></${secret}>`, `<a><b></a></b>`, '<a/><b/>', `<a/>${secret}`, '</a>', '<>'],
    ...[
      `<!DOCTYPE a [<!ENTITY b "${secret}">]><a>&b;</a>`,
      '<a>&b;</a>',
      '<a>& b</a>',
      '<a>&#0;</a>',
      '<a>&#x110000;</a>',
    ],
    ...['<a', '<a b>', '<a b=c/>', '<a b="c"d="e"/>', '<a/', '<!-- ', '<a><![CDATA[', '<?a', '<a></a', '{"a":1}'],
    ...[`${'<a>'.repeat(100)}${'</a>'.repeat(100)}`, `<a>${'<b/>'.repeat(300_000)}</a>`],
  ])
    assert.throws(
      () => readXml(text),
      (error) => error instanceof XmlInvalid && !error.message.includes(secret),
      text.slice(0, 40),
    );
});

for (const [what, made] of Object.entries<(size: number) => string>({
  'a tag without an end': (size) => `<a ${' '.repeat(size)}`,
  'an attribute without an end': (size) => `<a b="${'c'.repeat(size)}`,
  'a name without an end': (size) => `<${'a'.repeat(size)}`,
  'a name of an attribute without an end': (size) => `<a ${'b'.repeat(size)}`,
  'many attributes': (size) => `<a${' b="c"'.repeat(size / 6)}/>`,
  'an ampersand and nothing': (size) => `<a>${'x'.repeat(size)}&</a>`,
  references: (size) => `<a>${'&amp;'.repeat(size / 5)}</a>`,
  'sections of texts': (size) => `<a>${'<![CDATA[]]>'.repeat(size / 12)}</a>`,
  comments: (size) => `<a>${'<!---->'.repeat(size / 7)}</a>`,
}))
  test(`the cost is linear: ${what}`, async () => {
    const read = (text: string): void => {
      try {
        readXml(text);
      } catch (error) {
        if (!(error instanceof XmlInvalid)) throw error;
      }
    };
    await assertLinear({ name: what, input: made, limit: 4 << 20, read });
  });
