import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { crdArchive } from './crd-archive.ts';
import { crdDirectory, moduleCrds } from './crd-copy.ts';
import { CRD_SETS } from './crd-sets.ts';
import { SandboxError } from './errors.ts';
import { scratchFolder } from './workdir.ts';

test('the archive has each standard set at its pinned version, file by file', () => {
  const archive = crdArchive();
  assert.deepEqual(Object.keys(archive).sort(), CRD_SETS.map((set) => basename(crdDirectory(set))).sort());
  for (const set of CRD_SETS)
    assert.deepEqual(
      Object.keys(archive[basename(crdDirectory(set))] ?? {}).sort(),
      set.files.map((file) => basename(file)).sort(),
    );
});

test('the archive has what the pinned modules have (npm run generate)', async (t: TestContext) => {
  for (const set of CRD_SETS) {
    const files = await moduleCrds(set, () => undefined).catch((error: unknown) => {
      if (error instanceof SandboxError && error.code === 'GoMissing') return undefined;
      throw error;
    });
    if (files === undefined) return t.skip('needs Go, which downloads and verifies the modules');
    assert.deepEqual(crdArchive()[basename(crdDirectory(set))], files, set.name);
  }
});

test('processes that unpack sets at the same time all find them whole', async () => {
  using cache = scratchFolder();
  const program = `
    import { once } from 'node:events';
    import { readdirSync, readFileSync } from 'node:fs';
    import { crdFolder } from ${JSON.stringify(import.meta.resolve('./crd-copy.ts'))};
    process.stdout.write('ready');
    await once(process.stdin, 'data');
    for (const name of ${JSON.stringify(CRD_SETS.map(({ name }) => name))}) {
      const folder = crdFolder(name);
      for (let looks = 0; looks < 20; looks += 1)
        for (const file of readdirSync(folder)) if (readFileSync(folder + '/' + file).length === 0) process.exit(1);
    }`;
  const env = { ...process.env, DRYDOCK_SANDBOX_CACHE: cache.path };
  const children = Array.from({ length: 6 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', program], { env, stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  const codes = children.map(async (child) => ((await once(child, 'exit')) as [number | null])[0]);
  await Promise.all(children.map(({ stdout }) => once(stdout, 'data')));
  for (const { stdin } of children) stdin.end('go');
  assert.deepEqual(await Promise.all(codes), [0, 0, 0, 0, 0, 0]);
  assert.equal(readdirSync(join(cache.path, 'crds')).length, CRD_SETS.length, 'nothing half-made is left');
});

test('a process that unpacks a set removes no folder that another one may have published meanwhile', () => {
  using cache = scratchFolder();
  const [set] = CRD_SETS;
  const program = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const { rmSync } = fs;
    fs.rmSync = (path, options) => {
      if (!/[.]unfinished[.]/.test(path)) process.stdout.write('removes ' + path);
      rmSync(path, options);
    };
    syncBuiltinESMExports();
    const { crdFolder } = await import(${JSON.stringify(import.meta.resolve('./crd-copy.ts'))});
    crdFolder(${JSON.stringify(set?.name)});`;
  const env = { ...process.env, DRYDOCK_SANDBOX_CACHE: cache.path };
  assert.equal(execFileSync(process.execPath, ['--input-type=module', '-e', program], { env, encoding: 'utf8' }), '');
  assert.equal(readdirSync(join(cache.path, 'crds')).length, 1);
});
