import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { DurableError } from './errors.ts';
import { nodeOps } from './node-ops.ts';
import type { FsCall } from './ops.ts';
import { type SyncDirOptions, type SyncDirResult, syncDir, syncDirs } from './sync-dir.ts';
import { scratch } from './testing/scratch.ts';
import { traced } from './testing/tracing.ts';

type Files = Readonly<Record<string, string>>;
const specs = (files: Files): Map<string, { content: string; mode: number }> =>
  new Map(Object.entries(files).map(([name, content]) => [name, { content, mode: 0o600 }]));

async function contents(path: string): Promise<Files | undefined> {
  const names = await readdir(path).catch(() => undefined);
  if (names === undefined) return undefined;
  const all: Record<string, string> = {};
  for (const name of names.sort()) all[name] = await readFile(join(path, name), 'utf8');
  return all;
}

const OLD: Files = { 'tls.crt': 'old crt', 'tls.key': 'old key' };
const NEW: Files = { 'tls.crt': 'new crt', 'tls.key': 'new key' };

/** The layout of upstream's tests: the target under `secrets`, staging elsewhere on the same file system. */
async function certificates(existing: Files | undefined): Promise<
  {
    readonly target: string;
    readonly staging: string;
    sync(files: Files, options?: SyncDirOptions): Promise<SyncDirResult>;
  } & AsyncDisposable
