import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeavyJson } from './json-weight.ts';
import { parseObjects } from './managed-fields.ts';
import { lineFramer } from './watch.ts';

test('SAFE-1 what would take too long is refused before it is parsed, and what is only long is not', () => {
  const heavy = `[${Array.from({ length: 2 ** 20 }, (_, n) => `{"${n.toString(36)}":0}`).join(',')}]`;
  assert.throws(() => parseObjects(heavy, () => []), HeavyJson);
  assert.throws(() => parseObjects(`[${'[],'.repeat(2 ** 21)}0]`, () => []), HeavyJson);
  const long = JSON.stringify({ metadata: { name: 'a' }, data: { text: ':[{"'.repeat(2 ** 20) } });
  parseObjects(long, (object) => [object]);
});

test('SAFE-2 a line of a watch that has no end is given up at 16 MiB', () => {
  const framer = lineFramer('watch Bigs');
  const chunk = Buffer.alloc(65_536, 'x');
  assert.throws(() => {
    for (let bytes = 0; bytes <= 2 ** 24; bytes += chunk.length) framer.push(chunk);
  }, /larger than 16777216 bytes/);
});
