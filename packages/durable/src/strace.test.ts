import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { recover } from './recover.ts';
import { syncDir } from './sync-dir.ts';
import { scratch } from './testing/scratch.ts';

// What the real process does, seen and disturbed from outside.

const skip = spawnSync('strace', ['-V']).status === 0 ? false : 'strace is not installed';

/** Runs one syncDir of `count` files under strace; prints what came out. */
async function traced(
  options: readonly string[],
  target: string,
  count: number,
  more = '',
): Promise<{ readonly code: number | null; readonly said: string; readonly trace: string }> {
  const script = `const { syncDir } = await import(${JSON.stringify(new URL('sync-dir.ts', import.meta.url).href)});
    const { nodeOps } = await import(${JSON.stringify(new URL('node-ops.ts', import.meta.url).href)});
    // The directory for temporary files may lie in memory.
    const ops = { ...nodeOps, volatile: async () => false };
    const files = new Map(Array.from({ length: ${count} }, (_, i) => ['f' + i, { content: 'new' }]));
    try {
      const { atomic, fsyncs } = await syncDir({ target: process.argv[1], files, lanes: 1, ops, ${more} });
      console.log(JSON.stringify({ atomic, fsyncs }));
    } catch (error) {
      const { code, stage, visible, errno } = error;
      console.log(JSON.stringify({ code, stage, visible, errno }));
    }`;
  const args = ['-f', '-qq', ...options, process.execPath, '--input-type=module', '-e', script, target];
  // strace counts the calls of each thread by itself; with one thread for fsync, the n-th is the n-th.
  const env = { ...process.env, UV_THREADPOOL_SIZE: '1' };
  const child = spawn('strace', args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000, env });
  let said = '';
  let trace = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (trace += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said: said.trim(), trace };
}

/** How often the trace shows the start of a call; Node itself ends by syncing its own output, descriptors 1 and 2. */
const calls = (trace: string, name: string): number =>
  trace.split('\n').filter((line) => new RegExp(`\\b${name}\\((?![12]\\))`).test(line)).length;

async function installed(count: number): Promise<
  {
    readonly target: string;
    readonly content: () => Promise<string>;
    readonly names: () => Promise<readonly string[]>;
    readonly root: string;
  } & AsyncDisposable