> {
  const dir = await scratch();
  const target = dir.at('secrets/tls-cert');
  const staging = dir.at('staging/cert-sync/secrets');
  const sync = (files: Files, options: SyncDirOptions = {}): Promise<SyncDirResult> =>
    syncDir({ target, staging, files: specs(files), ...options });
  if (existing !== undefined) await sync(existing);
  return { target, staging, sync, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

const cases: readonly (readonly [string, Files | undefined, Files])[] = [
  ['DU-D18 the target is absent', undefined, NEW],
  ['DU-D19 the target is empty', {}, NEW],
  ['DU-D21 the same names with new contents', OLD, NEW],
  ['DU-D22 new names with the same contents', OLD, { a: 'old crt', b: 'old key' }],
  ['DU-D23 new names and contents', OLD, { a: 'x', b: 'y' }],
  ['DU-D24 one of two contents changed', OLD, { ...OLD, 'tls.key': 'new key' }],
  ['DU-D26 one file renamed', OLD, { 'tls.crt': 'old crt', 'new.key': 'old key' }],
  ['DU-D27 two files added', OLD, { ...OLD, a: '1', b: '2' }],
  ['DU-D28 one file deleted', OLD, { 'tls.crt': 'old crt' }],
  ['DU-D29 all files deleted leaves an empty directory', OLD, {}],
];

for (const [name, existing, wanted] of cases) {
  test(`${name}: afterwards the target holds exactly the files, and nothing is staged`, async () => {
    await using world = await certificates(existing);
    const result = await world.sync(wanted);
    assert.deepEqual(await contents(world.target), wanted);
    assert.equal((await stat(world.target)).mode & 0o777, 0o755);
    for (const file of Object.keys(wanted)) assert.equal((await stat(join(world.target, file))).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(world.staging), []);
    assert.deepEqual(await readdir(join(world.target, '..')), ['tls-cert']);
    const { changed, swapped, atomic, cleanup } = result;
    assert.deepEqual(
      { changed, swapped, atomic, cleanup },
      { changed: true, swapped: existing !== undefined, atomic: true, cleanup: 'done' },
    );
  });
}

/** Fails the n-th call that matches, from 0. */
const nth =
  (n: number, matches: (call: FsCall) => boolean) =>
  (call: FsCall, earlier: readonly FsCall[]): string | undefined =>
    matches(call) && earlier.filter(matches).length === n ? 'EIO' : undefined;

const failures: readonly (readonly [string, number, (call: FsCall) => boolean, Partial<DurableError>, Files])[] = [
  [
    'DU-D31 the staging directory cannot be made',
    0,
    ({ op }) => op === 'mkdir',
    { stage: 'prepare', code: 'WRITE_FAILED', visible: 'old' },
    OLD,
  ],
  [
    'DU-D32 the first write fails',
    0,
    ({ op }) => op === 'write',
    { stage: 'write', code: 'WRITE_FAILED', visible: 'old' },
    OLD,
  ],
  [
    'DU-D33 the second write fails',
    1,
    ({ op }) => op === 'write',
    { stage: 'write', code: 'WRITE_FAILED', visible: 'old' },
    OLD,
  ],
  [
    'a sync of a file fails',
    0,
    ({ op }) => op === 'fsync',
    { stage: 'fsync-file', code: 'SYNC_FAILED', visible: 'old' },
    OLD,
  ],
  [
    'the sync of the staging directory fails',
    2,
    ({ op }) => op === 'fsync',
    { stage: 'fsync-dir', code: 'SYNC_FAILED', visible: 'old' },
    OLD,
  ],
  ['a close fails', 0, ({ op }) => op === 'close', { code: 'SYNC_FAILED', visible: 'old' }, OLD],
  [
    'DU-D34 the swap fails',
    0,
    ({ op }) => op === 'exchange',
    { stage: 'exchange', code: 'EXCHANGE_FAILED', visible: 'old' },
    OLD,
  ],
  [
    'the sync of the first parent fails',
    3,
    ({ op }) => op === 'fsync',
    { stage: 'fsync-parent', code: 'DIRECTORY_SYNC_FAILED', visible: 'new' },
    NEW,
  ],
  [
    'DU-D36 the sync of the second parent fails',
    4,
    ({ op }) => op === 'fsync',
    { stage: 'fsync-parent', code: 'DIRECTORY_SYNC_FAILED', visible: 'new' },
    NEW,
  ],
];

for (const [name, n, matches, wanted, visible] of failures) {
  test(`${name}: the error says what is visible, and that is so`, async () => {
    await using world = await certificates(OLD);
    const { ops, calls } = traced(nodeOps, nth(n, matches));
    await assert.rejects(world.sync(NEW, { ops, lanes: 1 }), (error) => {
      assert.ok(error instanceof DurableError, String(error));
      assert.partialDeepStrictEqual(Object.assign({}, error), { ...wanted, errno: 'EIO' });
      return true;
    });
    assert.deepEqual(await contents(world.target), visible);
    // Where the device is known to be bad, the old content may be the only copy: it is kept.
    assert.equal((await readdir(world.staging)).length, visible === NEW ? 1 : 0);
    const synced = calls.filter(({ op }) => op === 'fsync').map(({ path }) => path);
    assert.equal(new Set(synced).size, synced.length, 'a sync was tried twice');
  });
}

test('DU-D37 the old content cannot be removed: done, and said to be deferred', async () => {
  await using world = await certificates(OLD);
  const { ops } = traced(nodeOps, ({ op }) => (op === 'unlink' ? 'EIO' : undefined));
  const result = await world.sync(NEW, { ops });
  assert.equal(result.cleanup, 'deferred');
  assert.deepEqual(await contents(world.target), NEW);
  assert.equal((await readdir(world.staging)).length, 1, 'what was replaced waits for recover');
});

for (const [vector, name] of [
  ['DU-D38', '../secrets/../x'],
  ['DU-D38', './tls.crt'],
  ['DU-D39', '/etc/passwd'],
  ['', '..'],
  ['', ''],
  ['', 'a\0b'],
  ['', 'x'.repeat(256)],
] as const) {
  test(`${vector} a file named ${JSON.stringify(name.slice(0, 30))} is refused before any call`, async () => {
    await using world = await certificates(OLD);
    const { ops, calls } = traced(nodeOps);
    await assert.rejects(world.sync({ ...NEW, [name]: 'x' }, { ops }), { code: 'INVALID', stage: 'validate' });
    assert.deepEqual(calls, []);
    assert.deepEqual(await contents(world.target), OLD);
  });
}

test('DU-D41 files and staging directory are synced before the swap, both parents after it, and only then the old goes', async () => {
  await using world = await certificates(OLD);
  const { ops, calls } = traced(nodeOps);
  await world.sync(NEW, { ops });
  const at = (op: FsCall['op'], end: string): number =>
    calls.findIndex((call) => call.op === op && call.path.endsWith(end));
  const swap = at('exchange', 'tls-cert');
  const before = [at('fsync', 'tls.crt'), at('fsync', 'tls.key'), at('fsync', '.staging')];
  const parents = [
    at('fsync', '/secrets'),
    calls.findIndex(({ op, path }) => op === 'fsync' && path === world.staging),
  ];
  assert.ok(
    before.every((index) => index >= 0 && index < swap),
    JSON.stringify(before),
  );
  assert.ok(Math.min(...parents) > swap, JSON.stringify(parents));
  assert.ok(calls.findIndex(({ op }) => op === 'unlink') > Math.max(...parents));
  assert.equal(
    calls[swap]?.to?.startsWith(world.staging),
    true,
    'the target comes first: its last event must be a create',
  );
});

for (const count of [1, 10, 50, 300]) {
  test(`DU-W10 ${count} files cost ${count} + 3 fsyncs, ${count} + 2 staged beside the target, one exchange, no more`, async () => {
    await using world = await certificates(OLD);
    const files = (text: string): Files =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, text]));
    const elsewhere = traced(nodeOps);
    const { fsyncs } = await world.sync(files('1'), { ops: elsewhere.ops });
    assert.deepEqual([fsyncs, elsewhere.count('fsync'), elsewhere.count('exchange')], [count + 3, count + 3, 1]);
    const beside = traced(nodeOps);
    await syncDir({ target: world.target, files: specs(files('2')), ops: beside.ops });
    assert.deepEqual([beside.count('fsync'), beside.count('exchange')], [count + 2, 1]);
    const whole = traced(nodeOps);
    await syncDir({ target: world.target, files: specs(files('3')), strategy: 'syncfs', ops: whole.ops });
    assert.deepEqual([whole.count('syncfs'), whole.count('fsync')], [1, 1]);
    assert.deepEqual(await contents(world.target), files('3'));
  });
}

