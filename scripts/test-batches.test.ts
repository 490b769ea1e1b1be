import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchFolder } from '@drydock/sandbox';
import { root } from './command.ts';
import { batchesOf, sharesItsProcess } from './test-batches.ts';
import { testFiles } from './test-files.ts';

test('every test file is in one batch, as it is named, and small ones share a process', () => {
  using folder = scratchFolder();
  const files = testFiles(false);
  const batches = batchesOf(files, folder.path);
  assert.deepEqual(batches.flatMap((batch) => batch.files).sort(), files);
  const shared = batches.filter((batch) => batch.files.length > 1);
  for (const { module, files: members } of shared) {
    const imported = [...readFileSync(module, 'utf8').matchAll(/^import '([^']+)';$/gm)].map(([, path = '']) => path);
    assert.deepEqual(
      imported,
      members.map((file) => join(root, file)),
    );
  }
  const sharing = shared.flatMap((batch) => batch.files).length;
  assert.ok(sharing > files.length / 2, `only ${sharing} of ${files.length} share a process`);
});

test('a file that changes its process, measures it, or takes long has one for itself', () => {
  const plain = `import { test } from 'node:test';\ntest('x', () => undefined);\n`;
  assert.equal(sharesItsProcess('packages/kube/src/x.test.ts', plain), true);
  for (const [file, text] of [
    ['test/sandbox/x.test.ts', ''],
    ['packages/sandbox/src/x.test.ts', ''],
    ['packages/kube/src/x.model.test.ts', ''],
    ['packages/kube/src/x.test.ts', 'before(async () => {\n'],
    ['packages/kube/src/x.test.ts', "  process.env['HOME'] = '/nowhere';\n"],
    ['packages/kube/src/x.test.ts', "  delete process.env['HOME'];\n"],
    ['packages/kube/src/x.test.ts', "process.on('warning', () => undefined);\n"],
    ['packages/kube/src/x.test.ts', '  process.chdir(folder);\n'],
    ['packages/kube/src/x.test.ts', 'const { heapUsed } = process.memoryUsage();\n'],
    ['packages/kube/src/x.test.ts', 'await assertLinear(sizes, cost);\n'],
  ] as const)
    assert.equal(sharesItsProcess(file, `${plain}${text}`), false, `${file}: ${text}`);
  assert.equal(sharesItsProcess('packages/kube/src/x.test.ts', `${plain}if (process.env['A'] === 'b') x();\n`), true);
});
