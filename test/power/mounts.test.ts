import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { DurableError, recover, removeTreeDurable, syncDir } from '@drydock/durable';

// What pods see that have a directory, or the one above it, mounted.

const skip = cannotMount();

function cannotMount(): string | false {
  if (process.platform !== 'linux') return 'bind mounts need Linux';
  if (process.getuid?.() !== 0) return 'bind mounts need root';
  using world = mounted('probe');
  return world.bound ? false : 'a directory cannot be bound here';
}

interface MountedWorld extends Disposable {
  /** `dir` is swapped; `of-dir` and `of-parent` are bind mounts of it and of its parent. */
  readonly at: (path: string) => string;
  readonly bound: boolean;
}

function mounted(name: string): MountedWorld {
  const root = fs.mkdtempSync(join(tmpdir(), `mounts-${name}-`));
  const at = (path: string): string => join(root, path);
  for (const path of ['parent/dir', 'of-dir', 'of-parent']) fs.mkdirSync(at(path), { recursive: true });
  fs.writeFileSync(at('parent/dir/key'), 'old');
  const bound = [
    ['parent/dir', 'of-dir'],
    ['parent', 'of-parent'],
  ].filter(([from = '', to = '']) => spawnSync('mount', ['--bind', at(from), at(to)]).status === 0);
  return {
    at,
    bound: bound.length === 2,
    [Symbol.dispose]: () => {
      for (const [, to = ''] of bound) spawnSync('umount', [at(to)]);
      fs.rmSync(root, { recursive: true });
    },
  };
}

const files = new Map([['key', { content: 'new' }]]);
const read = (path: string): string | undefined => {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};

test('DU-W20 who has the parent mounted sees the new directory; a mount of the directory itself keeps the old one, which is emptied', {
  skip,
}, async () => {
  using world = mounted('swap');
  const { at } = world;
  assert.deepEqual([read(at('of-dir/key')), read(at('of-parent/dir/key'))], ['old', 'old']);
  await syncDir({ target: at('parent/dir'), files });
  assert.equal(read(at('of-parent/dir/key')), 'new');
  assert.deepEqual(fs.readdirSync(at('of-dir')), [], 'measured, documented, and the reason to mount the parent');
});

test('DU-W20 a mount point cannot be swapped: an error that says so, the old content intact, nothing left over', {
  skip,
}, async () => {
  using world = mounted('busy');
  const { at } = world;
  await assert.rejects(syncDir({ target: at('of-dir'), files }), (error) => {
    assert.ok(error instanceof DurableError, String(error));
    assert.deepEqual([error.errno, error.stage, error.visible], ['EBUSY', 'exchange', 'old']);
    assert.match(error.message, /mount point/);
    return true;
  });
  assert.equal(read(at('of-dir/key')), 'old');
  assert.deepEqual(fs.readdirSync(at('')).sort(), ['of-dir', 'of-parent', 'parent']);
});

for (const [name, options] of [
  ['another file system', ['-t', 'tmpfs', 'tmpfs']],
  ['a directory of the same one', ['--bind']],
] as const)
  test(`SAFE-14 what is removed is not removed across a mount: ${name}, mounted in the old target, keeps its files`, {
    skip,
  }, async () => {
    const root = fs.mkdtempSync(join(tmpdir(), 'mounts-inner-'));
    const at = (path: string): string => join(root, path);
    const unmounts: string[] = [];
    try {
      for (const [target, act] of [
        ['swapped', () => syncDir({ target: at('swapped'), files })],
        ['removed', () => removeTreeDurable(at('removed'), at('trash'))],
      ] as const) {
        for (const path of [`${target}/sub/inner`, `precious-${target}`]) fs.mkdirSync(at(path), { recursive: true });
        const source = options[0] === '--bind' ? [at(`precious-${target}`)] : [];
        const inner = at(`${target}/sub/inner`);
        assert.equal(spawnSync('mount', [...options, ...source, inner]).status, 0);
        fs.writeFileSync(join(inner, 'precious'), 'x');
        const { dev } = fs.statSync(inner);
        assert.equal((await act()).cleanup, 'deferred');
        const moved = fs
          .readFileSync('/proc/self/mountinfo', 'utf8')
          .split('\n')
          .map((line) => line.split(' ')[4] ?? '')
          .find((place) => place.startsWith(root) && place.includes(`.${target}.`));
        assert.ok(moved !== undefined, 'the mount went with the old directory');
        unmounts.push(moved);
        assert.deepEqual([fs.readdirSync(moved), fs.statSync(moved).dev], [['precious'], dev]);
      }
      const { kept, removed } = await recover(root);
      assert.deepEqual([kept.length, removed], [2, []]);
      for (const place of unmounts) assert.deepEqual(fs.readdirSync(place), ['precious']);
      assert.equal(read(at('swapped/key')), 'new');
    } finally {
      for (const place of unmounts) spawnSync('umount', [place]);
      fs.rmSync(root, { recursive: true });
    }
  });
