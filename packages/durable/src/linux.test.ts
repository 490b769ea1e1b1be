import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { commitTree } from './commit-tree.ts';
import { DurableError } from './errors.ts';
import { replaceFileDurable, replaceSymlinkDurable, writeFileDurable } from './file.ts';
import type { BindSyscall } from './libc.ts';
import { nativeCalls, semaphore } from './linux.ts';
import { lockFile } from './lock.ts';
import { nodeOps, opsOf } from './node-ops.ts';
import { removeTreeDurable } from './remove-tree.ts';
import { session } from './session.ts';
import { swap } from './swap.ts';
import { syncDir } from './sync-dir.ts';
import { scratch } from './testing/scratch.ts';

/** Answers each raw call with one result and writes down its arguments. */
function answering(result: number, errno: number, seen: unknown[][] = []): () => Promise<BindSyscall> {
  return async () => () => async (args) => {
    seen.push([...args]);
    return { result, errno };
  };
}

for (const [arch, numbers] of Object.entries({
  x64: [316, 73, 306, 277],
  arm64: [276, 32, 267, 84],
  ppc64: [357, 143, 348, 308],
  s390x: [347, 143, 338, 307],
})) {
  test(`TRUTH-8 native calls: the numbers of ${arch}, the target of an exchange first, locks that do not wait`, async () => {
    const seen: unknown[][] = [];
    const calls = nativeCalls('linux', arch, answering(0, 0, seen));
    await calls.exchange('/target', '/staged');
    await calls.tryLock(7);
    await calls.syncfs(7);
    await calls.writeback(7);
    assert.deepEqual(seen, [
      [numbers[0], -100, '/target', -100, '/staged', 2],
      [numbers[1], 7, 6],
      [numbers[2], 7],
      arch === 'ppc64' ? [numbers[3], 7, 2, 0, 0] : [numbers[3], 7, 0, 0, 2],
    ]);
  });
}

for (const [platform, arch] of [
  ['darwin', 'arm64'],
  ['win32', 'x64'],
  ['linux', 'mips'],
] as const) {
  test(`DU-D17 native calls: on ${platform} ${arch} each refuses and says where it works`, async () => {
    const calls = nativeCalls(platform, arch, answering(0, 0));
    for (const call of [calls.exchange('/a', '/b'), calls.tryLock(3), calls.syncfs(3)])
      await assert.rejects(call, {
        code: 'ENOTSUP',
        message: new RegExp(`not available on ${platform} ${arch}.*Linux on x64, arm64, ppc64, s390x`),
      });
  });
}

test('DU-D17 syncDir where nothing can be exchanged: refused with the old content, or two renames where they are allowed', async () => {
  await using dir = await scratch();
  const target = dir.at('t');
  const specOf = (content: string) => ({ target, files: new Map([['a', { content }]]) });
  await syncDir(specOf('old'));
  const elsewhere = nativeCalls('darwin', 'arm64', answering(0, 0));
  const ops = { ...nodeOps, exchange: (a: string, b: string) => elsewhere.exchange(a, b) };
  await assert.rejects(syncDir({ ...specOf('new'), ops }), {
    code: 'EXCHANGE_UNAVAILABLE',
    visible: 'old',
    message: /not available on darwin arm64.*this platform cannot exchange/,
  });
  assert.equal(await readFile(dir.at('t/a'), 'utf8'), 'old');
  assert.equal((await syncDir({ ...specOf('new'), exchange: 'auto', ops })).atomic, false);
  assert.equal(await readFile(dir.at('t/a'), 'utf8'), 'new');
  assert.deepEqual(await readdir(dir.path), ['t']);
});

test('DU-D17 Windows: everything is refused in words, and nothing is touched', async () => {
  await using dir = await scratch();
  const ops = opsOf('win32');
  const refused = {
    name: 'DurableError',
    errno: 'ENOTSUP',
    visible: 'old',
    message: /Windows cannot sync a directory/,
  };
  const files = new Map([['a', { content: 'x' }]]);
  for (const action of [
    syncDir({ target: dir.at('t'), files, exchange: 'auto', ops }),
    commitTree({ dir: dir.at('t'), files, ops }),
    replaceFileDurable(dir.at('f'), 'x', { ops }),
    writeFileDurable(dir.at('f'), 'x', { ops }),
    replaceSymlinkDurable(dir.at('l'), 'x', { ops }),
    removeTreeDurable(dir.at('t'), dir.at('trash'), { ops }),
    lockFile(dir.at('lock'), { ops }),
  ])
    await assert.rejects(action, refused);
  assert.deepEqual(await readdir(dir.path), []);
});

