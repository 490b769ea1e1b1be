import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { root } from './command.ts';
import { pack } from './pack.ts';

const run = promisify(execFile);

/** A folder with a packed package in its node_modules, as npm puts it there, and beside it what it depends on. */
async function installed(name: string) {
  const dir = await mkdtemp(join(tmpdir(), 'pack-'));
  const modules = join(dir, 'node_modules');
  const packed = await pack(name, join(dir, 'dist'));
  await mkdir(join(modules, '@drydock'), { recursive: true });
  await run('tar', ['-xzf', packed, '-C', dir]);
  await rename(join(dir, 'package'), join(modules, '@drydock', name));
  for (const dependency of ['koffi', '@types', 'undici-types'])
    await symlink(join(root, 'node_modules', dependency), join(modules, dependency));
  return {
    dir,
    readme: () => readFile(join(modules, '@drydock', name, 'README.md'), 'utf8'),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true }),
  };
}

test('npm run pack: the README of packages/durable runs as it stands with the packed package, and its types are found', async () => {
  await using world = await installed('durable');
  const readme = await world.readme();
  const code = /^```js\n([\s\S]*?)^```$/m.exec(readme)?.[1] ?? '';
  await writeFile(join(world.dir, 'example.mjs'), code);
  const { stdout, stderr } = await run(process.execPath, ['example.mjs'], { cwd: world.dir, timeout: 60_000 });
  const made = /'(\/var\/tmp\/certificates-[^/']+)\/tls'/.exec(stdout)?.[1];
  assert.ok(made !== undefined, stdout + stderr);
  await rm(made, { recursive: true });
  assert.match(stdout, /changed: true,[\s\S]*\[ 'tls\.crt', 'tls\.key' \]/);
  assert.equal(stderr, '');
  const wrong = `import { crashStates } from '@drydock/durable/testing';\nconst text: string = crashStates;\n`;
  await writeFile(join(world.dir, 'example.mts'), code);
  await writeFile(join(world.dir, 'wrong.mts'), wrong);
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext', '--types', 'node'];
  const compile = (file: string) =>
    run(join(root, 'node_modules', '.bin', 'tsc'), [...options, file], { cwd: world.dir, timeout: 60_000 });
  await compile('example.mts');
  // The types are really there: what is no string is not taken for one.
  await assert.rejects(compile('wrong.mts'), ({ stdout: said }: { stdout: string }) => /TS2322/.test(said));
});

test('npm run pack: what does not stand alone is refused', async () => {
  await assert.rejects(pack('static-pods', join(tmpdir(), 'never')), /does not stand alone, it needs @drydock\/api/);
});
