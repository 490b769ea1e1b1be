import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FsOps } from './ops.ts';
import { syncDir } from './sync-dir.ts';
import { judgeAt, textAt } from './testing/crash-scenario.ts';
import type { CrashModel } from './testing/crash-states.ts';
import { contentOf, exploreCrashes } from './testing/explore-crashes.ts';
import { memoryFs } from './testing/memory-fs.ts';
import type { FileSpec } from './tree.ts';

// Orders that are in use elsewhere. The model must find what is wrong with each, or it proves nothing about ours.

const files = (content: Readonly<Record<string, string>>): Map<string, FileSpec> =>
  new Map(Object.entries(content).map(([name, text]) => [name, { content: text, mode: 0o600 }]));

async function write(ops: FsOps, path: string, text: string, sync: boolean): Promise<void> {
  const file = await ops.open(path, 'truncate', 0o600);
  await ops.write(file, Buffer.from(text), 0);
  if (sync) await ops.fsync(file);
  await ops.close(file);
}

async function fsync(ops: FsOps, path: string): Promise<void> {
  const file = await ops.open(path, 'directory', 0);
  await ops.fsync(file);
  await ops.close(file);
}

async function clear(ops: FsOps, dir: string): Promise<void> {
  for (const { name } of await ops.list(dir)) await ops.unlink(`${dir}/${name}`);
  await ops.rmdir(dir);
}

/** Stage, exchange, sync both parents, remove the old: the order of library-go's atomicdir, with a choice of what is synced. */
async function exchangeOrder(ops: FsOps, sync: { files: boolean; staging: boolean; parents: boolean }): Promise<void> {
  await ops.mkdir('/r/staging/t', 0o755);
  for (const name of ['a', 'b']) {
    await write(ops, `/r/staging/t/${name}`, `${name}2`, sync.files);
    if (sync.staging) await fsync(ops, '/r/staging/t');
  }
  await ops.exchange('/r/t', '/r/staging/t');
  if (sync.parents) {
    await fsync(ops, '/r');
    await fsync(ops, '/r/staging');
  }
  await clear(ops, '/r/staging/t');
}

interface Control {
  readonly name: string;
  readonly prepare: (ops: FsOps) => Promise<unknown>;
  readonly act: (ops: FsOps) => Promise<unknown>;
  readonly path: string;
  readonly models: readonly CrashModel[];
  readonly finding: RegExp;
}

const directory = async (ops: FsOps): Promise<void> => {
  await syncDir({ target: '/r/t', files: files({ a: 'a1', b: 'b1' }), ops });
  await ops.mkdir('/r/staging', 0o755);
};
const manifest = (ops: FsOps): Promise<void> => write(ops, '/r/m', 'old', true);
const all = { files: true, staging: true, parents: true };

