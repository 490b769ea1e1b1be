import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { DurableError } from './errors.ts';
import { replaceFileDurable } from './file.ts';
import { nodeOps } from './node-ops.ts';
import type { FsOps } from './ops.ts';
import { probeExchange } from './probe.ts';
import { inspect, recover } from './recover.ts';
import { removeTreeDurable } from './remove-tree.ts';
import { syncDir, syncDirs } from './sync-dir.ts';
import { memoryFs } from './testing/memory-fs.ts';
import { scratch } from './testing/scratch.ts';
import { traced } from './testing/tracing.ts';

const files = (content: string): Map<string, { content: string }> => new Map([['a', { content }]]);
const until = async (done: () => boolean): Promise<void> => {
  while (!done()) await new Promise(setImmediate);
};
const noExchange: FsOps = {
  ...nodeOps,
  exchange: () => Promise.reject(Object.assign(new Error('EINVAL: renameat2'), { code: 'EINVAL' })),
};

test('recover: removes what is ours and nothing else, does not follow links, and twice is once', async () => {
  await using dir = await scratch();
  await mkdir(dir.at('t'));
  await mkdir(dir.at('.t.0123456789abcdef.staging'));
  await writeFile(dir.at('.t.0123456789abcdef.staging/secret'), 'key');
  await mkdir(dir.at('t/.u.0123456789abcdef.trash'));
  await writeFile(dir.at('.m.0123456789ab.staging'), 'half');
  await writeFile(dir.at('.m.staging'), 'foreign');
  await mkdir(dir.at('elsewhere'));
  await writeFile(dir.at('elsewhere/.x.0123456789abcdef.staging'), 'not below the root');
  await symlink('../elsewhere', dir.at('t/link'));
  const found = await inspect(dir.path);
  assert.deepEqual(found.leftovers.map(({ kind }) => kind).sort(), ['staging', 'staging', 'staging', 'trash']);
  await recover(dir.at('t'));
  assert.deepEqual(await readdir(dir.at('elsewhere')), ['.x.0123456789abcdef.staging']);
  const { removed, kept, putBack } = await recover(dir.path);
  assert.deepEqual([removed.length, kept, putBack], [3, [], []]);
  assert.deepEqual((await readdir(dir.path)).sort(), ['.m.staging', 'elsewhere', 't']);
  assert.deepEqual((await recover(dir.path)).removed, []);
});

test('recover: a root that is missing is nothing to do', async () => {
  await using dir = await scratch();
  assert.deepEqual(await recover(dir.at('no')), { putBack: [], removed: [], kept: [], fsyncs: 0 });
});

test('recover: a missing target gets its newest old directory back, a present one keeps its content', async () => {
  await using dir = await scratch();
  for (const [name, text] of [
    ['.gone.00000000000000aa.old', 'older'],
    ['.gone.00000000000000bb.old', 'newer'],
    ['.here.00000000000000cc.old', 'replaced'],
    ['here', 'current'],
  ] as const) {
    await mkdir(dir.at(name));
    // The file system's clock ticks every few milliseconds.
    const before = performance.now();
    await until(() => performance.now() > before + 20);
    await writeFile(dir.at(`${name}/a`), text);
  }
  const { putBack, removed } = await recover(dir.path);
  assert.deepEqual(putBack, [dir.at('gone')]);
  assert.equal(removed.length, 2);
  assert.equal(await readFile(dir.at('gone/a'), 'utf8'), 'newer');
  assert.equal(await readFile(dir.at('here/a'), 'utf8'), 'current');
  assert.deepEqual((await readdir(dir.path)).sort(), ['gone', 'here']);
});

test('recover: a staging name that is the same directory as a target is not touched', async () => {
  const fs = memoryFs();
  await syncDir({ target: '/t', files: files('1'), ops: fs });
  const image = fs.now();
  const ino = image.entries.get(1)?.get('t') ?? 0;
  const torn = new Map([...(image.entries.get(1) ?? []), ['.t.0123456789abcdef.staging', ino] as const]);
  const after = memoryFs({ image: { ...image, entries: new Map([...image.entries, [1, torn] as const]) } });
  assert.deepEqual((await recover('/', { ops: after })).kept, ['/.t.0123456789abcdef.staging']);
  assert.equal(Buffer.from(await after.read('/t/a')).toString(), '1');
});

test('recover: what fails names the path and can be run again', async () => {
  await using dir = await scratch();
  await mkdir(dir.at('.t.0123456789abcdef.staging'));
  const { ops } = traced(nodeOps, ({ op }) => (op === 'rmdir' ? 'EIO' : undefined));
  await assert.rejects(recover(dir.path, { ops }), { code: 'RECOVERY_FAILED', stage: 'recover', errno: 'EIO' });
  assert.equal((await recover(dir.path)).removed.length, 1);
});

