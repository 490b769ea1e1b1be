import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Secret } from '@drydock/api';
import { syncDir } from '@drydock/durable';
import { fetchSources } from '../revision/fetch.ts';
import { filesOf } from '../revision/object-files.ts';
import { scratch, treeAt } from '../testing/scratch.ts';
import { NAMESPACE, putSecret, smallCluster, smallSpec } from '../testing/static-pod-world.ts';
import { syncCerts } from './cert-sync.ts';
import { syncSharedCerts } from './certs.ts';

/** An installer that has read the certificate and is slow, and a syncer that hears of a newer one meanwhile. */
async function race(root: string, installer: 'ours' | 'reads before it locks'): Promise<string | undefined> {
  const cluster = smallCluster(7);
  const spec = smallSpec(7, root);
  const dir = join(root, 'certs');
  const read = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slow = cluster.client();
  const hold = async (): Promise<void> => {
    read.resolve();
    await goOn.promise;
  };
  const get = slow.get.bind(slow);
  const client = Object.assign(Object.create(slow) as typeof slow, {
    get: async (...args: Parameters<typeof get>) => {
      const found = await get(...args);
      await hold();
      return found;
    },
  });
  const installing =
    installer === 'ours'
      ? syncSharedCerts(spec, client, {})
      : fetchSources({ secrets: ['tls'] }, { client, namespace: NAMESPACE }).then(async ([one]) => {
          assert.ok(one !== undefined);
          await syncDir({ target: join(dir, 'secrets/tls'), files: filesOf('secrets', one.object, 'shared') });
        });
  await read.promise;
  putSecret(cluster, 'tls', { 'tls.crt': 'newer', 'tls.key': 'newer' });
  const syncing = syncCerts(
    { namespace: NAMESPACE, dir, secrets: [{ name: 'tls' }], configmaps: [] },
    { client: cluster.client(), cached: () => cluster.peek(Secret, { namespace: NAMESPACE, name: 'tls' }) },
  );
  // Without the lock the syncer comes to its end first; with it, it waits for the installer.
  if (installer !== 'ours') await syncing;
  goOn.resolve();
  await Promise.all([installing, syncing]);
  return (await treeAt(dir))['secrets/tls/tls.crt'];
}

test('DU-W14 an installer does not put back a certificate that a syncer has replaced', async () => {
  await using dir = await scratch();
  assert.equal(await race(dir.path, 'ours'), '600 newer');
});

test('DU-W14, negative control: read before the lock, the older certificate comes back', async () => {
  await using dir = await scratch();
  assert.equal(await race(dir.path, 'reads before it locks'), '600 crt of 7');
});

test('installer and syncer agree on modes and bytes: what one wrote the other leaves alone', async () => {
  await using dir = await scratch();
  const cluster = smallCluster(7);
  putSecret(cluster, 'tls', { 'tls.crt': 'REVISION', 'run.sh': 'x' });
  const spec = smallSpec(7, dir.path);
  assert.equal(await syncSharedCerts(spec, cluster.client(), {}), true);
  const before = await treeAt(join(dir.path, 'certs'));
  const result = await syncCerts(
    { namespace: NAMESPACE, dir: join(dir.path, 'certs'), secrets: [{ name: 'tls' }], configmaps: [] },
    { client: cluster.client(), cached: () => cluster.peek(Secret, { namespace: NAMESPACE, name: 'tls' }) },
  );
  assert.deepEqual(result, { updated: [], removed: [] });
  assert.deepEqual(await treeAt(join(dir.path, 'certs')), before);
  assert.equal(await syncSharedCerts(spec, cluster.client(), {}), false);
});