const controls: readonly Control[] = [
  {
    name: 'exchange without any sync',
    prepare: directory,
    act: (ops) => exchangeOrder(ops, { files: false, staging: false, parents: false }),
    path: '/r/t',
    models: ['ext4'],
    finding: /corrupt/,
  },
  {
    name: 'exchange with directory syncs only',
    prepare: directory,
    act: (ops) => exchangeOrder(ops, { ...all, files: false }),
    path: '/r/t',
    models: ['ext4'],
    finding: /corrupt/,
  },
  {
    name: 'exchange without the sync of the staging directory',
    prepare: directory,
    act: (ops) => exchangeOrder(ops, { ...all, staging: false }),
    path: '/r/t',
    models: ['weak'],
    finding: /corrupt/,
  },
  {
    name: 'exchange without the syncs of the parents',
    prepare: directory,
    act: (ops) => exchangeOrder(ops, { ...all, parents: false }),
    path: '/r/t',
    models: ['ext4'],
    finding: /acknowledged, then lost/,
  },
  {
    name: 'DU-W8 first install whose ancestors are never synced',
    prepare: async () => undefined,
    act: async (ops) => {
      await ops.mkdir('/r/t', 0o755);
      await ops.mkdir('/r/staging', 0o755);
      await ops.mkdir('/r/t/t', 0o755);
      await ops.mkdir('/r/staging/t', 0o755);
      await write(ops, '/r/staging/t/a', 'a2', true);
      await fsync(ops, '/r/staging/t');
      await ops.exchange('/r/t/t', '/r/staging/t');
      await fsync(ops, '/r/t');
      await fsync(ops, '/r/staging');
    },
    path: '/r/t/t',
    models: ['weak'],
    finding: /acknowledged, then lost/,
  },
  {
    name: 'DU-W1 manifest deleted, then written',
    prepare: manifest,
    act: async (ops) => {
      await ops.unlink('/r/m');
      await write(ops, '/r/m', 'new', true);
      await fsync(ops, '/r');
    },
    path: '/r/m',
    models: ['ext4'],
    finding: /corrupt: (missing|\. file 600 $)/,
  },
  {
    name: 'DU-W2 manifest deleted, then written without a sync',
    prepare: manifest,
    act: async (ops) => {
      await ops.unlink('/r/m');
      await write(ops, '/r/m', 'new', false);
    },
    path: '/r/m',
    models: ['ext4'],
    finding: /acked: corrupt: \. file 600 $/,
  },
  {
    name: 'DU-W4 file rewritten in place',
    prepare: manifest,
    act: async (ops) => {
      await write(ops, '/r/m', 'new', true);
      await fsync(ops, '/r');
    },
    path: '/r/m',
    models: ['ext4'],
    finding: /corrupt: \. file 600 $/,
  },
  {
    name: 'renamed over without a sync of the content',
    prepare: manifest,
    act: async (ops) => {
      await write(ops, '/r/.m', 'new', false);
      await ops.rename('/r/.m', '/r/m');
      await fsync(ops, '/r');
    },
    path: '/r/m',
    models: ['ext4'],
    finding: /corrupt: \. file 600 $/,
  },
  {
    name: 'DU-W5 link removed, then made',
    prepare: (ops) => ops.symlink('one', '/r/l'),
    act: async (ops) => {
      await ops.unlink('/r/l');
      await ops.symlink('two', '/r/l');
      await fsync(ops, '/r');
    },
    path: '/r/l',
    models: ['ext4'],
    finding: /corrupt: missing/,
  },
  {
    name: 'DU-W6 directory removed file by file',
    prepare: directory,
    act: async (ops) => {
      await clear(ops, '/r/t');
      await fsync(ops, '/r');
    },
    path: '/r/t',
    models: ['ext4'],
    finding: /corrupt/,
  },
];

for (const control of controls) {
  test(`crash model, negative control: ${control.name} comes out red`, async () => {
    const fs = memoryFs();
    await fs.mkdir('/r', 0o755);
    await control.prepare(fs);
    const image = fs.now();
    const undisturbed = memoryFs({ image });
    await control.act(undisturbed);
    const judge = judgeAt(control.path, textAt(image, control.path), textAt(undisturbed.now(), control.path));
    const { violations } = await exploreCrashes({ image, act: control.act, judge, models: control.models });
    assert.ok(
      violations.some((violation) => control.finding.test(violation)),
      JSON.stringify(violations),
    );
  });
}

test('DU-W11 parents that cannot be synced: the old files stay, where others remove them', async () => {
  const fs = memoryFs();
  await fs.mkdir('/r', 0o755);
  await directory(fs);
  const image = fs.now();
  const judge = judgeAt('/r/t', textAt(image, '/r/t'), textAt(await after(), '/r/t'));
  async function after(): Promise<typeof image> {
    const clean = memoryFs({ image });
    await exchangeOrder(clean, all);
    return clean.now();
  }
  const badDisk = async (ops: FsOps): Promise<void> => {
    await exchangeOrder(ops, { ...all, parents: false });
    throw Object.assign(new Error('EIO: fsync /r'), { code: 'EIO' });
  };
  const theirs = await exploreCrashes({ image, act: badDisk, judge, models: ['weak'] });
  assert.ok(theirs.violations.some((violation) => violation.includes('corrupt')));

  const ours = await exploreCrashes({
    image,
    act: (ops) => syncDir({ target: '/r/t', staging: '/r/staging', files: files({ a: 'a2', b: 'b2' }), ops }),
    judge,
    tap: (call, run) =>
      call.op === 'fsync' && (call.path === '/r' || call.path === '/r/staging')
        ? Promise.reject(Object.assign(new Error('EIO: fsync'), { code: 'EIO' }))
        : run(),
  });
  assert.deepEqual(ours.violations, []);
  assert.deepEqual(contentOf(ours.now, '/r/t'), { a: 'a2', b: 'b2' });
  assert.ok(Object.values(contentOf(ours.now, '/r/staging') ?? {}).length === 1, 'the old directory is kept');
});
