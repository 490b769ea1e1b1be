import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { replaceFileDurable } from './file.ts';
import { lockFile } from './lock.ts';
import { nodeOps } from './node-ops.ts';
import type { FsCall, FsOps, OpenFile } from './ops.ts';
import { recover } from './recover.ts';
import { syncDir } from './sync-dir.ts';
import { scratch } from './testing/scratch.ts';
import { traced } from './testing/tracing.ts';

const files = (content: string): Map<string, { content: string }> => new Map([['a', { content }]]);

/** A device that does not answer one kind of call until it is let go. */
function hanging(op: 'fsync' | 'exchange'): {
  readonly ops: FsOps;
  readonly hung: Promise<void>;
  letGo(): void;
  readonly closed: string[];
} {
  const hung = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const closed: string[] = [];
  const wait = async <T>(run: () => Promise<T>): Promise<T> => {
    hung.resolve();
    await gate.promise;
    return run();
  };
  const ops: FsOps = {
    ...nodeOps,
    volatile: async () => false,
    ...(op === 'fsync'
      ? { fsync: (file: OpenFile) => wait(() => nodeOps.fsync(file)) }
      : { exchange: (target: string, staged: string) => wait(() => nodeOps.exchange(target, staged)) }),
    close: (file) => {
      closed.push(file.path);
      return nodeOps.close(file);
    },
  };
  return { ops, hung: hung.promise, letGo: () => gate.resolve(), closed };
}

test('DU-W23 a sync that hangs: heard of after 10 s, failed after 30 s, the lock is free and no file is closed under it', async (t) => {
  await using dir = await scratch();
  await syncDir({ target: dir.at('t'), files: files('1') });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const device = hanging('fsync');
  const stalls: FsCall[] = [];
  const locked = async (): Promise<void> => {
    await using _lock = await lockFile(dir.at('lock'));
    await syncDir({
      target: dir.at('t'),
      files: files('2'),
      lanes: 1,
      ops: device.ops,
      stall: { onStall: (call) => stalls.push(call) },
    });
  };
  const failed = assert.rejects(locked(), {
    code: 'STALLED',
    stage: 'fsync-file',
    visible: 'old',
    message: /within 30000 ms.*run recover/,
  });
  await device.hung;
  t.mock.timers.tick(9_999);
  assert.equal(stalls.length, 0);
  t.mock.timers.tick(1);
  assert.deepEqual(
    stalls.map(({ op }) => op),
    ['fsync'],
  );
  t.mock.timers.tick(20_000);
  await failed;
  t.mock.timers.reset();
  await using lock = await lockFile(dir.at('lock'), { pollMs: 1, deadlineMs: 30_000 });
  assert.ok(lock);
  const closedIt = (): boolean => device.closed.some((path) => path.endsWith('/a'));
  assert.equal(closedIt(), false);
  device.letGo();
  while (!closedIt()) await new Promise(setImmediate);
  assert.equal(await readFile(dir.at('t/a'), 'utf8'), '1');
  await recover(dir.path);
  assert.deepEqual((await readdir(dir.path)).sort(), ['lock', 't']);
});

test('DU-W23 an exchange that hangs: nobody knows what is visible, and nothing is removed that it may still publish', async (t) => {
  await using dir = await scratch();
  await syncDir({ target: dir.at('t'), files: files('1') });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const device = hanging('exchange');
  const failed = assert.rejects(syncDir({ target: dir.at('t'), files: files('2'), ops: device.ops }), {
    code: 'STALLED',
    visible: 'unknown',
  });
  await device.hung;
  t.mock.timers.tick(30_000);
  await failed;
  t.mock.timers.reset();
  device.letGo();
  while ((await readFile(dir.at('t/a'), 'utf8')) === '1') await new Promise(setImmediate);
  assert.equal(await readFile(dir.at('t/a'), 'utf8'), '2');
  await recover(dir.path);
  assert.deepEqual(await readdir(dir.path), ['t']);
});

test('lanes: as many syncs side by side as allowed; after a failure none is started and those under way are waited for', async () => {
  await using dir = await scratch();
  const many = new Map(Array.from({ length: 40 }, (_, index) => [`f${index}`, { content: 'x' }] as const));
  let running = 0;
  let most = 0;
  let started = 0;
  const device = (failAt: number): FsOps => ({
    ...nodeOps,
    volatile: async () => false,
    fsync: async () => {
      started += 1;
      const mine = started;
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      if (mine === failAt) throw Object.assign(new Error('EIO: fsync'), { code: 'EIO' });
    },
  });
  await syncDir({ target: dir.at('t'), files: many, lanes: 8, ops: device(0) });
  assert.equal(most, 8);
  started = 0;
  await assert.rejects(replaceMany(8), { code: 'SYNC_FAILED' });
  assert.equal(running, 0);
  assert.ok(started < 20, `${started} syncs were started`);
  async function replaceMany(lanes: number): Promise<void> {
    await syncDir({ target: dir.at('u'), files: many, lanes, ops: device(3) });
  }
  await assert.rejects(replaceFileDurable(dir.at('f'), 'x', { ops: device(started + 1) }), { code: 'SYNC_FAILED' });
});