test('equal content: nothing is written; it is made durable once per process, again after somebody else replaced it', async () => {
  await using world = await certificates(undefined);
  await mkdir(world.target, { recursive: true });
  await writeFile(join(world.target, 'a'), 'x', { mode: 0o600 });
  const { ops, count } = traced(nodeOps);
  const again = async (): Promise<readonly [boolean, number]> => {
    const { changed, fsyncs } = await world.sync({ a: 'x' }, { ops });
    return [changed, fsyncs];
  };
  assert.deepEqual(await again(), [false, 3]);
  assert.deepEqual(await again(), [false, 0]);
  await rm(world.target, { recursive: true });
  await mkdir(world.target);
  await writeFile(join(world.target, 'a'), 'x', { mode: 0o600 });
  assert.deepEqual(await again(), [false, 3]);
  assert.equal(count('exchange') + count('rename') + count('write'), 0);
});

test('drift of a mode, a foreign file and a foreign directory in the target are repaired', async () => {
  await using world = await certificates(OLD);
  const { ops } = traced(nodeOps);
  await writeFile(join(world.target, 'foreign'), 'x');
  assert.equal((await world.sync(OLD, { ops })).changed, true);
  await mkdir(join(world.target, 'dir'));
  assert.equal((await world.sync(OLD, { ops })).changed, true);
  await writeFile(join(world.target, 'tls.key'), 'tampered');
  assert.equal((await world.sync(OLD, { ops })).changed, true);
  assert.deepEqual(await contents(world.target), OLD);
});

test('DU-W12 what lies in the staging directory does not get into the target, and a file in its place is an error', async () => {
  await using world = await certificates(OLD);
  const left = join(world.staging, '.tls-cert.0123456789abcdef.staging');
  await mkdir(left);
  await writeFile(join(left, 'tls.key'), 'left by a crash');
  await mkdir(join(world.staging, 'tls-cert'));
  await world.sync(NEW);
  assert.deepEqual(await contents(world.target), NEW);
  assert.deepEqual(await contents(left), { 'tls.key': 'left by a crash' });
  const staging = join(world.target, '..', 'file');
  await writeFile(staging, 'x');
  await assert.rejects(world.sync(OLD, { staging } as SyncDirOptions), {
    code: 'WRITE_FAILED',
    stage: 'prepare',
    visible: 'old',
    errno: 'ENOTDIR',
  });
  assert.deepEqual(await contents(world.target), NEW);
});

test('what stands in the way of the target is refused, not replaced', async () => {
  await using dir = await scratch();
  await writeFile(dir.at('file'), 'x');
  await symlink('file', dir.at('link'));
  for (const name of ['file', 'link'])
    await assert.rejects(syncDir({ target: dir.at(name), files: specs(NEW) }), {
      code: 'INVALID',
      message: /expected a directory/,
    });
  await assert.rejects(syncDir({ target: dir.at('t'), staging: dir.at('t/s'), files: specs(NEW) }), {
    code: 'INVALID',
  });
  await assert.rejects(
    syncDirs([
      { target: dir.at('t'), files: specs(NEW) },
      { target: dir.at('t/u'), files: specs(NEW) },
    ]),
    { code: 'INVALID' },
  );
  assert.deepEqual((await readdir(dir.path)).sort(), ['file', 'link']);
});
