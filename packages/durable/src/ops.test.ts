import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errnoOf } from './errors.ts';
import { nodeOps } from './node-ops.ts';
import type { FsOps } from './ops.ts';
import { memoryFs } from './testing/memory-fs.ts';
import { scratch } from './testing/scratch.ts';

// One table for the machine's file system and the one in memory: what the crash model is fed with behaves as the real one does.

interface Scenario {
  readonly name: string;
  /** Returns what a caller could see. */
  readonly run: (ops: FsOps, at: (name: string) => string) => Promise<unknown>;
  /** What both must show, where the two being alike is not enough. */
  readonly wanted?: unknown;
}

async function put(ops: FsOps, path: string, text: string, mode = 0o600): Promise<void> {
  const file = await ops.open(path, 'new', 0o600);
  await ops.write(file, Buffer.from(text), 0);
  await ops.chmod(file, mode);
  await ops.fsync(file);
  await ops.close(file);
}

const text = async (ops: FsOps, path: string): Promise<string> => Buffer.from(await ops.read(path)).toString();
const outcome = (action: Promise<unknown>): Promise<unknown> => action.then((value) => value ?? 'ok', errnoOf);
const names = async (ops: FsOps, path: string): Promise<readonly string[]> =>
  (await ops.list(path)).map(({ name, kind }) => `${name} ${kind}`).sort();

async function twoDirectories(
  ops: FsOps,
  at: (name: string) => string,
  first: string[],
  second: string[],
): Promise<void> {
  for (const [dir, entries] of [
    ['x', first],
    ['y', second],
  ] as const) {
    await ops.mkdir(at(dir), 0o755);
    for (const name of entries) await put(ops, at(`${dir}/${name}`), `${name} of ${dir}`, name === 'b' ? 0o400 : 0o600);
  }
}

