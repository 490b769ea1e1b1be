import assert from 'node:assert/strict';
import { chmod, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigMap, Secret } from '@drydock/api';
import { type FsOps, nodeOps, tapOps } from '@drydock/durable';
import { ApiError, type KubeObject, type Resource } from '@drydock/kube';
import { type MemoryCluster, memoryCluster } from '@drydock/kube/testing';
import type { Source, SourceKind } from '../revision/object-files.ts';
import { scratch, treeAt } from '../testing/scratch.ts';
import { NAMESPACE, putConfigMap, putSecret } from '../testing/static-pod-world.ts';
import { type CertSyncSpec, syncCerts } from './cert-sync.ts';

const REQUIRED = { secrets: [{ name: 's1' }], configmaps: [{ name: 'c1' }] };
const BOTH = {
  secrets: [{ name: 's1' }, { name: 's2', optional: true }],
  configmaps: [{ name: 'c1' }, { name: 'c2', optional: true }],
};

/** A directory, a cluster and a syncer whose cache is the cluster itself or, where told, an older state of it. */
async function world(lists: Pick<CertSyncSpec, 'secrets' | 'configmaps'> = REQUIRED) {
  const dir = await scratch();
  const cluster = memoryCluster({ namespaces: [NAMESPACE] });
  putSecret(cluster, 's1', { 'tls.crt': 'crt', 'tls.key': 'key' });
  putConfigMap(cluster, 'c1', { 'ca.crt': 'ca' });
  const late = new Map<string, Source | undefined>();
  const cached = (kind: SourceKind, name: string): Source | undefined => {
    const path = `${kind}/${name}`;
    if (late.has(path)) return late.get(path);
    return kind === 'secrets'
      ? cluster.peek(Secret, { namespace: NAMESPACE, name })
      : cluster.peek(ConfigMap, { namespace: NAMESPACE, name });
  };
  const run = async (ops: FsOps = nodeOps) => {
    const events: string[] = [];
    const spec = { namespace: NAMESPACE, dir: dir.path, ...lists };
    const error = await syncCerts(spec, {
      client: cluster.client(),
      cached,
      ops,
      notify: ({ type, reason }) => void events.push(`${type} ${reason}`),
    }).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    return { events, error, message: error instanceof Error ? error.message : '' };
  };
  return {
    cluster,
    late,
    run,
    path: dir.path,
    tree: () => treeAt(dir.path),
    [Symbol.asyncDispose]: dir[Symbol.asyncDispose],
  };
}

const remove = (cluster: MemoryCluster, resource: Resource<KubeObject>, name: string): void =>
  cluster.put(resource, { namespace: NAMESPACE, name }, undefined);

const UPDATED = 'Normal CertificateUpdated';
const FAILED = 'Warning CertificateUpdateFailed';
const FIRST = {
  configmaps: '755 /',
  'configmaps/c1': '755 /',
  'configmaps/c1/ca.crt': '644 ca',
  secrets: '755 /',
  'secrets/s1': '755 /',
  'secrets/s1/tls.crt': '600 crt',
  'secrets/s1/tls.key': '600 key',
};

test('DU-D73 DU-D87 DU-D88 DU-D89 first certificates: modes, one event each, nothing else on the disk; then no event', async () => {
  await using w = await world();
  assert.deepEqual((await w.run()).events, [UPDATED, UPDATED]);
  assert.deepEqual(await w.tree(), FIRST);
  assert.deepEqual(await w.run(), { events: [], error: undefined, message: '' });
  await using four = await world(BOTH);
  putSecret(four.cluster, 's2', { k: 'v' });
  putConfigMap(four.cluster, 'c2', { k: 'v' });
  assert.deepEqual((await four.run()).events, [UPDATED, UPDATED, UPDATED, UPDATED]);
});

