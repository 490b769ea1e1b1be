import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { isMainThread } from 'node:worker_threads';
import { threadTests } from './thread-test.ts';

const threaded = threadTests(import.meta.url);

threaded('the body runs in another thread, and what it says of itself is told', async (t) => {
  assert.equal(isMainThread, false);
  t.diagnostic('it ran in a thread');
});

if (isMainThread)
  test('negative control: a body that throws makes its test red with its words, and the next one runs all the same', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'drydock-thread-test-'));
    try {
      const file = join(folder, 'x.test.ts');
      const declare = import.meta.resolve('./thread-test.ts');
      writeFileSync(
        file,
        `import { threadTests } from '${declare}';
const test = threadTests(import.meta.url);
test('first', async () => { throw new Error('nothing bears the name'); });
test('second', async (t) => t.diagnostic('the second one ran'));
test('third', async () => process.exit(3));
`,
      );
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      const child = spawn(process.execPath, ['--test-reporter=tap', file], {
        env,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const said = await text(child.stdout);
      assert.match(said, /^not ok 1 - first$/m);
      assert.match(said, /nothing bears the name/);
      assert.match(said, /^ok 2 - second$/m);
      assert.match(said, /^# the second one ran$/m);
      assert.match(said, /^not ok 3 - third$/m);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
