import assert from 'node:assert/strict';
import { lstat, mkdir, readdir, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { DurableError } from './errors.ts';
import { fsyncPath, replaceFileDurable, replaceSymlinkDurable, syncDirectory, writeFileDurable } from './file.ts';
import { nodeOps } from './node-ops.ts';
import type { FsOps } from './ops.ts';
import { inspect, recover } from './recover.ts';
import { scratch } from './testing/scratch.ts';
import { traced } from './testing/tracing.ts';

/** The error of this package, with these properties. */
function fails(wanted: Partial<DurableError>): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof DurableError, String(error));
    assert.partialDeepStrictEqual(Object.assign({ message: error.message }, error), wanted);
    assert.equal(error.durable, false);
    return true;
  };
}

for (const [name, write] of Object.entries({ writeFileDurable, replaceFileDurable })) {
  test(`DU-D1 DU-D3 ${name}: content and mode are exact, also over an existing file`, async () => {
    await using dir = await scratch();
    await write(dir.at('file'), 'hello world', { mode: 0o600 });
    assert.equal((await stat(dir.at('file'))).mode & 0o777, 0o600);
    await write(dir.at('file'), Buffer.from('second'), { mode: 0o666 });
    assert.equal(await readFile(dir.at('file'), 'utf8'), 'second');
    assert.equal((await stat(dir.at('file'))).mode & 0o777, 0o666);
    assert.deepEqual(await readdir(dir.path), ['file']);
  });

  test(`DU-D2 ${name}: a missing directory is an error that says the old content is untouched`, async () => {
    await using dir = await scratch();
    await assert.rejects(
      write(dir.at('no/file'), 'x'),
      fails({ code: 'WRITE_FAILED', visible: 'old', errno: 'ENOENT' }),
    );
  });

  test(`DU-D4 ${name}: empty content is an empty file`, async () => {
    await using dir = await scratch();
    await write(dir.at('file'), '', { mode: 0o644 });
    const { size, mode } = await stat(dir.at('file'));
    assert.deepEqual([size, mode & 0o777], [0, 0o644]);
  });

  test(`DU-W12 ${name}: the umask takes nothing away`, async () => {
    await using dir = await scratch();
    const umask = process.umask(0o077);
    try {
      await write(dir.at('file'), 'x', { mode: 0o755 });
    } finally {
      process.umask(umask);
    }
    assert.equal((await stat(dir.at('file'))).mode & 0o777, 0o755);
  });

  test(`${name}: a disk that takes one byte at a time gets them all, and every byte value survives`, async () => {
    await using dir = await scratch();
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const slow: FsOps = {
      ...nodeOps,
      write: (file, part, position) => nodeOps.write(file, part.subarray(0, 1), position),
    };
    await write(dir.at('file'), bytes, { ops: slow });
    assert.deepEqual(new Uint8Array(await readFile(dir.at('file'))), bytes);
  });

  test(`${name}: a disk that takes nothing is an error, not an endless loop`, async () => {
    await using dir = await scratch();
    const full: FsOps = { ...nodeOps, write: async () => 0 };
    await assert.rejects(write(dir.at('file'), 'x', { ops: full }), fails({ code: 'WRITE_FAILED', stage: 'write' }));
  });

  test(`${name}: a bad mode and a bad name are refused before any call`, async () => {
    const seen = traced(nodeOps);
    for (const mode of [-1, 0o10000, 1.5, Number.NaN])
      await assert.rejects(
        write('/tmp/x', 'x', { mode, ops: seen.ops }),
        fails({ code: 'INVALID', stage: 'validate' }),
      );
    for (const path of ['', '/', 'a\0b', `/tmp/${'x'.repeat(256)}`])
      await assert.rejects(write(path, 'x', { ops: seen.ops }), fails({ code: 'INVALID', stage: 'validate' }));
    assert.deepEqual(seen.calls, []);
  });
}

