import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseObjects } from './managed-fields.ts';

type Item = { metadata?: { managedFields?: unknown } | null };

/** The same list, parsed in both ways, without the fields that are dropped. */
function both(items: readonly unknown[]): readonly [unknown, unknown] {
  const text = JSON.stringify({ items });
  const dropped = (list: { items: readonly unknown[] }): unknown =>
    list.items.map((item) => {
      const { metadata, ...rest } = (item ?? {}) as Item;
      const { managedFields: _, ...kept } = metadata ?? {};
      return { ...rest, metadata: kept };
    });
  return [
    dropped(parseObjects(text, (list: { items: readonly unknown[] }) => list.items)),
    dropped(structuredClone({ items })),
  ];
}

const OWNED = [
  { manager: 'a "b" \\', fieldsV1: { 'f:spec': { 'k:{"name":"x]}"}': { '.': {} } }, 'v:"managedFields":[': {} } },
];

for (const [what, item] of Object.entries({
  'at its place': { metadata: { name: 'a', managedFields: OWNED, uid: 'u' }, spec: { size: 1 } },
  'at the end, and empty': { metadata: { name: 'a', managedFields: [] } },
  absent: { metadata: { name: 'a' } },
  null: { metadata: { managedFields: null, name: 'a' } },
  'a field of the user’s own': { metadata: { name: 'a' }, spec: { managedFields: OWNED } },
  both: { spec: { metadata: { managedFields: [1] } }, metadata: { name: 'a', managedFields: OWNED } },
  'the end of another name': { metadata: { name: 'a', 'x"managedFields': [1], 'y\\': [2] } },
  'a text': { metadata: { name: '"managedFields":[' }, spec: { text: '{"metadata":{"managedFields":[]}}' } },
  'a list of lists': { metadata: { managedFields: [[{}], [[']']], '['], name: 'a' } },
  'of a list inside': { kind: 'List', items: [{ metadata: { managedFields: OWNED } }] },
  'no object': null,
}))
  test(`managedFields, ${what}: nothing else is lost`, () => {
    const [seen, meant] = both([item, { metadata: { name: 'b', managedFields: OWNED } }, item]);
    assert.deepEqual(seen, meant);
  });

test('any JSON in which managedFields are anywhere reads as it was written, but for those of the objects', () => {
  const name = fc.constantFrom(
    'managedFields',
    'metadata',
    'a',
    '"managedFields',
    '\\',
    '\n',
    'managedFields":[',
    ']',
    '"',
  );
  const value = fc.constantFrom(
    'managedFields',
    '"managedFields',
    '\\',
    'managedFields":[',
    '"managedFields":[',
    ']',
    '"',
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      value,
      fc.integer(),
      fc.constant(null),
      fc.array(tie('tree')),
      fc.dictionary(name, tie('tree')),
    ),
  }));
  const owned = fc.array(fc.dictionary(name, tree), { maxLength: 3 });
  const metadata = fc.record({ a: tree, managedFields: owned, name: value }, { requiredKeys: ['name'] });
  const item = fc.record({ a: tree, metadata, spec: tree }, { requiredKeys: ['metadata'] });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 4 }), (items) => {
      const [seen, meant] = both(items);
      assert.deepEqual(seen, meant);
    }),
    { numRuns: 2000 },
  );
});

test('a list of field owners is passed over, not parsed; a text that is cut inside it is no JSON', () => {
  const text = '{"metadata":{"managedFields":[{"manager":1e400}],"name":"a"}}';
  const seen = parseObjects(text, (object: Item) => [object]);
  assert.equal(typeof seen.metadata?.managedFields, 'string');
  for (let length = 0; length < text.length; length += 1)
    assert.throws(() => parseObjects(text.slice(0, length), (object: Item) => [object]), SyntaxError);
});