test('DU-D74 DU-D81 DU-D82 a second object and an update are one event each', async () => {
  await using w = await world(BOTH);
  await w.run();
  putConfigMap(w.cluster, 'c2', { k: 'v' });
  assert.deepEqual((await w.run()).events, [UPDATED]);
  putSecret(w.cluster, 's2', { k: 'v' });
  assert.deepEqual((await w.run()).events, [UPDATED]);
  putSecret(w.cluster, 's2', { k: 'newer', more: 'x' });
  assert.deepEqual((await w.run()).events, [UPDATED]);
  const tree = await w.tree();
  assert.deepEqual(
    [tree['secrets/s2/k'], tree['secrets/s2/more'], tree['configmaps/c2/k']],
    ['600 newer', '600 x', '644 v'],
  );
});

test('DU-D76 DU-D77 DU-D83 DU-D84 missing objects: optional ones are fine, required ones are an error without event', async () => {
  await using w = await world(BOTH);
  assert.deepEqual((await w.run()).events, [UPDATED, UPDATED]);
  remove(w.cluster, ConfigMap, 'c1');
  const map = await w.run();
  assert.deepEqual(map.events, []);
  assert.match(map.message, /ConfigMap some-ns\/c1: it does not exist and is required/);
  putConfigMap(w.cluster, 'c1', { 'ca.crt': 'ca' });
  remove(w.cluster, Secret, 's1');
  const secret = await w.run();
  assert.deepEqual(secret.events, []);
  assert.match(secret.message, /Secret some-ns\/s1/);
  assert.deepEqual(await w.tree(), FIRST, 'what is required is never removed');
});

test('DU-D78 an optional object that is gone: its directory goes as a whole', async () => {
  await using w = await world(BOTH);
  putConfigMap(w.cluster, 'c2', { k: 'v' });
  putSecret(w.cluster, 's2', { k: 'v' });
  await w.run();
  remove(w.cluster, ConfigMap, 'c2');
  remove(w.cluster, Secret, 's2');
  assert.deepEqual((await w.run()).events, ['Normal CertificateRemoved', 'Warning CertificateRemoved']);
  assert.deepEqual(await w.tree(), FIRST);
});

test('DU-W18 an optional object that is gone, whose directory cannot be removed: an error and a failure, never the event of a removal', async () => {
  await using w = await world(BOTH);
  putConfigMap(w.cluster, 'c2', { k: 'v' });
  await w.run();
  remove(w.cluster, ConfigMap, 'c2');
  const ops = tapOps(nodeOps, (call, go) =>
    call.op === 'rename' && call.path.endsWith('/c2')
      ? Promise.reject(Object.assign(new Error('EROFS: rename'), { code: 'EROFS' }))
      : go(),
  );
  const { events, message } = await w.run(ops);
  assert.deepEqual(events, [FAILED]);
  assert.match(message, /EROFS/);
  assert.equal((await w.tree())['configmaps/c2/k'], '644 v');
});

test('DU-D79 DU-D86 the server fails to confirm: an error and an event, the disk as it was; the other object is served', async () => {
  for (const [fails, served] of [
    ['configmaps', 'secrets'],
    ['secrets', 'configmaps'],
  ] as const) {
    await using w = await world();
    await w.run();
    putSecret(w.cluster, 's1', { 'tls.crt': 'crt 2', 'tls.key': 'key 2' });
    putConfigMap(w.cluster, 'c1', { 'ca.crt': 'ca 2' });
    w.cluster.onCall = (call) => {
      if (call.resource?.startsWith(fails) === true)
        throw new ApiError({ code: 'ServerError', status: 500, action: 'get', said: 'broken' });
    };
    const { events, error } = await w.run();
    assert.deepEqual(events.toSorted(), [UPDATED, FAILED]);
    assert.ok(error instanceof Error);
    const tree = await w.tree();
    const changed = Object.keys(FIRST).filter((path) => tree[path] !== FIRST[path as keyof typeof FIRST]);
    assert.ok(changed.length > 0 && changed.every((path) => path.startsWith(served)), changed.join());
  }
});

test('DU-D91 DU-W18 an object without data converges to an empty directory', async () => {
  await using w = await world();
  w.cluster.put(Secret, { namespace: NAMESPACE, name: 's1' }, {});
  assert.deepEqual((await w.run()).events, [UPDATED, UPDATED]);
  assert.deepEqual((await w.run()).events, []);
  assert.equal((await w.tree())['secrets/s1'], '755 /');
});

