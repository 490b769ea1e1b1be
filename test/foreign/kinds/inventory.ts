import assert from 'node:assert/strict';
import { ReleaseError } from '@drydock/release';
import { type Chunk, chunkText, readChunk } from '../../../packages/release/src/apply/inventory/chunk.ts';
import { type Format, growing, type Hostile, nested, pieces } from '../format.ts';

const read = (entries: string): Chunk =>
  readChunk({ metadata: { name: 'drydock-release-a-7', namespace: 'n' }, data: { owner: 'Payload a', entries } });

const entry = (name: string, more: string = ''): string =>
  `{"id":{"group":"","kind":"ConfigMap","namespace":"n","name":"${name}"},"version":"v1","file":"0000_10_a_1.yaml","releases":["1"],"uid":"u","made":true,"written":{"data":{"a":"digest"}}${more}}`;

/** What a release has written, kept in ConfigMaps that others may edit. */
export const inventories: Format<Chunk> = {
  name: 'inventories',
  examples: [
    `${entry('a')}\n${entry('b', ',"intent":{"resourceVersion":"7","written":{}},"left":true')}`,
    entry('c', ',"settled":{"manifest":"m","content":"c"},"held":{"count":2,"names":["n/a","n/b"]}'),
    '',
  ],
  pieces: [
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"',
    '\\',
    '\n',
    'null',
    '"id":',
    '"written":{',
    '"releases":[',
    '"__proto__":',
    '-1',
  ],
  nest: ['[', ']'],
  read: (bytes) => read(bytes.toString()),
  refuses: (error) => error instanceof ReleaseError && error.code === 'BAD_INVENTORY',
  check: ({ entries }) => {
    const written = chunkText(entries);
    assert.equal(chunkText(read(written).entries), written);
    for (const { id, releases } of entries.values())
      assert.ok(id.kind !== '' && id.name !== '' && Array.isArray(releases));
  },
};

/** Hostile inventories. */
export const inventoryGrowth: readonly Hostile[] = growing(
  'an inventory',
  {
    entries: (size: number) => pieces(size, (n) => entry(n), '\n'),
    'the same entry': (size: number) => pieces(size, () => entry('a'), '\n'),
    lines: (size: number) => '\n'.repeat(size),
    levels: (size: number) => nested(size, '[', '', ']'),
    keys: (size: number) => entry('a', `,"more":{${pieces(size, (n) => `"${n}":1`, ',')}}`),
  },
  // A server takes no more for a ConfigMap.
  { limit: 2 ** 20, read },
);
