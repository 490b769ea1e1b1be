import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStream } from './stream.ts';

test('streams with missing maps read as empty, other text is an error', () => {
  assert.equal(parseStream('{}').release('x86_64', 'vmware'), undefined);
  assert.equal(parseStream('{"architectures":{"constructor":1}}').release('constructor', 'vmware'), undefined);
  for (const text of [undefined, '[]', '1'])
    assert.throws(() => parseStream(text), /failed to parse CoreOS stream metadata: /);
});