const scenarios: readonly Scenario[] = [
  {
    name: 'DU-D9 two directories are exchanged, modes and contents kept',
    run: async (ops, at) => {
      await twoDirectories(ops, at, ['a', 'b'], ['c']);
      await ops.exchange(at('x'), at('y'));
      const mode = (await ops.lstat(at('y/b')))?.mode;
      return [await names(ops, at('x')), await names(ops, at('y')), await text(ops, at('y/a')), mode];
    },
    wanted: [['c file'], ['a file', 'b file'], 'a of x', 0o400],
  },
  {
    name: 'DU-D12 DU-D13 one of the two is empty, or both are',
    run: async (ops, at) => {
      await twoDirectories(ops, at, ['a'], []);
      await ops.exchange(at('x'), at('y'));
      await ops.mkdir(at('z'), 0o755);
      const identity = async (name: string): Promise<string | undefined> => (await ops.lstat(at(name)))?.identity;
      const [x, z] = [await identity('x'), await identity('z')];
      await ops.exchange(at('x'), at('z'));
      const swapped = x !== z && x === (await identity('z')) && z === (await identity('x'));
      return [await names(ops, at('x')), await names(ops, at('y')), await names(ops, at('z')), swapped];
    },
    wanted: [[], ['a file'], [], true],
  },
  {
    name: 'DU-D14 DU-D16 one of the two is missing, or both are',
    run: async (ops, at) => {
      await ops.mkdir(at('x'), 0o755);
      return [
        await outcome(ops.exchange(at('no'), at('x'))),
        await outcome(ops.exchange(at('x'), at('no'))),
        await outcome(ops.exchange(at('no'), at('neither'))),
      ];
    },
    wanted: ['ENOENT', 'ENOENT', 'ENOENT'],
  },
  {
    name: 'one of the two lies in the other',
    run: async (ops, at) => {
      await ops.mkdir(at('x'), 0o755);
      await ops.mkdir(at('x/y'), 0o755);
      return [await outcome(ops.exchange(at('x'), at('x/y'))), await outcome(ops.exchange(at('x/y'), at('x')))];
    },
    wanted: ['EINVAL', 'EINVAL'],
  },
  {
    name: 'DU-D1 DU-D4 what is written is read, a position beyond the end is filled with zeros',
    run: async (ops, at) => {
      await put(ops, at('f'), 'hello world');
      await put(ops, at('empty'), '', 0o644);
      const file = await ops.open(at('f'), 'truncate', 0o600);
      await ops.write(file, Buffer.from('b'), 3);
      await ops.write(file, Buffer.from('aa'), 0);
      await ops.close(file);
      const empty = await ops.lstat(at('empty'));
      return [[...(await ops.read(at('f')))], empty?.size, empty?.mode];
    },
    wanted: [[97, 97, 0, 98], 0, 0o644],
  },
  {
    name: 'opening: what exists is not made anew, what is missing is not opened',
    run: async (ops, at) => {
      await put(ops, at('f'), 'x');
      const opened = (path: string, how: 'new' | 'read' | 'directory'): Promise<unknown> =>
        outcome(ops.open(at(path), how, 0o600).then((file) => ops.close(file)));
      return [
        await opened('f', 'new'),
        await opened('no', 'read'),
        await opened('f', 'directory'),
        await opened('no/f', 'new'),
        await opened('f/f', 'new'),
      ];
    },
  },
  {
    name: 'renaming: over a file, over an empty and a full directory, of what is missing',
    run: async (ops, at) => {
      await put(ops, at('f'), 'f');
      await put(ops, at('g'), 'g');
      await twoDirectories(ops, at, ['a'], []);
      const over = [
        await outcome(ops.rename(at('f'), at('g'))),
        await outcome(ops.rename(at('x'), at('y'))),
        await outcome(ops.rename(at('g'), at('y'))),
        await outcome(ops.rename(at('y'), at('g'))),
        await outcome(ops.rename(at('no'), at('g'))),
      ];
      await ops.mkdir(at('x'), 0o755);
      return [over, await outcome(ops.rename(at('x'), at('y'))), await names(ops, at('')), await text(ops, at('g'))];
    },
  },
  {
    name: 'removing: files, directories, links, and each by the wrong call',
    run: async (ops, at) => {
      await twoDirectories(ops, at, ['a'], []);
      await ops.symlink('x/a', at('l'));
      return [
        await ops.readlink(at('l')),
        await outcome(ops.rmdir(at('x'))),
        await outcome(ops.rmdir(at('x/a'))),
        await outcome(ops.unlink(at('no'))),
        await outcome(ops.symlink('z', at('l'))),
        await outcome(ops.mkdir(at('y'), 0o755)),
        await outcome(ops.unlink(at('l'))),
        await outcome(ops.rmdir(at('y'))),
        await names(ops, at('')),
        await outcome(ops.readlink(at('x/a'))),
      ];
    },
  },
  {
    name: 'lstat: kinds, identity, and nothing where nothing is',
    run: async (ops, at) => {
      await twoDirectories(ops, at, ['a'], []);
      await ops.symlink('x', at('l'));
      const [x, a, l] = [await ops.lstat(at('x')), await ops.lstat(at('x/a')), await ops.lstat(at('l'))];
      await ops.rename(at('x'), at('z'));
      const moved = await ops.lstat(at('z'));
      return [
        x?.kind,
        a?.kind,
        l?.kind,
        await ops.lstat(at('x')),
        moved?.identity === x?.identity,
        a?.identity !== x?.identity,
      ];
    },
  },
  {
    name: 'a lock is exclusive between open files and ends with its file',
    run: async (ops, at) => {
      const first = await ops.open(at('lock'), 'lock', 0o644);
      const second = await ops.open(at('lock'), 'lock', 0o644);
      const seen = [await ops.lock(first), await ops.lock(second), await ops.lock(first)];
      await ops.close(first);
      seen.push(await ops.lock(second));
      await ops.close(second);
      return seen;
    },
  },
];

for (const { name, run, wanted } of scenarios) {
  test(`${name}: the same on the machine and in memory`, async () => {
    await using dir = await scratch();
    const memory = memoryFs();
    await memory.mkdir('/w', 0o755);
    const real = await run(nodeOps, (path) => (path === '' ? dir.path : dir.at(path)));
    assert.deepEqual(await run(memory, (path) => (path === '' ? '/w' : `/w/${path}`)), real);
    assert.ok(JSON.stringify(real).length > 10, 'the scenario shows nothing');
    if (wanted !== undefined) assert.deepEqual(real, wanted);
  });
}

test('DU-D11 a relative path is exchanged with an absolute one', async () => {
  await using dir = await scratch();
  const before = process.cwd();
  await twoDirectories(nodeOps, dir.at, ['a'], ['c']);
  process.chdir(dir.path);
  try {
    await nodeOps.exchange(dir.at('x'), 'y');
  } finally {
    process.chdir(before);
  }
  assert.deepEqual(await names(nodeOps, dir.at('y')), ['a file']);
});
