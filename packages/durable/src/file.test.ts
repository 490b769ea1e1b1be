import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { DurableError } from './errors.ts';
import {
  type FileSystem,
  isStagingName,
  realFileSystem,
  replaceFileDurable,
  stagingName,
  writeFileDurable,
} from './file.ts';

async function directory(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'durable-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** A file system that writes down the order of its calls and fails the one named. */
function recording(log: string[], failing?: string): FileSystem {
  const call = (name: string): void => {
    log.push(name);
    if (name === failing) throw Object.assign(new Error(`${name} refused`), { code: 'EIO' });
  };
  return {
    open: async (path, flags, mode) => {
      call('open');
      const file = await realFileSystem.open(path, flags, mode);
      const sync = file.sync.bind(file);
      file.sync = async () => {
        call('sync');
        await sync();
      };
      return file;
    },
    rename: async (from, to) => {
      call('rename');
      await realFileSystem.rename(from, to);
    },
    syncDirectory: async (path) => {
      call('syncDirectory');
      await realFileSystem.syncDirectory(path);
    },
  };
}

for (const [name, write] of Object.entries({ writeFileDurable, replaceFileDurable })) {
  test(`${name}: content and mode are exact, also over an existing file`, async () => {
    await using dir = await directory();
    const path = join(dir.path, 'file');
    await write(path, 'first', { mode: 0o600 });
    await write(path, Buffer.from('second'), { mode: 0o666 });
    assert.equal(await readFile(path, 'utf8'), 'second');
    assert.equal((await stat(path)).mode & 0o777, 0o666);
    assert.deepEqual(await readdir(dir.path), ['file']);
  });

  test(`${name}: a missing directory is an error that says nothing is visible`, async () => {
    await using dir = await directory();
    await assert.rejects(write(join(dir.path, 'no', 'file'), 'x'), (error) => {
      assert.ok(error instanceof DurableError);
      assert.equal(error.code, 'WRITE_FAILED');
      assert.equal(error.visible, false);
      return true;
    });
  });
}

test('replaceFileDurable: content is synced before the rename, the directory after it', async () => {
  await using dir = await directory();
  const log: string[] = [];
  await replaceFileDurable(join(dir.path, 'file'), 'x', { fs: recording(log) });
  assert.deepEqual(log, ['open', 'sync', 'rename', 'syncDirectory']);
});

for (const [failing, visible] of [
  ['open', false],
  ['sync', false],
  ['rename', false],
  ['syncDirectory', true],
] as const) {
  test(`replaceFileDurable: a failing ${failing} leaves ${visible ? 'the new' : 'the old'} content and nothing else`, async () => {
    await using dir = await directory();
    const path = join(dir.path, 'file');
    await writeFileDurable(path, 'old');
    await assert.rejects(replaceFileDurable(path, 'new', { fs: recording([], failing) }), (error) => {
      assert.ok(error instanceof DurableError);
      assert.equal(error.visible, visible);
      assert.equal(error.durable, false);
      return true;
    });
    assert.equal(await readFile(path, 'utf8'), visible ? 'new' : 'old');
    assert.deepEqual(await readdir(dir.path), ['file']);
  });
}

test('replaceFileDurable: what the writer throws passes through and leaves nothing', async () => {
  await using dir = await directory();
  const boom = new Error('boom');
  await assert.rejects(
    replaceFileDurable(join(dir.path, 'file'), () => Promise.reject(boom)),
    (error) => error === boom,
  );
  assert.deepEqual(await readdir(dir.path), []);
});

test('stagingName: beside the file, dotted, recognised, never twice the same', () => {
  const name = stagingName('/a/b');
  assert.ok(name.startsWith('/a/.b.'));
  assert.ok(isStagingName(name.slice('/a/'.length)));
  assert.ok(!isStagingName('b'));
  assert.notEqual(name, stagingName('/a/b'));
});