test('recover: a signal ends it with its own reason, not as a failure of the disk', async () => {
  await using dir = await scratch();
  await mkdir(dir.at('a/b'), { recursive: true });
  for (const op of ['list', 'fsync', 'lstat'] as const) {
    const stop = new AbortController();
    const { ops } = traced(nodeOps, (call) => {
      if (call.op === op) stop.abort(new Error('the time is over'));
      return undefined;
    });
    await mkdir(dir.at('.x.0123456789abcdef.staging'), { recursive: true });
    await assert.rejects(recover(dir.path, { ops, signal: stop.signal }), {
      name: 'Error',
      message: 'the time is over',
    });
  }
});

test('recover: somebody else who removes the same leftover at the same time is no failure', async () => {
  await using dir = await scratch();
  await mkdir(dir.at('.probe.0123456789abcdef.staging'));
  await writeFile(dir.at('.probe.0123456789abcdef.staging/a'), '');
  const { ops } = traced(nodeOps);
  const racing: FsOps = {
    ...ops,
    unlink: async (path) => {
      await rm(dir.at('.probe.0123456789abcdef.staging'), { recursive: true });
      await ops.unlink(path);
    },
  };
  assert.equal((await recover(dir.path, { ops: racing })).removed.length, 1);
  assert.deepEqual(await readdir(dir.path), []);
});

test('recover: a parent that is closed to the owner of the root is left to who made the root; one that fails is an error', async () => {
  await using dir = await scratch();
  await mkdir(dir.at('t'));
  const parent = (errno: string) =>
    traced(nodeOps, ({ op, path }) => (op === 'open' && path === dir.path ? errno : undefined));
  const closed = parent('EACCES');
  assert.equal((await recover(dir.at('t'), { ops: closed.ops })).fsyncs, 2);
  await assert.rejects(recover(dir.at('t'), { ops: parent('EIO').ops }), { stage: 'fsync-parent', errno: 'EIO' });
});

test('inspect: what cannot be read is an error of this package', async () => {
  await using dir = await scratch();
  const { ops } = traced(nodeOps, ({ op }) => (op === 'list' ? 'EACCES' : undefined));
  await assert.rejects(inspect(dir.path, { ops }), { name: 'DurableError', stage: 'recover', errno: 'EACCES' });
});

test('exchange is not available: require changes nothing and says what to do, auto replaces by two renames', async () => {
  await using dir = await scratch();
  const target = dir.at('t');
  await syncDir({ target, files: files('1') });
  await assert.rejects(syncDir({ target, files: files('2'), ops: noExchange }), {
    code: 'EXCHANGE_UNAVAILABLE',
    visible: 'old',
    retriable: false,
    message: /the file system cannot exchange.*The old content is untouched.*exchange: 'auto'/,
  });
  assert.deepEqual(await readdir(dir.path), ['t']);
  const result = await syncDir({ target, files: files('2'), exchange: 'auto', ops: noExchange });
  assert.deepEqual([result.changed, result.swapped, result.atomic, result.cleanup], [true, true, false, 'done']);
  assert.equal(await readFile(dir.at('t/a'), 'utf8'), '2');
  assert.deepEqual(await readdir(dir.path), ['t']);
});

test('two renames: the second one fails and the old directory is put back; where that fails too, recover does it', async () => {
  await using dir = await scratch();
  const target = dir.at('t');
  await syncDir({ target, files: files('1') });
  const second = traced(noExchange, ({ op, path }) =>
    op === 'rename' && path.endsWith('.staging') ? 'EIO' : undefined,
  );
  await assert.rejects(syncDir({ target, files: files('2'), exchange: 'auto', ops: second.ops }), {
    code: 'RENAME_FAILED',
    visible: 'old',
  });
  assert.equal(await readFile(dir.at('t/a'), 'utf8'), '1');
  assert.deepEqual(await readdir(dir.path), ['t']);
  const both = traced(noExchange, ({ op, path }) => (op === 'rename' && path !== target ? 'EIO' : undefined));
  await assert.rejects(syncDir({ target, files: files('2'), exchange: 'auto', ops: both.ops }), {
    code: 'RENAME_FAILED',
    visible: 'unknown',
  });
  assert.ok(!(await readdir(dir.path)).includes('t'));
  assert.deepEqual((await recover(dir.path)).putBack, [target]);
  assert.equal(await readFile(dir.at('t/a'), 'utf8'), '1');
  assert.deepEqual(await readdir(dir.path), ['t']);
});

test('two renames: a run after one that was cut finishes it first', async () => {
  await using dir = await scratch();
  const target = dir.at('t');
  await syncDir({ target, files: files('1') });
  const both = traced(noExchange, ({ op, path }) => (op === 'rename' && path !== target ? 'EIO' : undefined));
  await assert.rejects(syncDir({ target, files: files('2'), exchange: 'auto', ops: both.ops }));
  const result = await syncDir({ target, files: files('1') });
  assert.equal(result.changed, false, 'the old directory was put back and is equal');
  assert.equal(await readFile(dir.at('t/a'), 'utf8'), '1');
});