test('DU-D6 DU-D7 DU-D8 fsyncPath: files and directories; missing is an error; the sync error comes before that of the close', async () => {
  await using dir = await scratch();
  await writeFile(dir.at('file'), 'x');
  await fsyncPath(dir.at('file'));
  await fsyncPath(dir.path);
  await syncDirectory(dir.path);
  await assert.rejects(fsyncPath(dir.at('no')), fails({ errno: 'ENOENT', path: dir.at('no') }));
  const both = traced(nodeOps, ({ op }) => ({ fsync: 'EIO', close: 'EDQUOT' })[op as string]);
  await assert.rejects(fsyncPath(dir.at('file'), { ops: both.ops }), fails({ errno: 'EIO', code: 'SYNC_FAILED' }));
  const close = traced(nodeOps, ({ op }) => (op === 'close' ? 'EDQUOT' : undefined));
  await assert.rejects(fsyncPath(dir.at('file'), { ops: close.ops }), fails({ errno: 'EDQUOT' }));
});

test('DU-W9 replaceFileDurable: content is synced through the descriptor that wrote it, before the rename; the directory after it', async () => {
  await using dir = await scratch();
  const { ops, calls } = traced(nodeOps);
  const result = await replaceFileDurable(dir.at('file'), 'x', { ops });
  const order = calls.map(({ op }) => op).filter((op) => op !== 'lstat' && op !== 'volatile');
  assert.deepEqual(order, ['open', 'write', 'chmod', 'fsync', 'close', 'rename', 'open', 'fsync', 'close']);
  assert.deepEqual(result, { changed: true, durable: true, fsyncs: 2 });
});

for (const [op, code, visible] of [
  ['open', 'WRITE_FAILED', 'old'],
  ['write', 'WRITE_FAILED', 'old'],
  ['chmod', 'WRITE_FAILED', 'old'],
  ['fsync', 'SYNC_FAILED', 'old'],
  ['close', 'WRITE_FAILED', 'old'],
  ['rename', 'RENAME_FAILED', 'old'],
] as const) {
  test(`replaceFileDurable: a failing ${op} leaves the old content and nothing else`, async () => {
    await using dir = await scratch();
    await writeFileDurable(dir.at('file'), 'old');
    const { ops } = traced(nodeOps, (call, earlier) =>
      call.op === op && !earlier.some((one) => one.op === op) ? 'ENOSPC' : undefined,
    );
    await assert.rejects(replaceFileDurable(dir.at('file'), 'new', { ops }), fails({ code, visible, errno: 'ENOSPC' }));
    assert.equal(await readFile(dir.at('file'), 'utf8'), 'old');
    assert.deepEqual(await readdir(dir.path), ['file']);
  });
}

test('replaceFileDurable: a directory that cannot be synced leaves the new content, and says so', async () => {
  await using dir = await scratch();
  await writeFileDurable(dir.at('file'), 'old');
  const { ops } = traced(nodeOps, ({ op, path }) => (op === 'fsync' && path === dir.path ? 'EIO' : undefined));
  await assert.rejects(
    replaceFileDurable(dir.at('file'), 'new', { ops }),
    fails({ code: 'DIRECTORY_SYNC_FAILED', stage: 'fsync-parent', visible: 'new' }),
  );
  assert.equal(await readFile(dir.at('file'), 'utf8'), 'new');
});

test('writeFileDurable: a failure after the file was emptied says that nobody knows what is visible', async () => {
  await using dir = await scratch();
  const { ops } = traced(nodeOps, ({ op }) => (op === 'write' ? 'ENOSPC' : undefined));
  await assert.rejects(writeFileDurable(dir.at('file'), 'new', { ops }), fails({ visible: 'unknown' }));
});

test('TRUTH-2 replaceFileDurable: a staging file that cannot be removed is told, and does not hide the failure', async () => {
  await using dir = await scratch();
  const { ops } = traced(nodeOps, ({ op }) => (op === 'rename' ? 'EROFS' : op === 'unlink' ? 'EIO' : undefined));
  await assert.rejects(replaceFileDurable(dir.at('file'), 'x', { ops }), (error) => {
    fails({ errno: 'EROFS' })(error);
    assert.match(String((error as DurableError).cleanup), /EIO/);
    assert.match((error as DurableError).message, /could not be removed either: EIO.*recover removes it later/);
    return true;
  });
});

