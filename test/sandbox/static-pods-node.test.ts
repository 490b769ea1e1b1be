import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Namespace } from '@drydock/api';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { Pod } from '@drydock/static-pods';

// What `drydock node` does besides installing, as processes.

const COMMAND = join(import.meta.dirname, '../../apps/node/bin/drydock-node.js');

let sandbox: Sandbox;
let client: KubeClient;

before(async () => {
  sandbox = await startSandbox();
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  await client.create(Namespace, { metadata: { name: 'pods' } });
});

after(async () => {
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

function drydock(...args: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [COMMAND, ...args], {
    env: { ...process.env, NODE_NAME: 'master-0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.on('data', (chunk) => {
      said[name] += String(chunk);
    });
  return { child, said, done: once(child, 'close').then(([code]) => code as number | null) };
}

async function until(what: string, check: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!check()) {
    assert.ok(performance.now() < deadline, `${what} did not happen within 30 s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const pod = (revision: number): string =>
  JSON.stringify({
    kind: 'Pod',
    metadata: { name: 'p', labels: { revision: String(revision) } },
    spec: { containers: [] },
  });

/** A node with revisions 6 to 8, of which 8 was just installed. */
async function node() {
  const root = await mkdtemp(join(tmpdir(), 'drydock-node-'));
  const at = (path: string): string => join(root, path);
  for (const revision of [6, 7, 8]) {
    await mkdir(at(`res/p-pod-${revision}`), { recursive: true });
    await writeFile(at(`res/p-pod-${revision}/p-pod.yaml`), pod(revision));
  }
  await mkdir(at('man'));
  await writeFile(at('man/p-pod.yaml'), pod(8));
  await writeFile(at('man/p-startup-monitor-pod.yaml'), pod(8));
  return { root, at, [Symbol.asyncDispose]: () => rm(root, { recursive: true }) };
}

const monitor = (root: string, kubeconfig: string, ...more: readonly string[]) =>
  drydock(
    'startup-monitor',
    `--kubeconfig=${kubeconfig}`,
    '--revision=8',
    '--target-name=p',
    `--resource-dir=${root}/res`,
    `--manifests-dir=${root}/man`,
    `--installer-lock-file=${root}/installer.lock`,
    '--fallback-timeout-duration=3s',
    ...more,
  );

test('DU-D131 drydock node startup-monitor: a ready server is the last known good one; then it waits, without work, to be ended', async () => {
  await using n = await node();
  const run = monitor(n.root, sandbox.kubeconfig, `--log-file-path=${n.at('monitor.log')}`);
  try {
    await until('the outcome', () => run.said.stdout.includes('"ready"'));
    assert.equal(await readlink(n.at('res/p-last-known-good')), 'p-pod-8/p-pod.yaml');
    assert.deepEqual(await readdir(n.at('man')), ['p-pod.yaml']);
    assert.match(await readFile(n.at('monitor.log'), 'utf8'), /last known good/);
    assert.equal(run.child.exitCode, null);
  } finally {
    run.child.kill('SIGTERM');
  }
  assert.equal(await run.done, 143);
});

test('DU-D127 DU-W7 drydock node: a server that is not ready leads to the fallback, and prune leaves what the fallback needs', async () => {
  await using n = await node();
  await symlink('p-pod-6/p-pod.yaml', n.at('res/p-last-known-good'));
  // The mirror pod never comes.
  const run = monitor(n.root, sandbox.kubeconfig, '--namespace=pods');
  try {
    await until('the outcome', () => run.said.stdout.includes('"fallen-back"'));
  } finally {
    run.child.kill('SIGTERM');
  }
  await run.done;
  const { metadata } = JSON.parse(await readFile(n.at('man/p-pod.yaml'), 'utf8')) as {
    metadata: { labels: object; annotations: object };
  };
  assert.deepEqual(metadata.labels, { revision: '6' });
  assert.match(JSON.stringify(metadata.annotations), /fallback-for-revision":"8".*PodNotFound/);
  const pruned = drydock(
    'prune',
    '--max-eligible-revision=8',
    '--protected-revisions=8',
    '--static-pod-name=p-pod',
    `--resource-dir=${n.root}/res`,
  );
  assert.equal(await pruned.done, 0, pruned.said.stderr);
  assert.deepEqual(JSON.parse(pruned.said.stdout), { removed: ['p-pod-7'], skipped: [] });
});

test('drydock node doctor and recover: 3 with findings, 0 after they were cleaned up; wrong flags are 2', async () => {
  await using n = await node();
  const dirs = [`--resource-dir=${n.root}/res`, `--pod-manifest-dir=${n.root}/man`];
  await writeFile(n.at('man/.p-pod.yaml.0123456789abcdef.staging'), '');
  const sick = drydock('doctor', ...dirs);
  assert.equal(await sick.done, 3);
  assert.equal((JSON.parse(sick.said.stdout) as { kind: string }).kind, 'stale');
  const recovery = drydock('recover', '--static-pod-name=p-pod', ...dirs);
  assert.equal(await recovery.done, 0, recovery.said.stderr);
  assert.equal(await drydock('doctor', ...dirs).done, 0);
  for (const args of [['doctor'], ['recover', ...dirs], ['prune'], ['nothing'], ['prune', '--max-eligible-revision=x']])
    assert.equal(await drydock(...args).done, 2, args.join(' '));
});

test('DU-W16 drydock node install: SIGTERM ends it while it waits for its place', async () => {
  await using n = await node();
  const labels = { app: 'installer' };
  const spec = { nodeName: 'master-0', containers: [{ name: 'i', image: 'registry.example/i:1' }] };
  for (const name of ['installer-8-master-0', 'installer-9-elsewhere'])
    await client.create(Pod, {
      metadata: { name, namespace: 'pods', labels },
      spec: { ...spec, nodeName: name.slice(12) },
    });
  await client.create(Pod, { metadata: { name: 'installer-7-master-0', namespace: 'pods', labels }, spec });
  const dirs = [`--resource-dir=${n.root}/res`, `--pod-manifest-dir=${n.root}/man`];
  const run = drydock(
    'install',
    `--kubeconfig=${sandbox.kubeconfig}`,
    '--revision=8',
    '--namespace=pods',
    '--pod=p-pod',
    '--configmaps=c',
    ...dirs,
  );
  await until('the wait', () => run.said.stderr.includes('waiting for installer-7-master-0'));
  const begun = performance.now();
  run.child.kill('SIGTERM');
  assert.equal(await run.done, 143);
  assert.ok(performance.now() - begun < 8_000, 'it went on waiting');
});
