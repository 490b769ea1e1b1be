import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigMap, Secret } from '@drydock/api';
import { type FsCall, lockFile, nodeOps, tapOps } from '@drydock/durable';
import { ApiError } from '@drydock/kube';
import { type MemoryCluster, memoryCluster } from '@drydock/kube/testing';
import type { InstallSpec } from '../revision/install-spec.ts';
import { Node, type Pod } from '../revision/pod.ts';
import { scratch, treeAt } from '../testing/scratch.ts';
import {
  base64,
  installEnvironment,
  NAMESPACE,
  NODE_NAME,
  podYaml,
  putConfigMap,
  putSecret,
  smallCluster,
  smallSpec,
} from '../testing/static-pod-world.ts';
import { install } from './install.ts';

const REVISION = '006';

test('a time for the work beyond the longest timer of the machine, 25 days, does not end at once', async () => {
  await using dir = await scratch();
  const spec = { ...smallSpec(7, dir.path), timeoutMs: 2 ** 32 };
  assert.equal((await install(spec, installEnvironment(smallCluster(7)))).changed.length, 4);
});

/** The objects of library-go's own test of its installer. */
function upstreamCluster(): MemoryCluster {
  const cluster = memoryCluster({ namespaces: [NAMESPACE] });
  for (const name of ['first', 'second', 'third'])
    putSecret(cluster, `${name}-006`, {
      'one-A.crt': `${name} A`,
      'two-A.crt': `${name} B`,
      [`run-${name}.sh`]: '#!/bin/sh',
    });
  for (const name of ['alpha', 'bravo', 'charlie'])
    putConfigMap(cluster, `${name}-006`, { 'a.crt': `${name} A`, [`run-${name}.sh`]: '#!/bin/sh' });
  putConfigMap(cluster, 'kube-apiserver-pod-006', { 'pod.yaml': podYaml('kube-apiserver', '      resources: {}\n') });
  return cluster;
}

function upstreamSpec(root: string, change: Partial<InstallSpec> = {}): InstallSpec {
  return {
    ...smallSpec(6, root),
    revision: REVISION,
    sources: { secrets: ['first', 'second', 'third'], configmaps: ['alpha', 'bravo'] },
    certs: {},
    ...change,
  };
}

const read = async (path: string): Promise<Pod> => JSON.parse(await readFile(path, 'utf8')) as Pod;

test('DU-D46 DU-D47 objects and manifests of a revision: places, contents, modes, events', async () => {
  await using dir = await scratch();
  const env = installEnvironment(upstreamCluster());
  const result = await install(upstreamSpec(dir.path), env);
  const revision = join(dir.path, 'resources/kube-apiserver-pod-006');
  assert.equal(result.revisionDir, revision);
  const tree = await treeAt(revision);
  assert.deepEqual(
    Object.keys(tree).filter((path) => !path.includes('/')),
    ['configmaps', 'kube-apiserver-pod.yaml', 'secrets'],
  );
  assert.equal(tree['secrets/first'], '755 /');
  assert.equal(tree['secrets/first/one-A.crt'], '600 first A');
  assert.equal(tree['secrets/third/run-third.sh'], '700 #!/bin/sh');
  assert.equal(tree['configmaps/bravo/a.crt'], '600 bravo A');
  assert.equal(tree['configmaps/alpha/run-alpha.sh'], '755 #!/bin/sh');
  assert.equal(Object.keys(tree).length, 3 + 3 * 4 + 2 * 3);
  for (const path of [join(revision, 'kube-apiserver-pod.yaml'), join(dir.path, 'manifests/kube-apiserver-pod.yaml')]) {
    const pod = await read(path);
    assert.equal(pod.metadata.name, 'kube-apiserver');
    assert.equal(pod.metadata.labels?.['revision'], REVISION);
    assert.equal(pod.metadata.uid, undefined);
    assert.deepEqual(pod.spec?.containers, [
      { name: 'main', image: 'registry.example/main:1', args: [`--node=${NODE_NAME}`], resources: {} },
    ]);
  }
  const manifests = await treeAt(join(dir.path, 'manifests'));
  assert.deepEqual(Object.keys(manifests), ['kube-apiserver-pod.yaml']);
  assert.match(manifests['kube-apiserver-pod.yaml'] ?? '', /^600 /);
  assert.deepEqual(
    env.notices.map(({ type, reason }) => [type, reason]),
    [['Normal', 'StaticPodInstallerCompleted']],
  );
});

