import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeOps } from './node-ops.ts';
import type { FsOps } from './ops.ts';
import { makeDirectoryDurable } from './parents.ts';
import { recover } from './recover.ts';
import { scratch } from './testing/scratch.ts';
import { traced } from './testing/tracing.ts';

/** The machine as it is where `path` is a read-only file system that cannot be synced, and all below it another one. */
function below(path: string): FsOps {
  return {
    ...nodeOps,
    lstat: async (at) => {
      const stat = await nodeOps.lstat(at);
      return stat === undefined || at.startsWith(`${path}/`)
        ? stat
        : { ...stat, identity: `squashfs:${stat.identity}` };
    },
    fsync: (file) =>
      file.path.startsWith(`${path}/`)
        ? nodeOps.fsync(file)
        : Promise.reject(Object.assign(new Error(`EINVAL: fsync ${file.path}`), { code: 'EINVAL' })),
  };
}

test('TRUTH-8 a parent on another file system, which may not be able to sync, is left out', async () => {
  await using dir = await scratch();
  await nodeOps.mkdir(dir.at('mounted'), 0o755);
  const { ops, calls } = traced(below(dir.path));
  assert.equal(await makeDirectoryDurable(dir.at('mounted/a/b'), { ops }), true);
  await nodeOps.mkdir(dir.at('mounted/new'), 0o755);
  assert.ok((await recover(dir.at('mounted'), { ops })).fsyncs > 0);
  assert.ok(calls.some(({ op, path }) => op === 'fsync' && path === dir.at('mounted')));
  assert.ok(!calls.some(({ op, path }) => op === 'fsync' && path === dir.path));
});

test('TRUTH-8 recover syncs what this process does not know to be durable, and nothing twice', async () => {
  await using dir = await scratch();
  for (const name of ['a', 'b', 'c']) await nodeOps.mkdir(dir.at(name), 0o755);
  const { ops, count } = traced(nodeOps);
  assert.equal((await recover(dir.path, { ops })).fsyncs, 5);
  assert.equal((await recover(dir.path, { ops })).fsyncs, 0);
  await nodeOps.mkdir(dir.at('b/new'), 0o755);
  assert.equal((await recover(dir.path, { ops })).fsyncs, 2, 'b, and what is new in it');
  assert.equal(count('fsync'), 7);
});
