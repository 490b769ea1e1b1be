import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { commitTree } from './commit-tree.ts';
import { nodeOps } from './node-ops.ts';
import { scratch } from './testing/scratch.ts';
import { traced } from './testing/tracing.ts';

const revision = new Map([
  ['secrets/tls/tls.crt', { content: 'crt', mode: 0o600 }],
  ['secrets/tls/run.sh', { content: '#!/bin/sh', mode: 0o700 }],
  ['pod.yaml', { content: Uint8Array.of(0, 255), mode: 0o640 }],
]);
const dirs = new Map([
  ['configmaps', 0o755],
  ['secrets', 0o500],
]);

test('commitTree: the whole tree with its modes, one fsync for each file, directory and the parent, one rename', async () => {
  await using dir = await scratch();
  const { ops, calls, count } = traced(nodeOps);
  const umask = process.umask(0o077);
  const result = await commitTree({ dir: dir.at('pod-7'), files: revision, dirs, mode: 0o711, ops }).finally(() =>
    process.umask(umask),
  );
  assert.equal(result.changed, true);
  const directories = ['', 'configmaps', 'secrets', 'secrets/tls'];
  assert.deepEqual([result.fsyncs, count('rename')], [revision.size + directories.length + 1, 1]);
  const mode = async (path: string): Promise<string> => ((await stat(dir.at(path))).mode & 0o777).toString(8);
  const modes = await Promise.all([...directories, ...revision.keys()].map((path) => mode(`pod-7/${path}`)));
  assert.deepEqual(modes, ['711', '755', '500', '755', '600', '700', '640']);
  assert.deepEqual([...(await readFile(dir.at('pod-7/pod.yaml')))], [0, 255]);
  assert.deepEqual(await readdir(dir.path), ['pod-7']);
  const rename = calls.findIndex(({ op }) => op === 'rename');
  assert.equal(calls.slice(rename).filter(({ op }) => op === 'fsync').length, 1);
});

test('commitTree: an equal tree is accepted and made durable once, another one is refused', async () => {
  await using dir = await scratch();
  const { ops } = traced(nodeOps);
  await commitTree({ dir: dir.at('r'), files: revision, dirs });
  const again = () => commitTree({ dir: dir.at('r'), files: revision, dirs, ops });
  const first = await again();
  assert.deepEqual([first.changed, first.fsyncs], [false, 8]);
  assert.equal((await again()).fsyncs, 0);
  await writeFile(dir.at('r/extra'), 'x');
  await assert.rejects(again(), { code: 'EXISTS', visible: 'old', retriable: false });
  await mkdir(dir.at('empty'));
  await assert.rejects(commitTree({ dir: dir.at('empty'), files: revision }), { code: 'EXISTS' });
  assert.deepEqual(await readdir(dir.at('empty')), []);
});

test('commitTree: bad paths, contents and modes are refused before any call', async () => {
  const { ops, calls } = traced(nodeOps);
  const file = { content: 'x' };
  const bad = [
    new Map([['../x', file]]),
    new Map([['/x', file]]),
    new Map([['a//b', file]]),
    new Map([
      ['a', file],
      ['a/b', file],
    ]),
    new Map([['a', { content: 'x', mode: 0o77777 }]]),
    new Map([['a', { content: 1 as unknown as string }]]),
  ];
  for (const files of bad)
    await assert.rejects(commitTree({ dir: '/tmp/never', files, ops }), { code: 'INVALID', stage: 'validate' });
  assert.deepEqual(calls, []);
});

test('commitTree: missing ancestors are made and synced, a failure leaves nothing of the tree', async () => {
  await using dir = await scratch();
  const { ops } = traced(nodeOps, ({ op }) => (op === 'rename' ? 'ENOSPC' : undefined));
  await assert.rejects(commitTree({ dir: dir.at('a/b/r'), files: revision, ops }), {
    code: 'RENAME_FAILED',
    visible: 'old',
    errno: 'ENOSPC',
  });
  assert.deepEqual(await readdir(dir.at('a/b')), []);
  const fresh = traced(nodeOps);
  await commitTree({ dir: dir.at('c/d/r'), files: revision, ops: fresh.ops });
  const synced = fresh.calls.filter(({ op }) => op === 'fsync').map(({ path }) => path);
  for (const path of [dir.path, dir.at('c'), dir.at('c/d')]) assert.ok(synced.includes(path), path);
});