test('a call that the device does not answer is a warning of the process where nobody else listens', async (t) => {
  await using dir = await scratch();
  const warned = once(process, 'warning') as Promise<[Error]>;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const device = hanging('fsync');
  const failed = assert.rejects(syncDir({ target: dir.at('t'), files: files('1'), ops: device.ops }), {
    code: 'STALLED',
  });
  await device.hung;
  t.mock.timers.tick(10_000);
  const [warning] = await warned;
  assert.equal(warning.name, 'DurableWarning');
  assert.match(warning.message, /^fsync of .*\/a has not come back for 10000 ms$/);
  t.mock.timers.tick(20_000);
  await failed;
  device.letGo();
});

test('lanes that would sync nothing are refused before any call', async () => {
  await using dir = await scratch();
  const { ops, calls } = traced(nodeOps);
  for (const lanes of [0, -1, Number.NaN]) {
    const refused = { code: 'INVALID', stage: 'validate', message: /expected 1 or more/ } as const;
    await assert.rejects(syncDir({ target: dir.at('t'), files: files('1'), lanes, ops }), refused);
    await assert.rejects(replaceFileDurable(dir.at('f'), 'x', { lanes, ops }), refused);
  }
  assert.deepEqual(calls, []);
});

test('many files: the kernel begins to write all of them before the first is synced, so that they share a commit; it is a hint only', async () => {
  await using dir = await scratch();
  const many = (count: number) =>
    new Map(Array.from({ length: count }, (_, index) => [`f${index}`, { content: 'x' }] as const));
  const run = async (target: string, count: number, fail?: string) => {
    const seen = traced(nodeOps, ({ op }) => (op === 'writeback' ? fail : undefined));
    await syncDir({ target: dir.at(target), files: many(count), ops: seen.ops });
    return seen.calls.map(({ op }) => op).filter((op) => op === 'writeback' || op === 'fsync');
  };
  const hints = (count: number): string[] => Array.from({ length: count }, () => 'writeback');
  const all = await run('a', 20);
  assert.deepEqual(all.slice(0, 20), hints(20));
  assert.ok(!all.slice(20).includes('writeback'));
  assert.ok(!(await run('b', 7)).includes('writeback'), 'of few files each call costs more than it saves');
  assert.deepEqual((await run('c', 20, 'EIO')).length, all.length, 'the sync is what tells');
  let begun = 0;
  const writeback = async (): Promise<void> => {
    begun += 1;
  };
  await syncDir({ target: dir.at('d'), files: many(20), ops: { ...nodeOps, writeback, volatile: async () => true } });
  assert.equal(begun, 0, 'memory is not written anywhere');
});

test('DU-W23 a device that hangs at the beginning of writing: failed after 30 s, the old content is visible', async (t) => {
  await using dir = await scratch();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const hung = Promise.withResolvers<void>();
  const ops: FsOps = {
    ...nodeOps,
    volatile: async () => false,
    writeback: () => {
      hung.resolve();
      return new Promise(() => undefined);
    },
  };
  const files = new Map(Array.from({ length: 8 }, (_, index) => [`f${index}`, { content: 'x' }] as const));
  const failed = assert.rejects(syncDir({ target: dir.at('t'), files, ops }), { code: 'STALLED', visible: 'old' });
  await hung.promise;
  t.mock.timers.tick(30_000);
  await failed;
});

/** The files and directories that are being synced at each start of a sync. */
async function syncedTogether(names: readonly string[]): Promise<readonly (readonly string[])[]> {
  await using dir = await scratch();
  const running = new Set<string>();
  const seen: string[][] = [];
  const ops: FsOps = {
    ...nodeOps,
    volatile: async () => false,
    fsync: async ({ path }) => {
      const name = path.startsWith(`${dir.path}/.`)
        ? path.slice(dir.path.length).replace(/^.*\.staging/, 't')
        : 'parent';
      running.add(name);
      seen.push([...running]);
      await new Promise(setImmediate);
      running.delete(name);
    },
  };
  await syncDir({ target: dir.at('t'), files: new Map(names.map((name) => [name, { content: 'x' }])), ops });
  return seen;
}

test('a single file is synced before its directory, so that the journal is committed once; several share a commit with it', async () => {
  assert.deepEqual(await syncedTogether(['a']), [['t/a'], ['t'], ['parent']]);
  assert.deepEqual(await syncedTogether(['a', 'b']), [['t/a'], ['t/a', 't/b'], ['t/a', 't/b', 't'], ['parent']]);
});