test('DU-D48 optional objects: present ones are laid down, missing ones are fine', async () => {
  await using dir = await scratch();
  const sources = {
    secrets: ['first', 'second'],
    optionalSecrets: ['third', 'fourth'],
    configmaps: ['alpha', 'bravo'],
    optionalConfigmaps: ['charlie', 'delta'],
  };
  await install(upstreamSpec(dir.path, { sources }), installEnvironment(upstreamCluster()));
  const tree = await treeAt(join(dir.path, 'resources/kube-apiserver-pod-006'));
  assert.ok('secrets/third/one-A.crt' in tree && 'configmaps/charlie/a.crt' in tree);
  assert.ok(!('secrets/fourth' in tree) && !('configmaps/delta' in tree));
});

test('DU-D49 DU-W17 a second manifest of the ConfigMap is written in both places, the main one last; other keys are none', async () => {
  await using dir = await scratch();
  const cluster = smallCluster(7);
  const map = cluster.peek(ConfigMap, { namespace: NAMESPACE, name: 'kube-apiserver-pod-7' });
  putConfigMap(cluster, 'kube-apiserver-pod-7', { ...map?.data, version: '7', 'notes.txt': 'x' });
  const renames: string[] = [];
  const ops = tapOps(nodeOps, (call, run) => {
    if (call.op === 'rename') renames.push(call.to ?? '');
    return run();
  });
  await install(smallSpec(7, dir.path), { ...installEnvironment(cluster), ops });
  const names = ['kube-apiserver-pod.yaml', 'kube-apiserver-startup-monitor-pod.yaml'];
  assert.deepEqual(Object.keys(await treeAt(join(dir.path, 'manifests'))), names);
  const revision = await treeAt(join(dir.path, 'resources/kube-apiserver-pod-7'));
  assert.deepEqual(
    Object.keys(revision).filter((path) => path.endsWith('pod.yaml')),
    names,
  );
  assert.deepEqual(
    renames.filter((to) => to.includes('/manifests/')).map((to) => to.slice(to.lastIndexOf('/') + 1)),
    names.toReversed(),
  );
});

test('DU-D51 no pod.yaml: an error at once, no manifest touched', async () => {
  await using dir = await scratch();
  const cluster = upstreamCluster();
  putConfigMap(cluster, 'kube-apiserver-pod-006', { 'other.yaml': 'x' });
  await mkdir(join(dir.path, 'manifests'));
  await writeFile(join(dir.path, 'manifests/kube-apiserver-pod.yaml'), 'old');
  const env = installEnvironment(cluster);
  const calls = cluster.calls;
  await assert.rejects(install(upstreamSpec(dir.path), env), {
    name: 'StaticPodError',
    code: 'MISSING',
    message: /kube-apiserver-pod-006: it has no key pod\.yaml/,
  });
  assert.equal(cluster.calls - calls, 7, 'node, five objects, the pod: each once');
  assert.deepEqual(await treeAt(dir.path), { manifests: '755 /', 'manifests/kube-apiserver-pod.yaml': '644 old' });
  assert.deepEqual(
    env.notices.map(({ type, reason }) => [type, reason]),
    [['Warning', 'StaticPodInstallerFailed']],
  );
});

test('DU-D52 DU-D58 a required object is missing: an error that names it, one request, nothing written', async () => {
  await using dir = await scratch();
  const cluster = upstreamCluster();
  cluster.put(Secret, { namespace: NAMESPACE, name: 'third-006' }, undefined);
  await assert.rejects(install(upstreamSpec(dir.path), installEnvironment(cluster)), {
    code: 'MISSING',
    object: 'Secret some-ns/third-006',
  });
  assert.deepEqual(await treeAt(dir.path), {});
});

test('DU-D53 DU-D54 placeholders are replaced in secrets, configmaps and pods; other bytes pass unchanged', async () => {
  await using dir = await scratch();
  const cluster = smallCluster(7);
  const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const data = {
    'all.bin': every.toString('base64'),
    'env.sh': base64('REVISION NODE_NAME NODE_ENVVAR_NAME $& REVISION'),
  };
  cluster.put(Secret, { namespace: NAMESPACE, name: 'first-7' }, { data });
  putConfigMap(cluster, 'config-7', { x: 'X_NODE_ENVVAR_NAME_REVISION' });
  putConfigMap(cluster, 'kube-apiserver-pod-7', { 'pod.yaml': podYaml('kube-apiserver-NODE_NAME') });
  await install({ ...smallSpec(7, dir.path), nodeName: 'a-b.c' }, installEnvironment(cluster));
  const revision = join(dir.path, 'resources/kube-apiserver-pod-7');
  assert.deepEqual(await readFile(join(revision, 'secrets/first/all.bin')), every);
  assert.equal(await readFile(join(revision, 'secrets/first/env.sh'), 'utf8'), '7 a-b.c a_b_c $& 7');
  assert.equal(await readFile(join(revision, 'configmaps/config/x'), 'utf8'), 'X_a_b_c_7');
  assert.equal((await read(join(revision, 'kube-apiserver-pod.yaml'))).metadata.name, 'kube-apiserver-a-b.c');
});