> {
  const dir = await scratch();
  const target = dir.at('t');
  const files = new Map(Array.from({ length: count }, (_, index) => [`f${index}`, { content: 'old' }] as const));
  await syncDir({ target, files });
  return {
    target,
    root: dir.path,
    content: () => readFile(dir.at('t/f0'), 'utf8'),
    names: () => readdir(dir.path),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

for (const count of [1, 10]) {
  test(`strace: ${count} files cost ${count} + 2 fsyncs and one renameat2 with the exchange flag, the target first`, {
    skip,
  }, async () => {
    await using world = await installed(count);
    const { said, trace } = await traced(
      ['-s', '200', '-e', 'trace=fsync,fdatasync,sync,syncfs,renameat2'],
      world.target,
      count,
    );
    assert.deepEqual(JSON.parse(said), { atomic: true, fsyncs: count + 2 });
    assert.equal(calls(trace, 'fsync'), count + 2, trace);
    assert.equal(calls(trace, 'syncfs') + calls(trace, 'fdatasync') + calls(trace, 'sync'), 0);
    assert.match(trace, /renameat2\(AT_FDCWD, "[^"]*\/t", AT_FDCWD, "[^"]*\.staging", RENAME_EXCHANGE\)/);
    assert.equal(calls(trace, 'renameat2'), 1);
    assert.equal(await world.content(), 'new');
  });
}

test('strace: 10 files staged elsewhere cost 10 + 3 fsyncs', { skip }, async () => {
  await using world = await installed(10);
  await mkdir(`${world.root}/staging`);
  const { said, trace } = await traced(
    ['-e', 'trace=fsync,fdatasync,sync,syncfs'],
    world.target,
    10,
    `staging: ${JSON.stringify(`${world.root}/staging`)}`,
  );
  assert.deepEqual(JSON.parse(said), { atomic: true, fsyncs: 13 });
  assert.equal(calls(trace, 'fsync'), 13, trace);
  assert.equal(calls(trace, 'syncfs') + calls(trace, 'fdatasync') + calls(trace, 'sync'), 0);
});

test('strace: what is kept of a file that is replaced costs one look at it and one list of its attributes', {
  skip,
}, async () => {
  const looks = ['statx', 'newfstatat', 'fstat', 'lstat'];
  const names = ['llistxattr', 'flistxattr', 'lgetxattr', 'fchown', 'fchmod', 'openat', ...looks];
  const counted = async (count: number): Promise<ReadonlyMap<string, number>> => {
    await using world = await installed(count);
    const only = `trace=${names.map((name) => `?${name}`).join()}`;
    const { said, trace } = await traced(['-y', '-s', '200', '-e', only], world.target, count);
    assert.equal(JSON.parse(said).atomic, true, said);
    const there = trace
      .split('\n')
      .filter((line) => line.includes(world.root))
      .join('\n');
    return new Map(names.map((name) => [name, calls(there, name)]));
  };
  const [few, many] = [await counted(10), await counted(30)];
  // Rounded: a call that a busy machine adds once is none of each file.
  const each = (...of: string[]): number =>
    Math.round(of.reduce((sum, name) => sum + (many.get(name) ?? 0) - (few.get(name) ?? 0), 0) / 20);
  assert.deepEqual([each('llistxattr'), each('flistxattr', 'lgetxattr', 'fchown')], [1, 0]);
  assert.deepEqual([each('fchmod'), each('openat')], [1, 1]);
  // The others tell its mode, that its sync was one, and what it is like from then on.
  assert.equal(each(...looks), 4);
});

for (const errno of ['EINVAL', 'ENOSYS', 'EPERM']) {
  test(`strace: renameat2 answers ${errno}: refused where exchange is required, two renames where it is not`, {
    skip,
  }, async () => {
    await using world = await installed(2);
    const inject = ['-e', 'trace=renameat2', '-e', `inject=renameat2:error=${errno}`];
    const refused = await traced(inject, world.target, 2);
    assert.deepEqual(JSON.parse(refused.said), {
      code: 'EXCHANGE_UNAVAILABLE',
      stage: 'exchange',
      visible: 'old',
      errno,
    });
    assert.equal(await world.content(), 'old');
    assert.deepEqual(await world.names(), ['t']);
    const renamed = await traced(inject, world.target, 2, "exchange: 'auto'");
    assert.deepEqual(JSON.parse(renamed.said), { atomic: false, fsyncs: 4 });
    assert.equal(await world.content(), 'new');
    assert.deepEqual(await world.names(), ['t']);
  });
}

for (const errno of ['EXDEV', 'EBUSY', 'EROFS']) {
  test(`strace: renameat2 answers ${errno}: an error also where two renames are allowed`, { skip }, async () => {
    await using world = await installed(2);
    const inject = ['-e', 'trace=renameat2', '-e', `inject=renameat2:error=${errno}`];
    const { said } = await traced(inject, world.target, 2, "exchange: 'auto'");
    assert.deepEqual(JSON.parse(said), { code: 'EXCHANGE_FAILED', stage: 'exchange', visible: 'old', errno });
    assert.equal(await world.content(), 'old');
    assert.deepEqual(await world.names(), ['t']);
  });
}

for (const [nth, stage, visible] of [
  [1, 'fsync-file', 'old'],
  [3, 'fsync-dir', 'old'],
  [4, 'fsync-parent', 'new'],
] as const) {
  test(`strace: fsync number ${nth} answers EIO: ${visible} is visible, and no fsync is tried again`, {
    skip,
  }, async () => {
    await using world = await installed(2);
    const { said, trace } = await traced(
      ['-e', 'trace=fsync', '-e', `inject=fsync:error=EIO:when=${nth}`],
      world.target,
      2,
    );
    assert.partialDeepStrictEqual(JSON.parse(said), { stage, visible, errno: 'EIO' });
    assert.equal(calls(trace, 'fsync'), nth);
    assert.equal(await world.content(), visible);
  });
}

for (const nth of [1, 3, 4]) {
  test(`strace: killed at fsync number ${nth}: old or new, whole, and recovery leaves nothing else`, {
    skip,
  }, async () => {
    await using world = await installed(2);
    const { code, said } = await traced(
      ['-e', 'trace=fsync', '-e', `inject=fsync:signal=SIGKILL:when=${nth}`],
      world.target,
      2,
    );
    assert.equal(said, '');
    assert.notEqual(code, 0);
    assert.equal(await world.content(), nth < 4 ? 'old' : 'new');
    assert.ok((await world.names()).length > 1, 'the kill came too late to prove anything');
    await recover(world.root);
    assert.deepEqual(await world.names(), ['t']);
  });
}