test('probeExchange: says what a file system can do, and leaves nothing', async () => {
  await using dir = await scratch();
  assert.deepEqual(await probeExchange(dir.path), { available: true });
  const without = await probeExchange(dir.path, { ops: noExchange });
  assert.ok(!without.available && without.reason instanceof DurableError);
  assert.match(without.reason.message, /cannot exchange/);
  assert.deepEqual(await readdir(dir.path), []);
  await assert.rejects(probeExchange(dir.at('no')), { code: 'WRITE_FAILED', stage: 'prepare', errno: 'ENOENT' });
});

test('removeTreeDurable: gone as a whole, parents synced before the content goes, missing is fine', async () => {
  await using dir = await scratch();
  await syncDir({ target: dir.at('t'), files: files('1') });
  const { ops, calls } = traced(nodeOps);
  const result = await removeTreeDurable(dir.at('t'), dir.at('trash'), { ops });
  assert.deepEqual(result, { changed: true, cleanup: 'done', fsyncs: 2 });
  const last = calls.findLastIndex(({ op }) => op === 'fsync');
  assert.ok(calls.findIndex(({ op }) => op === 'rename') < last && last < calls.findIndex(({ op }) => op === 'unlink'));
  assert.deepEqual(await readdir(dir.path), ['trash']);
  assert.deepEqual(await readdir(dir.at('trash')), []);
  const absent = traced(nodeOps);
  assert.deepEqual(await removeTreeDurable(dir.at('t'), dir.path, { ops: absent.ops }), {
    changed: false,
    cleanup: 'done',
    fsyncs: 1,
  });
  assert.equal((await removeTreeDurable(dir.at('t'), dir.path, { ops: absent.ops })).fsyncs, 0);
  await syncDir({ target: dir.at('t'), files: files('1') });
  await assert.rejects(removeTreeDurable(dir.at('t'), dir.at('t/trash')), { code: 'INVALID' });
  const stuck = traced(nodeOps, ({ op }) => (op === 'unlink' ? 'EIO' : undefined));
  assert.equal((await removeTreeDurable(dir.at('t'), dir.path, { ops: stuck.ops })).cleanup, 'deferred');
  assert.equal((await recover(dir.path)).removed.length, 1);
});

test('syncDirs: one round of syncs for all, each parent once; a swap that fails says how many were replaced', async () => {
  await using dir = await scratch();
  const specs = (text: string) => ['x', 'y', 'z'].map((name) => ({ target: dir.at(name), files: files(text) }));
  await syncDirs(specs('1'));
  const { ops, count } = traced(nodeOps);
  const { directories, fsyncs } = await syncDirs(specs('2'), { ops });
  assert.deepEqual([directories.map(({ changed }) => changed), fsyncs, count('fsync')], [[true, true, true], 7, 7]);
  const failing = traced(nodeOps, ({ op, path }) => (op === 'exchange' && path === dir.at('y') ? 'EBUSY' : undefined));
  await assert.rejects(syncDirs(specs('3'), { ops: failing.ops }), {
    code: 'EXCHANGE_FAILED',
    path: dir.at('y'),
    visible: 'unknown',
    message: /1 of 3 directories were replaced before it/,
  });
  const now = await Promise.all(['x', 'y', 'z'].map((name) => readFile(dir.at(`${name}/a`), 'utf8')));
  assert.deepEqual(now, ['3', '2', '2']);
  // Nothing of the batch is on the disk for sure yet: what was replaced may be the only durable copy.
  const { leftovers } = await inspect(dir.path);
  assert.deepEqual(
    leftovers.map(({ target }) => target),
    [dir.at('x')],
  );
  assert.equal(await readFile(`${leftovers[0]?.path}/a`, 'utf8'), '2');
  await recover(dir.path);
  assert.deepEqual((await readdir(dir.path)).sort(), ['x', 'y', 'z']);
  assert.deepEqual((await syncDirs([])).directories, []);
});

test('durable: false and no sync on a file system in memory, true on others', async () => {
  await using dir = await scratch();
  const inMemory: FsOps = { ...nodeOps, volatile: async () => true };
  const memory = await syncDir({ target: dir.at('t'), files: files('1'), ops: inMemory });
  assert.deepEqual([memory.durable, memory.fsyncs], [false, 0]);
  const onDisk: FsOps = { ...nodeOps, volatile: async () => false };
  assert.equal((await syncDir({ target: dir.at('t'), files: files('2'), ops: onDisk })).durable, true);
});

test('a signal that is aborted while files are written leaves the old content and no staging', async () => {
  await using dir = await scratch();
  await syncDir({ target: dir.at('t'), files: files('1') });
  const stop = new AbortController();
  const { ops } = traced(nodeOps, ({ op }) => {
    if (op === 'fsync') stop.abort(new Error('stop'));
    return undefined;
  });
  await assert.rejects(syncDir({ target: dir.at('t'), files: files('2'), ops, signal: stop.signal }), /stop/);
  assert.equal(await readFile(dir.at('t/a'), 'utf8'), '1');
  assert.deepEqual(await readdir(dir.path), ['t']);
  await assert.rejects(replaceFileDurable(dir.at('f'), 'x', { signal: stop.signal }), /stop/);
});