test('DU-D61 DU-D62 DU-D63 an old kubelet gets a uid, which is the same at each run', async () => {
  for (const [version, wants] of [
    ['v1.20.0+x', true],
    ['1.23.0-rc.1', true],
    ['1.23.1+x', false],
    ['v1.34.1', false],
    ['odd', false],
  ] as const) {
    await using dir = await scratch();
    const cluster = smallCluster(7);
    cluster.put(Node, { name: NODE_NAME }, { status: { nodeInfo: { kubeletVersion: version } } });
    await install(smallSpec(7, dir.path), installEnvironment(cluster));
    const { uid } = (await read(join(dir.path, 'manifests/kube-apiserver-pod.yaml'))).metadata;
    assert.equal(uid !== undefined, wants, version);
    assert.deepEqual((await install(smallSpec(7, dir.path), installEnvironment(cluster))).changed, []);
  }
});

test('DU-W4 DU-W15 a second run of a revision changes nothing; one whose objects changed replaces them and keeps the directory', async () => {
  await using dir = await scratch();
  const cluster = smallCluster(7);
  putSecret(cluster, 'extra-7', { k: 'v' });
  const spec = {
    ...smallSpec(7, dir.path),
    sources: { secrets: ['first'], optionalSecrets: ['extra'], configmaps: ['config'] },
  };
  const revision = join(dir.path, 'resources/kube-apiserver-pod-7');
  const first = await install(spec, installEnvironment(cluster));
  assert.equal(first.changed[0], 'commit-revision');
  const before = await nodeOps.lstat(revision);
  const changes: FsCall[] = [];
  const ops = tapOps(nodeOps, (call, run) => {
    if (['rename', 'exchange', 'unlink', 'write'].includes(call.op)) changes.push(call);
    return run();
  });
  assert.deepEqual((await install(spec, { ...installEnvironment(cluster), ops })).changed, []);
  assert.deepEqual(changes, []);
  cluster.put(Secret, { namespace: NAMESPACE, name: 'extra-7' }, undefined);
  putConfigMap(cluster, 'config-7', { 'config.yaml': 'changed' });
  assert.deepEqual((await install(spec, installEnvironment(cluster))).changed, ['reconcile-revision']);
  assert.equal((await nodeOps.lstat(revision))?.identity, before?.identity, 'pods have it mounted');
  const tree = await treeAt(revision);
  assert.equal(tree['configmaps/config/config.yaml'], '600 changed');
  assert.ok(!('secrets/extra' in tree));
});

test('the time for the work is over: what it waited for is said, and no manifest is touched', async () => {
  await using dir = await scratch();
  const spec = { ...smallSpec(7, dir.path), timeoutMs: 300, lockFile: join(dir.path, 'installer.lock') };
  const held = await lockFile(spec.lockFile);
  const locked = installEnvironment(smallCluster(7));
  await assert.rejects(install(spec, locked), { code: 'TIMED_OUT', message: /not installed within 300 ms/ });
  assert.match(locked.notices[0]?.note ?? '', /not installed within 300 ms/);
  assert.deepEqual(await treeAt(join(dir.path, 'manifests')), {});
  await held[Symbol.asyncDispose]();
  const silent = smallCluster(7);
  silent.onCall = () => {
    throw new ApiError({ code: 'ServerError', status: 500, action: 'get', said: 'broken' });
  };
  await assert.rejects(install(spec, installEnvironment(silent)), { name: 'ApiError', message: /broken/ });
  assert.equal(
    (await install({ ...spec, timeoutMs: 60_000 }, installEnvironment(smallCluster(7)))).changed.at(-1),
    'write-manifest kube-apiserver-pod.yaml',
  );
});

test('mutations see a copy each, in order', async () => {
  await using dir = await scratch();
  const label = (key: string) => (pod: Pod) => ({
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { ...pod.metadata.labels, [key]: Object.keys(pod.metadata.labels ?? {}).join() },
    },
  });
  await install(smallSpec(7, dir.path), {
    ...installEnvironment(smallCluster(7)),
    mutations: [label('a'), label('b')],
  });
  const { labels } = (await read(join(dir.path, 'manifests/kube-apiserver-pod.yaml'))).metadata;
  assert.deepEqual(labels, { revision: '7', a: 'revision', b: 'revision,a' });
});

