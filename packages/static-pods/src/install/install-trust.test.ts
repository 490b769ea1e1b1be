import assert from 'node:assert/strict';
import { chmod, mkdir, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch, treeAt } from '../testing/scratch.ts';
import { installEnvironment, smallCluster, smallSpec } from '../testing/static-pod-world.ts';
import { install } from './install.ts';

test('SAFE-15 what others could change is refused by name, for each directory, before anything is written; locks are 0600', async () => {
  for (const name of ['resources', 'manifests', 'certs']) {
    await using dir = await scratch();
    await mkdir(join(dir.path, name));
    await chmod(join(dir.path, name), 0o777);
    await assert.rejects(install(smallSpec(7, dir.path), installEnvironment(smallCluster(7))), {
      code: 'UNTRUSTED',
      message: new RegExp(`${name} can be written to by others.*let nobody else write there`),
    });
    assert.deepEqual(Object.keys(await treeAt(join(dir.path, 'manifests'))), []);
  }
  await using dir = await scratch();
  const lock = join(dir.path, 'installer.lock');
  await install({ ...smallSpec(7, dir.path), lockFile: lock }, installEnvironment(smallCluster(7)));
  for (const path of [
    lock,
    join(dir.path, 'certs/.drydock.lock'),
    join(dir.path, 'resources/.kube-apiserver-pod.lock'),
  ])
    assert.equal((await stat(path)).mode & 0o777, 0o600, path);
});

test('SAFE-11 a link in the certificate directory, or in a revision, is not followed: nothing is written where it leads', async () => {
  for (const path of ['certs/secrets', 'resources/kube-apiserver-pod-7/secrets']) {
    await using dir = await scratch();
    const elsewhere = join(dir.path, 'elsewhere');
    await mkdir(elsewhere);
    await install(smallSpec(7, dir.path), installEnvironment(smallCluster(7)));
    await rm(join(dir.path, path), { recursive: true });
    await symlink(elsewhere, join(dir.path, path));
    await assert.rejects(install(smallSpec(7, dir.path), installEnvironment(smallCluster(7))), {
      code: 'FOREIGN_LINK',
      message: new RegExp(`${path}: it is a link.*remove it`),
    });
    assert.deepEqual(await treeAt(elsewhere), {});
  }
});