test('native calls: a library that cannot be loaded is ENOTSUP too, so that the fallback serves', async () => {
  const calls = nativeCalls('linux', 'x64', () => Promise.reject(new Error('no prebuilt binary')));
  await assert.rejects(calls.exchange('/a', '/b'), {
    code: 'ENOTSUP',
    message: /koffi cannot be loaded: .*no prebuilt binary/,
  });
});

test('native calls: a lock that somebody else holds is false, an interrupted one is tried again, anything else is an error', async () => {
  assert.equal(await nativeCalls('linux', 'x64', answering(-1, 11)).tryLock(3), false);
  await assert.rejects(nativeCalls('linux', 'x64', answering(-1, 9)).tryLock(3), { code: 'EBADF' });
  const results = [
    { result: -1, errno: 4 },
    { result: 0, errno: 0 },
  ];
  const interrupted: BindSyscall = () => async () => results.shift() ?? { result: -1, errno: 5 };
  assert.equal(await nativeCalls('linux', 'x64', async () => interrupted).tryLock(3), true);
});

test('native calls: at most 16 are under way', async () => {
  let running = 0;
  let most = 0;
  const gate = Promise.withResolvers<void>();
  const slow: BindSyscall = () => async () => {
    running += 1;
    most = Math.max(most, running);
    await gate.promise;
    running -= 1;
    return { result: 0, errno: 0 };
  };
  const calls = nativeCalls('linux', 'x64', async () => slow);
  const all = Array.from({ length: 100 }, () => calls.syncfs(3));
  while (running < 16) await new Promise(setImmediate);
  gate.resolve();
  await Promise.all(all);
  assert.equal(most, 16);
});

test('semaphore: an action that fails gives its place to the next', async () => {
  const one = semaphore(1);
  const failed = one(() => Promise.reject(new Error('first')));
  const second = one(async () => 'second');
  await assert.rejects(failed, /first/);
  assert.equal(await second, 'second');
});

const meanings: readonly (readonly [string, string, RegExp])[] = [
  ['ENOENT', 'EXCHANGE_FAILED', /one of the two directories is missing/],
  ['EXDEV', 'EXCHANGE_FAILED', /different file systems, or an overlay file system/],
  ['EBUSY', 'EXCHANGE_FAILED', /mount point/],
  ['EINVAL', 'EXCHANGE_UNAVAILABLE', /the file system cannot exchange.*exchange: 'auto'/],
  ['ENOSYS', 'EXCHANGE_UNAVAILABLE', /seccomp/],
  ['EPERM', 'EXCHANGE_UNAVAILABLE', /seccomp filter or an immutable/],
  ['EROFS', 'EXCHANGE_FAILED', /EROFS/],
  ['ENOSPC', 'EXCHANGE_FAILED', /ENOSPC/],
  ['EIO', 'EXCHANGE_FAILED', /EIO/],
];

for (const [errno, code, said] of meanings) {
  test(`exchange: ${errno} is ${code} and says what it means`, async () => {
    await using dir = await scratch();
    for (const name of ['target', 'staged']) await nodeOps.mkdir(dir.at(name), 0o755);
    const refused = Object.assign(new Error(`${errno}: renameat2`), { code: errno });
    const run = session({ ops: { ...nodeOps, exchange: () => Promise.reject(refused) } });
    await assert.rejects(swap(run, dir.at('target'), dir.at('staged'), 'require'), (error) => {
      assert.ok(error instanceof DurableError);
      assert.deepEqual([error.code, error.errno, error.visible, error.durable], [code, errno, 'old', false]);
      assert.match(error.message, said);
      assert.equal(error.cause, refused);
      return true;
    });
  });
}