test('bad input: unusable pods, names and lists are refused before anything is written', async () => {
  await using dir = await scratch();
  const pods = [
    '',
    'kind: Pod',
    '{',
    'kind: Service\nmetadata: {name: x}',
    'a: &a [*a]',
    'metadata: {name: x}\nspec: {}',
  ];
  for (const text of pods) {
    const cluster = smallCluster(7);
    putConfigMap(cluster, 'kube-apiserver-pod-7', { 'pod.yaml': text });
    await assert.rejects(
      install(smallSpec(7, dir.path), installEnvironment(cluster)),
      { code: 'BAD_CONTENT', object: /pod\.yaml/ },
      text,
    );
  }
  const bad = smallCluster(7);
  bad.put(Secret, { namespace: NAMESPACE, name: 'first-7' }, { data: { x: '%%%' } });
  await assert.rejects(install(smallSpec(7, dir.path), installEnvironment(bad)), {
    code: 'BAD_CONTENT',
    object: 'Secret some-ns/first-7',
  });
  for (const key of ['..', 'a/b', '../../etc/passwd', 'a\0b', 'x'.repeat(256), '.x.0123456789abcdef.staging']) {
    const odd = smallCluster(7);
    odd.put(Secret, { namespace: NAMESPACE, name: 'first-7' }, { data: { [key]: base64('x') } });
    await assert.rejects(
      install(smallSpec(7, join(dir.path, 'node')), installEnvironment(odd)),
      key.startsWith('.x')
        ? { code: 'INVALID', stage: 'validate' }
        : { code: 'BAD_CONTENT', message: /first-7: the key/ },
      key,
    );
    const left = Object.keys(await treeAt(join(dir.path, 'node')));
    assert.deepEqual(left, key.startsWith('.x') ? ['manifests', 'resources'] : [], 'nothing of the revision');
    await rm(join(dir.path, 'node'), { recursive: true, force: true });
  }
  for (const change of [
    { pod: '../x' },
    { nodeName: 'a/b' },
    { namespace: '=ns' },
    { revision: '7/../8' },
    { sources: { configmaps: ['..'] } },
    { certs: { secrets: ['a\0'] } },
  ])
    await assert.rejects(install({ ...smallSpec(7, dir.path), ...change }, installEnvironment(smallCluster(7))), {
      code: 'USAGE',
    });
  assert.deepEqual(await treeAt(dir.path), {});
});

test('bad input: disk full and a failing sync leave the old manifest and no half revision', async () => {
  for (const [op, errno] of [
    ['write', 'ENOSPC'],
    ['fsync', 'EIO'],
    ['rename', 'EROFS'],
  ] as const) {
    await using dir = await scratch();
    await install(smallSpec(6, dir.path), installEnvironment(smallCluster(6)));
    const before = await treeAt(dir.path);
    const onDisk = { ...nodeOps, volatile: async () => false };
    const ops = tapOps(onDisk, (call, run) =>
      call.op === op && call.path.includes('.kube-apiserver-pod-7.')
        ? Promise.reject(Object.assign(new Error(`${errno}: ${op}`), { code: errno }))
        : run(),
    );
    const env = installEnvironment(smallCluster(7));
    await assert.rejects(install(smallSpec(7, dir.path), { ...env, ops }), {
      name: 'DurableError',
      errno,
      visible: 'old',
    });
    assert.deepEqual(await treeAt(dir.path), before);
    assert.equal(env.notices[0]?.reason, 'StaticPodInstallerFailed');
  }
});

test('TRUTH-9 certificate lists without a directory for them are ignored, as library-go does', async () => {
  await using dir = await scratch();
  const { certDir: _, ...spec } = smallSpec(7, dir.path);
  const cluster = smallCluster(7);
  cluster.put(Secret, { namespace: NAMESPACE, name: 'tls' }, undefined);
  const { changed } = await install(spec, installEnvironment(cluster));
  assert.deepEqual(changed.slice(0, 1), ['commit-revision']);
  assert.ok(!changed.includes('sync-certs'));
});

test('TRUTH-8 the policy for file systems without exchange reaches the disk, for the installer and its certificates', async () => {
  await using dir = await scratch();
  const exchange = () => Promise.reject(Object.assign(new Error('EINVAL'), { code: 'EINVAL' }));
  const ops = { ...nodeOps, exchange };
  await install(smallSpec(7, dir.path), { ...installEnvironment(smallCluster(7)), ops });
  const cluster = smallCluster(7);
  putSecret(cluster, 'tls', { 'tls.crt': 'new', 'tls.key': 'new' });
  await assert.rejects(install(smallSpec(7, dir.path), { ...installEnvironment(cluster), ops }), {
    code: 'EXCHANGE_UNAVAILABLE',
  });
  const { changed } = await install(smallSpec(7, dir.path), { ...installEnvironment(cluster), ops, exchange: 'auto' });
  assert.deepEqual(changed, ['sync-certs']);
  assert.equal(await readFile(join(dir.path, 'certs/secrets/tls/tls.key'), 'utf8'), 'new');
});
