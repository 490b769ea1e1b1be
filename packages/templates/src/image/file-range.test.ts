import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { fileRange } from './file-range.ts';

const CHUNK = 256 * 1024;

test('a chunk stays as it is until the next one is taken, however slow its consumer is', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'range-'));
  t.after(() => rm(dir, { recursive: true }));
  const content = randomBytes(9 * CHUNK + 77);
  await writeFile(join(dir, 'x'), content);
  const file = await open(join(dir, 'x'));
  t.after(() => file.close());
  const memory = new Set<ArrayBufferLike>();
  let at = 5;
  for await (const chunk of fileRange(file, at, content.length - at)) {
    const bytes = chunk as Buffer;
    // The stream reads ahead meanwhile, as far as it wants to.
    for (let turn = 0; turn < 50; turn++) await setImmediate();
    assert.ok(bytes.equals(content.subarray(at, at + bytes.length)), `the chunk at ${at} changed`);
    memory.add(bytes.buffer);
    at += bytes.length;
  }
  assert.equal(at, content.length);
  assert.ok(memory.size <= 3, `${memory.size} buffers were used`);
});

test('a file that ends early gives what it has; one that is closed fails', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'range-'));
  t.after(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, 'x'), 'four');
  const file = await open(join(dir, 'x'));
  const chunks = await fileRange(file, 1, 100).toArray();
  assert.equal(String(chunks[0]), 'our');
  assert.deepEqual(await fileRange(file, 0, 0).toArray(), []);
  await file.close();
  await assert.rejects(fileRange(file, 0, 4).toArray());
});
