import assert from 'node:assert/strict';
import { cp, mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { nodeOps } from '@drydock/durable';
import { install } from '../install/install.ts';
import { scratch, treeAt } from '../testing/scratch.ts';
import { smallCluster, smallSpec } from '../testing/static-pod-world.ts';
import { doctor } from './doctor.ts';
import { recoverNode } from './recover-node.ts';
import { waysBack } from './ways-back.ts';

async function node() {
  const dir = await scratch();
  const { resourceDir, manifestDir, certDir = '' } = smallSpec(7, dir.path);
  await install(smallSpec(7, dir.path), { client: smallCluster(7).client(), installers: false });
  const spec = { resourceDir, manifestDir, certDir };
  return {
    spec,
    root: dir.path,
    at: (path: string) => join(dir.path, path),
    [Symbol.asyncDispose]: dir[Symbol.asyncDispose],
  };
}

test('doctor: nothing to say of a node that is well; of one that is not, each finding with what to do', async () => {
  await using n = await node();
  assert.deepEqual(await doctor(n.spec), []);
  await rename(n.at('resources/kube-apiserver-pod-7/kube-apiserver-pod.yaml'), n.at('elsewhere'));
  await writeFile(n.at('manifests/kube-apiserver-pod.yaml'), '');
  await writeFile(n.at('manifests/.hidden.yaml'), '');
  await mkdir(n.at('certs/staging/cert-sync'), { recursive: true });
  await mkdir(n.at('resources/.kube-apiserver-pod-8.0123456789abcdef.staging'));
  await symlink('kube-apiserver-pod-3/kube-apiserver-pod.yaml', n.at('resources/kube-apiserver-last-known-good'));
  const findings = await doctor(n.spec);
  assert.deepEqual(
    findings.map(({ kind, path }) => `${kind} ${path.slice(n.root.length + 1)}`).sort((a, b) => (a < b ? -1 : 1)),
    [
      'dangling resources/kube-apiserver-last-known-good',
      'foreign certs/staging',
      'stale resources/.kube-apiserver-pod-8.0123456789abcdef.staging',
      'torn manifests/kube-apiserver-pod.yaml',
      'torn resources/kube-apiserver-pod-7',
    ],
  );
  assert.ok(findings.every(({ next }) => next !== ''));
});

test('doctor: a file system that cannot exchange directories is named', async () => {
  await using n = await node();
  const ops = { ...nodeOps, exchange: () => Promise.reject(Object.assign(new Error('EINVAL'), { code: 'EINVAL' })) };
  assert.deepEqual(
    (await doctor(n.spec, { ops })).map(({ kind, path }) => `${kind} ${path}`),
    [`fallback ${n.spec.resourceDir}`, `fallback ${n.spec.certDir}`],
  );
  // Read-only: the rest is said all the same.
  const readOnly = { ...nodeOps, mkdir: () => Promise.reject(Object.assign(new Error('EROFS'), { code: 'EROFS' })) };
  await writeFile(n.at('manifests/kube-apiserver-pod.yaml'), '');
  assert.deepEqual(
    (await doctor(n.spec, { ops: readOnly })).map(({ kind, said }) => [kind, /could not be tried.*EROFS/.test(said)]),
    [
      ['fallback', true],
      ['fallback', true],
      ['torn', false],
    ],
  );
});

test('ways back: the last known good revision, or the newest usable one before the one that kubelet reads', async () => {
  await using n = await node();
  const { resourceDir, manifestDir } = n.spec;
  const way = async () => (await waysBack({ resourceDir, manifestDir }))[0];
  assert.deepEqual(await way(), { target: 'kube-apiserver', revision: 7, to: undefined, good: false });
  for (const revision of [5, 6])
    await cp(n.at('resources/kube-apiserver-pod-7'), n.at(`resources/kube-apiserver-pod-${revision}`), {
      recursive: true,
    });
  assert.deepEqual(await way(), { target: 'kube-apiserver', revision: 7, to: 6, good: false });
  await symlink('kube-apiserver-pod-5/kube-apiserver-pod.yaml', n.at('resources/kube-apiserver-last-known-good'));
  assert.deepEqual(await way(), { target: 'kube-apiserver', revision: 7, to: 5, good: true });
  assert.deepEqual(await waysBack({ resourceDir: n.at('elsewhere') }), []);
});

test('doctor: a directory that is not there is named, or a wrong flag would look like a node that is well', async () => {
  await using n = await node();
  const findings = await doctor({ resourceDir: n.at('elsewhere'), manifestDir: n.spec.manifestDir });
  assert.deepEqual(
    findings.map(({ kind, path }) => [kind, path]),
    [['missing', n.at('elsewhere')]],
  );
});

test('recover: removes what crashes left of one static pod, and nothing of another', async () => {
  await using n = await node();
  const before = await treeAt(n.root);
  const stale = [
    'resources/.kube-apiserver-pod-8.0123456789abcdef.staging',
    'resources/.kube-apiserver-last-known-good.0123456789abcdef.staging',
    'manifests/.kube-apiserver-pod.yaml.0123456789abcdef.staging',
    'certs/secrets/.tls.0123456789abcdef.staging',
  ];
  const other = 'resources/.etcd-pod-8.0123456789abcdef.staging';
  for (const path of [...stale, other]) await writeFile(n.at(path), 'x');
  const removed = await recoverNode({ ...n.spec, staticPod: 'kube-apiserver-pod', lockFile: n.at('installer.lock') });
  assert.deepEqual(new Set(removed), new Set(stale.map(n.at)));
  assert.deepEqual(await treeAt(n.root), { ...before, [other]: '644 x' });
});
