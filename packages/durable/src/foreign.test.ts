import assert from 'node:assert/strict';
import { chown, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { commitTree } from './commit-tree.ts';
import { fsyncPath, replaceFileDurable, replaceSymlinkDurable, syncDirectory, writeFileDurable } from './file.ts';
import { lockFile } from './lock.ts';
import { nodeOps } from './node-ops.ts';
import { makeDirectoryDurable } from './parents.ts';
import { probeExchange } from './probe.ts';
import { inspect, recover } from './recover.ts';
import { removeTreeDurable } from './remove-tree.ts';
import { syncDir } from './sync-dir.ts';
import { scratch } from './testing/scratch.ts';

// What others made: directories behind links, names that are no text, directories that nobody may write to.

const files = (text: string) => new Map([['a', { content: text }]]);

test('a directory that is reached through a link, as /tmp and /var/run are on many machines: every operation works in it', async () => {
  await using dir = await scratch();
  await mkdir(dir.at('real'));
  await symlink('real', dir.at('link'));
  const at = (path: string): string => dir.at(`link/${path}`);
  const read = (path: string): Promise<string> => readFile(dir.at(`real/${path}`), 'utf8');
  await writeFileDurable(at('written'), 'x');
  await replaceFileDurable(at('file'), '1');
  await replaceFileDurable(at('file'), '2');
  await replaceSymlinkDurable(at('l'), 'file');
  await syncDir({ target: at('t'), files: files('1') });
  await syncDir({ target: at('t'), files: files('2') });
  await syncDir({ target: at('u/v'), staging: dir.at('link'), strategy: 'syncfs', files: files('3') });
  await commitTree({ dir: at('tree'), files: files('4') });
  await commitTree({ dir: at('gone'), files: files('5') });
  await removeTreeDurable(at('gone'), dir.at('link'));
  await makeDirectoryDurable(at('x/y'));
  await fsyncPath(dir.at('link'));
  await syncDirectory(dir.at('link'));
  assert.deepEqual(await probeExchange(dir.at('link')), { available: true });
  await using _lock = await lockFile(at('lock'));
  assert.deepEqual(await Promise.all(['written', 'file', 't/a', 'u/v/a', 'tree/a'].map(read)), [
    ...['x', '2', '2', '3', '4'],
  ]);
  assert.equal(await readlink(dir.at('real/l')), 'file');
  assert.deepEqual((await readdir(dir.at('real'))).sort(), [
    ...['file', 'l', 'lock', 't', 'tree', 'u', 'written', 'x'],
  ]);
});

test('a directory that is reached through a link: what a crash left there is shown, put back and removed', async () => {
  await using dir = await scratch();
  await mkdir(dir.at('real'));
  await symlink('real', dir.at('link'));
  await mkdir(dir.at('real/.t.0123456789abcdef.old'));
  await writeFile(dir.at('real/.t.0123456789abcdef.old/a'), '1');
  await mkdir(dir.at('real/.t.0123456789abcdee.staging'));
  assert.equal((await inspect(dir.at('link'))).leftovers.length, 2);
  const again = await syncDir({ target: dir.at('link/t'), files: files('1') });
  assert.equal(again.changed, false, 'the old directory was put back first');
  const { removed, fsyncs } = await recover(dir.at('link'));
  assert.deepEqual(removed, [dir.at('link/.t.0123456789abcdee.staging')]);
  assert.ok(fsyncs > 0);
  assert.deepEqual(await readdir(dir.at('real')), ['t']);
  await symlink('nowhere', dir.at('dangling'));
  await assert.rejects(recover(dir.at('dangling')), { code: 'RECOVERY_FAILED', errno: 'ENOENT' });
});

test('names that are not UTF-8 are replaced and removed like others, at any depth', async () => {
  await using dir = await scratch();
  const odd = Buffer.concat([Buffer.from(`${dir.path}/t/ü`), Buffer.of(0xff, 0xc3)]);
  await mkdir(dir.at('t'));
  await mkdir(odd);
  await writeFile(Buffer.concat([odd, Buffer.from('/in'), Buffer.of(0xfe)]), 'key');
  await mkdir(dir.at('.u.0123456789abcdef.staging'));
  await writeFile(Buffer.concat([Buffer.from(dir.at('.u.0123456789abcdef.staging/')), Buffer.of(0x80)]), 'key');
  // The character that stands for what is no text may itself be in a name.
  await writeFile(dir.at('.u.0123456789abcdef.staging/\ufffd'), 'key');
  const { cleanup } = await syncDir({ target: dir.at('t'), files: files('1') });
  assert.equal(cleanup, 'done');
  assert.equal((await recover(dir.path)).removed.length, 1);
  assert.deepEqual(await readdir(dir.path), ['t']);
  assert.deepEqual(await readdir(dir.at('t')), ['a']);
});

test('a directory that its owner may not write to is replaced, and emptied all the same', async () => {
  const { getuid, seteuid, geteuid } = process;
  const root = getuid?.() === 0;
  // Somebody else may not get into the directory for temporary files of root's own.
  await using dir = await scratch(root ? '/tmp' : undefined);
  const spec = (text: string) => ({ target: dir.at('t'), mode: 0o500, files: files(text) });
  const ops = { ...nodeOps };
  await syncDir({ ...spec('1'), ops });
  // Root may write anywhere: it becomes somebody else for this.
  if (root) await giveAway(dir.path);
  const before = geteuid?.() ?? 0;
  try {
    if (root) seteuid?.(NOBODY);
    const { cleanup } = await syncDir({ ...spec('2'), ops });
    assert.equal(cleanup, 'done');
    await syncDir({ ...spec('3'), ops: { ...ops, unlink: () => Promise.reject(new Error('EIO')) } });
    assert.equal((await recover(dir.path, { ops })).removed.length, 1);
  } finally {
    if (root) seteuid?.(before);
  }
  assert.equal(await readFile(dir.at('t/a'), 'utf8'), '3');
  assert.deepEqual((await readdir(dir.path)).sort(), ['t']);
});

const NOBODY = 65_534;

async function giveAway(path: string): Promise<void> {
  for (const entry of ['', ...(await readdir(path, { recursive: true }))])
    await chown(`${path}/${entry}`, NOBODY, NOBODY);
}
