import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { test } from 'node:test';
import { nativeCalls } from './linux.ts';
import { lockFile } from './lock.ts';
import { nodeOps } from './node-ops.ts';
import { scratch } from './testing/scratch.ts';

test('lockFile: one at a time, the next one gets it when it is released', async () => {
  await using dir = await scratch();
  const path = dir.at('lock');
  const first = await lockFile(path);
  const umask = process.umask();
  assert.equal((await stat(path)).mode & 0o777, 0o644 & ~umask);
  let got = false;
  const second = lockFile(path, { pollMs: 5 }).then((lock) => {
    got = true;
    return lock;
  });
  await assert.rejects(lockFile(path, { pollMs: 5, deadlineMs: 40 }), {
    code: 'LOCK_TIMEOUT',
    stage: 'lock',
    message: /lslocks/,
  });
  assert.equal(got, false);
  await first[Symbol.asyncDispose]();
  await (await second)[Symbol.asyncDispose]();
});

test('lockFile: a signal ends the wait, and the file is closed', async () => {
  await using dir = await scratch();
  await using held = await lockFile(dir.at('lock'));
  const stop = new AbortController();
  const waiting = lockFile(held.path, { pollMs: 1, signal: stop.signal });
  stop.abort(new Error('stop'));
  await assert.rejects(waiting, { name: 'AbortError' });
  await assert.rejects(lockFile(held.path, { signal: stop.signal }), /stop/);
});

test('lockFile: forty waiters leave the thread pool to others', async () => {
  await using dir = await scratch();
  const held = await lockFile(dir.at('lock'));
  const stop = new AbortController();
  const waiters = Array.from({ length: 40 }, () => lockFile(held.path, { pollMs: 1, signal: stop.signal }));
  for (let round = 0; round < 20; round += 1) assert.ok((await stat(held.path)).isFile());
  stop.abort();
  const results = await Promise.allSettled(waiters);
  assert.ok(results.every(({ status }) => status === 'rejected'));
  await held[Symbol.asyncDispose]();
});

test('lockFile: the lock of a process that is killed is free', async () => {
  await using dir = await scratch();
  const script = `const { lockFile } = await import(${JSON.stringify(new URL('lock.ts', import.meta.url).href)});
    await lockFile(process.argv[1]); console.log('held'); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, dir.at('lock')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data', { signal: AbortSignal.timeout(30_000) });
  await assert.rejects(lockFile(dir.at('lock'), { pollMs: 1, deadlineMs: 20 }), { code: 'LOCK_TIMEOUT' });
  child.kill('SIGKILL');
  await using lock = await lockFile(dir.at('lock'), { pollMs: 5, deadlineMs: 30_000 });
  assert.equal(lock.path, dir.at('lock'));
});

test('lockFile: where flock is missing it refuses in words', async () => {
  await using dir = await scratch();
  const elsewhere = nativeCalls('darwin', 'arm64');
  const ops = { ...nodeOps, lock: (file: { readonly fd: number }) => elsewhere.tryLock(file.fd) };
  await assert.rejects(lockFile(dir.at('lock'), { ops }), {
    code: 'LOCK_FAILED',
    errno: 'ENOTSUP',
    message: /not available on darwin arm64/,
  });
});
