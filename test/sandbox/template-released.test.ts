import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Environment, expectExit, type Ran, startTemplateCli, type TemplateCli } from './support/template-cli.ts';

/** The tree of version 0.1.0. */
const RELEASED = '7b00159d83159972a7e1a97878ce7330dfe7ea26';
const root = join(import.meta.dirname, '../..');

const git = (...args: readonly string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });
/** Packages that version 0.1.0 was tested with and that are installed here in another version, or not at all. */
function otherPackages(): readonly string[] {
  type Lock = { readonly packages: Readonly<Record<string, { readonly version?: string; readonly link?: boolean }>> };
  const then = JSON.parse(git('show', `${RELEASED}:package-lock.json`).stdout) as Lock;
  const now = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
  return Object.entries(then.packages)
    .filter(([path, { version }]) => path.startsWith('node_modules/') && now.packages[path]?.version !== version)
    .map(([path]) => path);
}

/** A shallow clone or an archive lacks the commit; other dependencies than today's could not be installed here. */
function reasonToSkip(): string | false {
  if (git('cat-file', '-e', `${RELEASED}^{commit}`).status !== 0)
    return `version 0.1.0 (commit ${RELEASED.slice(0, 7)}) is not in this clone: git fetch --unshallow`;
  const others = otherPackages();
  return others.length > 0 ? `version 0.1.0 had other packages: ${others.join(', ')}` : false;
}
const skip = reasonToSkip();

let cli: TemplateCli;
let tree: string;
let first: string;
let second: string;
before(async () => {
  if (skip !== false) return;
  tree = await mkdtemp(join(tmpdir(), 'drydock-released-'));
  const unpacked = spawnSync('sh', ['-c', `git -C "$1" archive ${RELEASED} | tar -x -C "$2"`, 'sh', root, tree]);
  assert.equal(unpacked.status, 0, String(unpacked.stderr));
  await linkDependencies();
  cli = await startTemplateCli();
  [first, second] = await Promise.all([cli.ova('9.6.1', { seed: 1 }), cli.ova('9.6.2', { seed: 2 })]);
});
after(async () => {
  await cli?.[Symbol.asyncDispose]();
  if (tree !== undefined) await rm(tree, { recursive: true, force: true });
});

/** What is installed here serves the tree, but for the packages of the workspace, which are its own. */
async function linkDependencies(): Promise<void> {
  const [from, to] = [join(root, 'node_modules'), join(tree, 'node_modules')];
  await mkdir(join(to, '@drydock'), { recursive: true });
  for (const name of await readdir(from)) if (name !== '@drydock') await symlink(join(from, name), join(to, name));
  for (const folder of ['packages', 'apps'])
    for (const name of await readdir(join(tree, folder)))
      await symlink(join(tree, folder, name), join(to, '@drydock', name === 'drydock' ? 'cli' : name));
  await symlink(join(tree, 'api'), join(to, '@drydock', 'api'));
}

/** `drydock template …` of version 0.1.0. */
const old = (args: readonly string[], env: Environment): Promise<Ran> =>
  new Promise((resolve) => {
    // The runner's NODE_OPTIONS point at the bundle of today's code, which the tree of 0.1.0 does not have.
    const all = { ...process.env, ...cli.env, ...env, NODE_OPTIONS: '' };
    const variables = Object.entries(all).filter(([, value]) => value !== '');
    const command = [join(tree, 'apps/drydock/bin/drydock.js'), 'template', ...args];
    execFile(process.execPath, command, { env: Object.fromEntries(variables) }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr, events: [] });
    });
  });

const GC = ['gc', '--grace', '0', '--keep', '0', '--yes'];
const SETTINGS: readonly (readonly [string, Environment])[] = [
  ['with-key', {}],
  ['without-key', { DRYDOCK_MARK_KEY: '' }],
];

for (const [what, env] of SETTINGS) {
  test(`${what}: version 0.1.0 keeps what this version published, and uses none of it`, { skip }, async () => {
    const [base, stable] = [`p-${what}`, `s-${what}`];
    const run = async (args: readonly string[]): Promise<string> =>
      expectExit(await cli.run(args, env), 0).stdout.trim();
    const pointed = await run(['publish', first, '--name', base]);
    await run(['publish', first, '--name', stable, '--swap']);
    const before = [await cli.vm(pointed), await cli.vm(stable)];
    const kept = async (): Promise<void> => assert.deepEqual([await cli.vm(pointed), await cli.vm(stable)], before);

    expectExit(await old(GC, env), 0);
    await kept();
    const own = expectExit(await old(['publish', first, '--name', base], env), 0).stdout.trim();
    assert.notEqual(own, pointed);
    expectExit(await old(['verify', pointed], env), 3);
    for (const args of [
      ['publish', second, '--name', stable, '--swap'],
      ['publish', second, '--name', stable, '--swap', '--retire-unmarked'],
      ['revert', stable, '--yes'],
      ['adopt', stable],
    ])
      expectExit(await old(args, env), 3);
    expectExit(await old(GC, env), 0);
    await kept();
    // After the downgrade, this version goes on from there.
    assert.match(expectExit(await cli.run(['verify', pointed], env), 0).stdout, /it belongs to drydock-template/);
  });

  test(`${what}: this version keeps what version 0.1.0 published, and uses it after template adopt alone`, {
    skip,
  }, async () => {
    const [base, stable] = [`op-${what}`, `os-${what}`];
    const pointed = expectExit(await old(['publish', first, '--name', base], env), 0).stdout.trim();
    expectExit(await old(['publish', first, '--name', stable, '--swap'], env), 0);
    const before = [await cli.vm(pointed), await cli.vm(stable)];
    expectExit(await cli.run(GC, env), 0);
    const published = expectExit(await cli.run(['publish', first, '--name', base], env), 0);
    assert.notEqual(published.stdout.trim(), pointed);
    const swap = ['publish', second, '--name', stable, '--swap'];
    expectExit(await cli.run(swap, env), 3);
    assert.deepEqual([await cli.vm(pointed), await cli.vm(stable)], before);
    assert.match(published.stderr, /next: drydock template adopt --all/);
    // Without a key nothing would prove it to the next run either.
    if (env['DRYDOCK_MARK_KEY'] === '') {
      assert.match(published.stderr, /next: drydock template adopt --all --mark-key FILE/);
      assert.match(
        expectExit(await cli.run(['adopt', '--all'], env), 0).stderr,
        /without a mark key, .*give --mark-key/,
      );
      return;
    }
    expectExit(await cli.run(['adopt', pointed, stable], env), 0);
    expectExit(await cli.run(swap, env), 0);
    const retired = (await cli.names()).find((name) => name.startsWith(`${stable}-retired-`)) ?? assert.fail();
    expectExit(await old(['revert', stable, '--yes'], env), 3);
    expectExit(await old([...GC, '--dry-run'], env), 0);
    assert.equal((await cli.vm(retired)).instanceUuid, before[1]?.instanceUuid);
    expectExit(await cli.run(['revert', stable, '--yes'], env), 0);
    assert.equal((await cli.vm(stable)).instanceUuid, before[1]?.instanceUuid);
  });
}
