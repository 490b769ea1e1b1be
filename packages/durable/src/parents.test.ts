import assert from 'node:assert/strict';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { nodeOps } from './node-ops.ts';
import { makeDirectoryDurable } from './parents.ts';
import { scratch } from './testing/scratch.ts';
import { traced } from './testing/tracing.ts';

test('DU-W8 makeDirectoryDurable: each missing directory, 0755 under any umask, durable before the next one is made', async () => {
  await using dir = await scratch();
  const { ops, calls } = traced(nodeOps);
  const umask = process.umask(0o077);
  const made = await makeDirectoryDurable(dir.at('a/b/c'), { ops }).finally(() => process.umask(umask));
  assert.equal(made, true);
  for (const path of ['a', 'a/b', 'a/b/c']) assert.equal((await stat(dir.at(path))).mode & 0o777, 0o755);
  const order = calls.filter(({ op }) => op === 'mkdir' || op === 'fsync').map(({ op, path }) => `${op} ${path}`);
  assert.deepEqual(order, [
    `fsync ${dirname(dir.path)}`,
    ...['a', 'a/b'].flatMap((path) => [`mkdir ${dir.at(path)}`, `fsync ${dirname(dir.at(path))}`]),
    `mkdir ${dir.at('a/b/c')}`,
    `fsync ${dir.at('a/b/c')}`,
    `fsync ${dir.at('a/b')}`,
  ]);
  assert.equal(await makeDirectoryDurable(dir.at('a/b/c')), false);
});

test('makeDirectoryDurable: eight processes may make the same one, and one may be filled already', async () => {
  await using dir = await scratch();
  const racing = Array.from({ length: 8 }, () => makeDirectoryDurable(dir.at('x/y/z')));
  await Promise.all(racing);
  assert.deepEqual(await readdir(dir.at('x/y')), ['z']);
  // Another one was faster, and has put its lock into it.
  const slow = {
    ...nodeOps,
    mkdir: async (path: string, mode: number) => {
      await mkdir(path);
      await writeFile(`${path}/lock`, '');
      await nodeOps.mkdir(path, mode);
    },
  };
  assert.equal(await makeDirectoryDurable(dir.at('w'), { ops: slow }), true);
  assert.deepEqual(await readdir(dir.at('w')), ['lock']);
});

test('makeDirectoryDurable: a failure says whether the directory is visible', async () => {
  for (const [op, path, visible] of [
    ['mkdir', 'a', 'old'],
    ['mkdir', 'a/b', 'old'],
    ['chmod', 'a/b', 'unknown'],
    ['fsync', 'a', 'new'],
    ['fsync', 'a/b', 'new'],
  ] as const) {
    await using dir = await scratch();
    const { ops } = traced(nodeOps, (call) => (call.op === op && call.path === dir.at(path) ? 'EIO' : undefined));
    await assert.rejects(makeDirectoryDurable(dir.at('a/b'), { ops }), {
      name: 'DurableError',
      errno: 'EIO',
      path: dir.at(path),
      visible,
    });
  }
});
