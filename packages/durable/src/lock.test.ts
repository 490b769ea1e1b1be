import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, lchown, mkdir, open, stat, symlink, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { nativeCalls } from './linux.ts';
import { lockFile } from './lock.ts';
import { nodeOps } from './node-ops.ts';
import { scratch } from './testing/scratch.ts';

test('lockFile: one at a time, the next one gets it when it is released', async () => {
  await using dir = await scratch();
  const path = dir.at('lock');
  const first = await lockFile(path);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
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

const needsRoot = process.getuid?.() === 0 ? false : 'another user needs root';
const NOBODY = 65_534;

test('SAFE-15 lockFile: nobody else can open it, and with that hold it; one that an earlier version left is closed to others', {
  skip: needsRoot,
}, async () => {
  await using dir = await scratch('/tmp');
  await chmod(dir.path, 0o755);
  await writeFile(dir.at('lock'), '', { mode: 0o644 });
  await chmod(dir.at('lock'), 0o644);
  await using lock = await lockFile(dir.at('lock'));
  assert.equal((await stat(lock.path)).mode & 0o777, 0o600);
  process.seteuid?.(NOBODY);
  try {
    await assert.rejects(open(lock.path, 'r'), { code: 'EACCES' });
  } finally {
    process.seteuid?.(0);
  }
});

test('SAFE-15 lockFile: where somebody else owns the file, a directory or a link on the way, or may write there, it refuses by name', {
  skip: needsRoot,
}, async () => {
  await using dir = await scratch('/tmp');
  const refused = (at: string, said: RegExp) =>
    assert.rejects(lockFile(dir.at(at)), { name: 'DurableError', code: 'UNTRUSTED', message: said }, at);
  await writeFile(dir.at('foreign'), '', { mode: 0o600 });
  await chown(dir.at('foreign'), NOBODY, NOBODY);
  await refused('foreign', /belongs to user 65534, who could hold it/);
  for (const name of ['theirs', 'open', 'group', 'sticky', 'ours'])
    await mkdir(dir.at(`${name}/sub`), { recursive: true });
  await chown(dir.at('theirs'), NOBODY, NOBODY);
  await chmod(dir.at('open'), 0o777);
  await chown(dir.at('group'), 0, NOBODY);
  await chmod(dir.at('group'), 0o775);
  await chmod(dir.at('sticky'), 0o1777);
  await symlink(dir.at('ours'), dir.at('link'));
  await symlink('theirs', dir.at('into-theirs'));
  await symlink(dir.at('ours'), dir.at('their-link'));
  await lchown(dir.at('their-link'), NOBODY, NOBODY);
  for (const sub of ['', '/sub']) {
    await refused(`theirs${sub}/lock`, /theirs belongs to user 65534/);
    await refused(`open${sub}/lock`, /open can be written to by others/);
    await refused(`group${sub}/lock`, /group can be written to by others/);
    await refused(`their-link${sub}/lock`, /their-link belongs to user 65534/);
    await refused(`into-theirs${sub}/lock`, /theirs belongs to user 65534/);
    for (const fine of ['ours', 'sticky', 'link'])
      await (await lockFile(dir.at(`${fine}${sub}/lock`)))[Symbol.asyncDispose]();
  }
});