test('replaceFileDurable: what the writer throws passes through and leaves nothing; what it writes arrives', async () => {
  await using dir = await scratch();
  const boom = new Error('boom');
  const failing = replaceFileDurable(dir.at('file'), () => Promise.reject(boom));
  await assert.rejects(failing, (error) => error === boom);
  assert.deepEqual(await readdir(dir.path), []);
  const chunk = Buffer.alloc(1 << 20, 'x');
  await replaceFileDurable(dir.at('file'), async (file) => {
    for (const position of [0, chunk.length])
      assert.equal((await file.write(chunk, 0, chunk.length, position)).bytesWritten, chunk.length);
  });
  assert.equal((await stat(dir.at('file'))).size, 2 * chunk.length);
});

test('replaceFileDurable: unlessEqual leaves the file alone, makes it durable once, and repairs a drifted mode', async () => {
  await using dir = await scratch();
  await writeFile(dir.at('file'), 'same', { mode: 0o600 });
  const { ops, count } = traced(nodeOps);
  const again = () => replaceFileDurable(dir.at('file'), 'same', { mode: 0o600, unlessEqual: true, ops });
  const { ino } = await stat(dir.at('file'));
  assert.deepEqual(await again(), { changed: false, durable: true, fsyncs: 2 });
  assert.deepEqual(await again(), { changed: false, durable: true, fsyncs: 0 });
  assert.equal((await stat(dir.at('file'))).ino, ino);
  assert.equal(count('rename'), 0);
  const repaired = await replaceFileDurable(dir.at('file'), 'same', { mode: 0o640, unlessEqual: true, ops });
  assert.equal(repaired.changed, true);
  assert.equal((await stat(dir.at('file'))).mode & 0o777, 0o640);
});

test('replaceFileDurable: a signal that is aborted before the rename leaves the old content', async () => {
  await using dir = await scratch();
  await writeFileDurable(dir.at('file'), 'old');
  const stop = new AbortController();
  const writing = replaceFileDurable(dir.at('file'), async () => stop.abort(new Error('stop')), {
    signal: stop.signal,
  });
  await assert.rejects(writing, /stop/);
  assert.equal(await readFile(dir.at('file'), 'utf8'), 'old');
  assert.deepEqual(await readdir(dir.path), ['file']);
});

test('empty paths and NUL are refused before any call, where a path is read or pointed to as well', async () => {
  const seen = traced(nodeOps);
  const invalid = fails({ code: 'INVALID', stage: 'validate' });
  for (const path of ['', 'a\0b']) {
    await assert.rejects(fsyncPath(path, { ops: seen.ops }), invalid);
    await assert.rejects(syncDirectory(path, { ops: seen.ops }), invalid);
    await assert.rejects(replaceSymlinkDurable('/tmp/link', path, { ops: seen.ops }), invalid);
    await assert.rejects(inspect(path, { ops: seen.ops }), invalid);
    // The empty path would be the working directory.
    await assert.rejects(recover(path, { ops: seen.ops }), invalid);
  }
  assert.deepEqual(seen.calls, []);
});

test('replaceSymlinkDurable: made, changed, left alone; a file gives way, a directory does not', async () => {
  await using dir = await scratch();
  assert.equal((await replaceSymlinkDurable(dir.at('link'), 'one')).changed, true);
  assert.equal((await replaceSymlinkDurable(dir.at('link'), 'two')).changed, true);
  const same = await replaceSymlinkDurable(dir.at('link'), 'two');
  assert.deepEqual([same.changed, same.fsyncs], [false, 0]);
  assert.equal(await readlink(dir.at('link')), 'two');
  await writeFile(dir.at('file'), 'x');
  await replaceSymlinkDurable(dir.at('file'), 'two');
  assert.ok((await lstat(dir.at('file'))).isSymbolicLink());
  await mkdir(dir.at('dir'));
  await assert.rejects(replaceSymlinkDurable(dir.at('dir'), 'two'), fails({ code: 'RENAME_FAILED', visible: 'old' }));
  assert.deepEqual((await readdir(dir.path)).sort(), ['dir', 'file', 'link']);
});
