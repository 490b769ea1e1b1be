import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { child, childText, elements, SOAP_NS, VIM_NS, type XmlElement, type XmlNode, XSD_NS, XSI_NS } from './xml.ts';
import { XmlSyntaxError } from './xml-characters.ts';
import { parseXml } from './xml-tree.ts';
import { writeXml } from './xml-writer.ts';

test('names are resolved by URI, whatever the prefix and wherever it is declared', () => {
  const envelope = parseXml(
    `<e:Envelope xmlns:e="${SOAP_NS}" xmlns:i="${XSI_NS}" xmlns:d="${XSD_NS}"><e:Body><a xmlns="${VIM_NS}" i:type="d:string">x</a></e:Body></e:Envelope>`,
  );
  const own = parseXml(
    `<a xmlns="${VIM_NS}" xmlns:_XMLSchema-instance="${XSI_NS}" xmlns:q="${XSD_NS}" _XMLSchema-instance:type="q:string">x</a>`,
  );
  assert.deepEqual(child(child(envelope, 'Body'), 'a'), own);
  assert.deepEqual(own.type, { uri: XSD_NS, local: 'string' });
});

test('a prefix that is not declared is an error on a name and dropped on a type', () => {
  assert.throws(() => parseXml('<x:a/>'), XmlSyntaxError);
  assert.throws(() => parseXml('<a x:b="1"/>'), XmlSyntaxError);
  assert.throws(() => parseXml('<a xmlns:p="u" xmlns:q="u" p:b="1" q:b="2"/>'), XmlSyntaxError);
  assert.deepEqual(parseXml(`<a xmlns:i="${XSI_NS}" i:type="vim25:X"/>`).type, { uri: '', local: 'X' });
});

const PLAIN = { noNullPrototype: true } as const;
const TREE = fc.letrec<{ element: XmlElement; node: XmlNode }>((tie) => {
  const uri = fc.constantFrom(VIM_NS, XSD_NS, '', 'urn:other');
  const name = fc.constantFrom('spec', 'value', 'x-1', '__proto__');
  const text = fc.constantFrom('x', ' ', 'R&D <1>', '"q"', '\r\n', '\t', '😀', ']]>');
  return {
    node: fc.oneof({ maxDepth: 4 }, text, tie('element')),
    element: fc
      .record(
        {
          uri,
          name,
          type: fc.option(fc.record({ uri: fc.constantFrom(VIM_NS, XSD_NS, 'urn:types'), local: name }, PLAIN), {
            nil: undefined,
          }),
          attributes: fc.uniqueArray(
            fc.record(
              {
                uri: fc.constantFrom('', 'urn:attributes', 'http://www.w3.org/XML/1998/namespace'),
                local: name,
                value: text,
              },
              PLAIN,
            ),
            {
              maxLength: 3,
              selector: (at) => `${at.uri} ${at.local}`,
            },
          ),
          children: fc.array(tie('node'), { maxLength: 4 }),
        },
        PLAIN,
      )
      .map(({ type, children, ...rest }) => ({
        ...rest,
        ...(type === undefined ? {} : { type }),
        // Neighbouring texts are one in a document.
        children: children.reduce<XmlNode[]>((joined, node) => {
          const last = joined.at(-1);
          if (typeof node === 'string' && typeof last === 'string') joined[joined.length - 1] = last + node;
          else joined.push(node);
          return joined;
        }, []),
      })),
  };
}).element;

test('VS-W88 a subtree that is echoed means the same, unknown fields, types and namespaces included', () => {
  fc.assert(
    fc.property(TREE, fc.constantFrom('', VIM_NS), (tree, around) => {
      const document = `<r xmlns="${around}" xmlns:xsd="${XSD_NS}" xmlns:xsi="${XSI_NS}">${writeXml(tree, around)}</r>`;
      assert.deepEqual(elements(parseXml(document))[0], tree);
    }),
    { numRuns: 500 },
  );
});

test('VS-W88 an import spec whose prefixes are declared on the envelope survives the echo', () => {
  const answer = parseXml(
    `<e:Envelope xmlns:e="${SOAP_NS}" xmlns:xx="${XSI_NS}" xmlns:dd="${XSD_NS}"><importSpec xmlns="${VIM_NS}" xx:type="VirtualMachineImportSpec"><fromTheFuture/><configSpec><name>n</name>` +
      '<extraConfig xx:type="OptionValue"><key>k</key><value xx:type="dd:string">R&amp;D</value></extraConfig></configSpec></importSpec></e:Envelope>',
  );
  const spec = elements(answer)[0];
  assert.ok(spec);
  const sent = parseXml(`<B xmlns:xsd="${XSD_NS}" xmlns:xsi="${XSI_NS}">${writeXml({ ...spec, name: 'spec' })}</B>`);
  assert.deepEqual(elements(sent)[0], { ...spec, name: 'spec' });
});

test('VS-W87 unknown elements, types and attributes are kept', () => {
  const tree = parseXml(
    `<val xmlns="${VIM_NS}" xmlns:i="${XSI_NS}" i:type="FromTheFuture" odd="1"><unheardOf><deep>1</deep></unheardOf><name>n</name></val>`,
  );
  assert.equal(tree.type?.local, 'FromTheFuture');
  assert.equal(childText(tree, 'name'), 'n');
  assert.equal(childText(child(tree, 'unheardOf'), 'deep'), '1');
  assert.deepEqual(tree.attributes, [{ uri: '', local: 'odd', value: '1' }]);
});

test('what no XML document can carry is refused before it is written', () => {
  assert.throws(() => writeXml({ uri: '', name: 'a', attributes: [], children: ['\u0001'] }), XmlSyntaxError);
});