test('DU-D92 DU-D93 DU-W18 a further file and drifted modes are put right', async () => {
  await using w = await world();
  await w.run();
  await writeFile(join(w.path, 'secrets/s1/extra'), 'x');
  await chmod(join(w.path, 'configmaps/c1/ca.crt'), 0o666);
  assert.deepEqual((await w.run()).events, [UPDATED, UPDATED]);
  assert.deepEqual(await w.tree(), FIRST);
});

test('DU-D94 a late cache: where the server says what is on the disk nothing is written, and nothing is removed', async () => {
  await using w = await world(BOTH);
  putSecret(w.cluster, 's2', { k: 'v' });
  await w.run();
  const before = await stat(join(w.path, 'secrets/s1'));
  w.late.set('secrets/s1', { metadata: { name: 's1', namespace: NAMESPACE }, data: {} });
  w.late.set('secrets/s2', undefined);
  assert.deepEqual(await w.run(), { events: [], error: undefined, message: '' });
  assert.equal((await stat(join(w.path, 'secrets/s1'))).ino, before.ino);
  assert.equal((await w.tree())['secrets/s2/k'], '600 v');
});

test('DU-W13 what a crash left of old or new keys goes with the next pass', async () => {
  await using w = await world();
  await w.run();
  await mkdir(join(w.path, 'secrets/.s1.0123456789abcdef.staging'));
  await writeFile(join(w.path, 'secrets/.s1.0123456789abcdef.staging/tls.key'), 'old key');
  assert.deepEqual((await w.run()).events, []);
  assert.deepEqual(await w.tree(), FIRST);
});

test('DU-W18 binaryData of a ConfigMap is laid down byte for byte', async () => {
  await using w = await world();
  w.cluster.put(
    ConfigMap,
    { namespace: NAMESPACE, name: 'c1' },
    { binaryData: { 'x.bin': Buffer.from([0, 255, 128]).toString('base64') } },
  );
  await w.run();
  assert.equal((await w.tree())['configmaps/c1/x.bin'], `644 ${String.fromCharCode(0, 255, 128)}`);
});

test('bad input: 500 keys and a secret of 1 MiB are laid down whole', async () => {
  await using w = await world();
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`key-${n}`, `value ${n}`]));
  putConfigMap(w.cluster, 'c1', many);
  putSecret(w.cluster, 's1', { big: 'x'.repeat(1 << 20) });
  assert.deepEqual((await w.run()).events, [UPDATED, UPDATED]);
  const tree = await w.tree();
  assert.equal(Object.keys(tree).filter((path) => path.startsWith('configmaps/c1/')).length, 500);
  assert.equal(tree['secrets/s1/big']?.length, 4 + (1 << 20));
});

test('TRUTH-8 a pass that finds nothing to do syncs nothing: not thirty directories every ten minutes', async () => {
  const names = Array.from({ length: 15 }, (_, index) => `n${index}`);
  const sources = names.map((name) => ({ name }));
  await using w = await world({ secrets: sources, configmaps: sources });
  for (const name of names) {
    putSecret(w.cluster, name, { 'tls.crt': name, 'tls.key': name });
    putConfigMap(w.cluster, name, { 'ca.crt': name });
  }
  let fsyncs = 0;
  const ops = tapOps({ ...nodeOps, volatile: async () => false }, (call, run) => {
    if (call.op === 'fsync') fsyncs += 1;
    return run();
  });
  assert.equal((await w.run(ops)).events.length, 30);
  assert.ok(fsyncs > 60);
  for (const pass of [2, 3]) {
    fsyncs = 0;
    assert.deepEqual((await w.run(ops)).events, []);
    assert.equal(fsyncs, 0, `pass ${pass}`);
  }
  await writeFile(join(w.path, 'secrets/n3/tls.key'), 'else', { flag: 'r+' });
  assert.deepEqual((await w.run(ops)).events, ['Normal CertificateUpdated']);
  fsyncs = 0;
  await w.run(ops);
  assert.equal(fsyncs, 0, 'after a change');
});
