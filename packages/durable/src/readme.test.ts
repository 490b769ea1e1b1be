import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { scratch } from './testing/scratch.ts';

const folder = join(import.meta.dirname, '..');

test('the example of the README runs in an empty folder into which the package is linked', async () => {
  await using dir = await scratch();
  const readme = await readFile(join(folder, 'README.md'), 'utf8');
  const code = /^```js\n([\s\S]*?)^```$/m.exec(readme)?.[1] ?? '';
  await mkdir(dir.at('node_modules/@drydock'), { recursive: true });
  await symlink(folder, dir.at('node_modules/@drydock/durable'));
  await writeFile(dir.at('example.mjs'), code);
  const run = await promisify(execFile)(process.execPath, ['example.mjs'], { cwd: dir.path, timeout: 60_000 });
  const root = /'(\/var\/tmp\/certificates-[^/']+)\/tls'/.exec(run.stdout)?.[1];
  assert.ok(root !== undefined, run.stdout + run.stderr);
  await rm(root, { recursive: true });
  // What the README shows, but for the name of the directory and for what depends on the file system that it lies on.
  const shown = /^```console[^\n]*\n[\s\S]*?^\$ node example\.mjs\n([\s\S]*?)^```$/m.exec(readme)?.[1] ?? '';
  const plain = (text: string): string => text.replaceAll(/certificates-\w+|durable: \w+|fsyncs: \d+/g, '…');
  assert.equal(plain(run.stdout), plain(shown));
  assert.match(shown, /durable: true,\n {2}fsyncs: 4\n/);
  assert.equal(run.stderr, '');
});
