import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Namespace, Secret } from '@drydock/api';
import { createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { Pod } from '@drydock/static-pods';
import { parse } from 'yaml';
import {
  installStaticPodOperator,
  StaticPodOperator as Operator,
  type StaticPodOperator as OperatorObject,
} from './support/static-pod-operator.ts';
import { type NodeProcess, layOutNode as node, startNode, until } from './support/static-pods-node.ts';

// What `drydock node` does besides installing, as processes.

let sandbox: Sandbox;
let client: KubeClient;
let compiled: string;

before(async () => {
  compiled = await mkdtemp(join(tmpdir(), 'drydock-compiled-'));
  sandbox = await startSandbox();
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  await client.create(Namespace, { metadata: { name: 'pods' } });
});

after(async () => {
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
  await rm(compiled, { recursive: true });
});

const drydock = (...args: readonly string[]): NodeProcess => startNode(compiled, args);

/** What kubelet shows of the static pod: of this revision and ready, or nothing. */
async function mirror(revision: number | undefined): Promise<void> {
  const name = 'p-master-0';
  const now = { gracePeriodSeconds: 0 };
  await client
    .raw({ method: 'DELETE', path: `/api/v1/namespaces/pods/pods/${name}`, body: now })
    .catch(() => undefined);
  if (revision === undefined) return;
  const made = await client.create(Pod, {
    metadata: { name, namespace: 'pods', labels: { revision: String(revision) } },
    spec: { nodeName: 'master-0', containers: [{ name: 'p', image: 'registry.example/p:1' }] },
  });
  await client.replaceStatus(Pod, { ...made, status: { conditions: [{ type: 'Ready', status: 'True' }] } });
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
    '--readyz-interval=50ms',
    ...more,
  );

test("SAFE-16 drydock node startup-monitor with library-go's own arguments: an answer of the old revision's server is none", async () => {
  await using n = await node();
  await symlink('p-pod-6/p-pod.yaml', n.at('res/p-last-known-good'));
  await mirror(7);
  const run = monitor(n.root, sandbox.kubeconfig, '--fallback-timeout-duration=30s');
  try {
    await until('a look', () => run.said.stderr.includes('UnexpectedRevision'));
    assert.equal(await readlink(n.at('res/p-last-known-good')), 'p-pod-6/p-pod.yaml');
    await mirror(8);
    await until('the outcome', () => run.said.stdout.includes('"ready"'));
    assert.equal(await readlink(n.at('res/p-last-known-good')), 'p-pod-8/p-pod.yaml');
  } finally {
    run.child.kill('SIGTERM');
  }
  await run.done;
});

test('SAFE-16 drydock node startup-monitor: a status that may not be written is exit code 1, and its manifest stays for kubelet', async () => {
  await installStaticPodOperator(sandbox);
  await operatorWith([{ nodeName: 'master-0', currentRevision: 7, targetRevision: 8 }]);
  await mirror(8);
  await using n = await node();
  const user = { metadata: { name: 'reader', namespace: 'pods' } };
  await client.raw({ method: 'POST', path: '/api/v1/namespaces/pods/serviceaccounts', body: user });
  const rules = [
    { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] },
    { nonResourceURLs: ['*'], verbs: ['get'] },
  ];
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  await client.raw({ method: 'POST', path: `${rbac}/clusterroles`, body: { metadata: { name: 'reader' }, rules } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' };
  const subjects = [{ kind: 'ServiceAccount', name: 'reader', namespace: 'pods' }];
  const binding = { metadata: { name: 'reader' }, roleRef, subjects };
  await client.raw({ method: 'POST', path: `${rbac}/clusterrolebindings`, body: binding });
  const token = (await client.raw({
    method: 'POST',
    path: '/api/v1/namespaces/pods/serviceaccounts/reader/token',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  })) as { readonly status: { readonly token: string } };
  const config = parse(await readFile(sandbox.kubeconfig, 'utf8')) as { users: { user: unknown }[] };
  for (const one of config.users) one.user = { token: token.status.token };
  await writeFile(n.at('kubeconfig'), JSON.stringify(config));
  const run = monitor(n.root, n.at('kubeconfig'), '--operator=kubeapiservers.v1.operator.openshift.io/cluster');
  assert.equal(await run.done, 1, run.said.stderr);
  assert.match(run.said.stderr, /status could not be written: .*forbidden.*kubelet starts the monitor again/i);
  assert.deepEqual(await readdir(n.at('man')), ['p-pod.yaml', 'p-startup-monitor-pod.yaml']);
  assert.equal(await readlink(n.at('res/p-last-known-good')), 'p-pod-8/p-pod.yaml');
});

test('DU-D131 drydock node startup-monitor: a ready server is the last known good one; then it waits, without work, to be ended', async () => {
  await using n = await node();
  await mirror(8);
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

/** User and system time (ms) that a process has used so far (proc(5), fields 14 and 15 in ticks of 10 ms). */
async function cpuMs(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

test('DU-W22 drydock node startup-monitor: what waits for its end uses no processor', async () => {
  await using n = await node();
  await mirror(8);
  const run = monitor(n.root, sandbox.kubeconfig);
  try {
    await until('the outcome', () => run.said.stdout.includes('"ready"'));
    const pid = run.child.pid ?? 0;
    // What the work left behind, such as a collection, may still run; what spins is never idle for a second.
    let idleMs = 0;
    let [used, since] = [await cpuMs(pid), performance.now()];
    await until(
      'an idle second',
      () => idleMs >= 1_000,
      async () => {
        const now = await cpuMs(pid);
        if (now > used) [used, since] = [now, performance.now()];
        idleMs = performance.now() - since;
      },
    );
  } finally {
    run.child.kill('SIGTERM');
  }
  assert.equal(await run.done, 143);
});

/** The operator's object with these nodes, fresh. */
async function operatorWith(nodeStatuses: NonNullable<OperatorObject['status']>['nodeStatuses']): Promise<void> {
  await client.delete(Operator, { name: 'cluster' }).catch(() => undefined);
  const made = await client.create(Operator, { metadata: { name: 'cluster' } });
  await client.replaceStatus(Operator, { ...made, status: { nodeStatuses: nodeStatuses ?? [], readyReplicas: 0 } });
}

test('drydock node startup-monitor: the operator reads that the target is current, whoever else writes its status meanwhile', async () => {
  await mirror(8);
  await installStaticPodOperator(sandbox);
  const others = [
    { nodeName: 'master-1', currentRevision: 7, targetRevision: 8, lastFailedReason: 'InstallerFailed' },
    { nodeName: 'master-2', currentRevision: 8, targetRevision: 0 },
  ];
  await operatorWith([{ nodeName: 'master-0', currentRevision: 7, targetRevision: 8 }, ...others]);
  let writing = true;
  const counting = (async () => {
    let count = 0;
    while (writing) {
      const now = await client.get(Operator, { name: 'cluster' });
      const written = client.replaceStatus(Operator, { ...now, status: { ...now.status, readyReplicas: count + 1 } });
      // A conflict is the monitor's write between the two.
      if (await written.then(Boolean, () => false)) count += 1;
    }
    return count;
  })();
  await using n = await node();
  const kind = '--operator=kubeapiservers.v1.operator.openshift.io/cluster';
  const run = monitor(n.root, sandbox.kubeconfig, kind);
  try {
    await until('the outcome', () => run.said.stdout.includes('"ready"'));
  } finally {
    run.child.kill('SIGTERM');
    writing = false;
  }
  const count = await counting;
  const { status } = await client.get(Operator, { name: 'cluster' });
  assert.deepEqual(status?.nodeStatuses, [{ nodeName: 'master-0', currentRevision: 8, targetRevision: 0 }, ...others]);
  assert.ok(count > 0);
  assert.equal(status?.readyReplicas, count, 'what another one wrote was lost');
  await run.done;
});

test('drydock node startup-monitor: another target, or no operator, is left alone, and does not hold the monitor up', async () => {
  await mirror(8);
  await installStaticPodOperator(sandbox);
  const nodes = [{ nodeName: 'master-0', currentRevision: 7, targetRevision: 9 }];
  await operatorWith(nodes);
  const before = await client.get(Operator, { name: 'cluster' });
  for (const [name, attempts] of [
    ['cluster', 0],
    ['nobody', 5],
  ] as const) {
    await using n = await node();
    const run = monitor(n.root, sandbox.kubeconfig, `--operator=kubeapiservers.v1.operator.openshift.io/${name}`);
    try {
      await until('the outcome', () => run.said.stdout.includes('"ready"'));
      assert.deepEqual(await readdir(n.at('man')), ['p-pod.yaml']);
    } finally {
      run.child.kill('SIGTERM');
    }
    await run.done;
    assert.equal(run.said.stderr.split('the operator could not be told').length - 1, attempts, run.said.stderr);
  }
  assert.deepEqual(await client.get(Operator, { name: 'cluster' }), before);
});

test('DU-D127 DU-W7 drydock node: a server that is not ready leads to the fallback, and prune leaves what the fallback needs', async () => {
  await using n = await node();
  await symlink('p-pod-6/p-pod.yaml', n.at('res/p-last-known-good'));
  // The mirror pod never comes.
  await mirror(undefined);
  const run = monitor(n.root, sandbox.kubeconfig);
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
  assert.equal(sick.said.stderr.trim(), 'p: from revision 8 the way back is 7, the newest one before it');
  const recovery = drydock('recover', '--static-pod-name=p-pod', ...dirs);
  assert.equal(await recovery.done, 0, recovery.said.stderr);
  assert.equal(await drydock('doctor', ...dirs).done, 0);
  for (const args of [['doctor'], ['recover', ...dirs], ['prune'], ['nothing'], ['prune', '--max-eligible-revision=x']])
    assert.equal(await drydock(...args).done, 2, args.join(' '));
});

test('drydock node cert-sync: keeps the directory, and ends when its kubeconfig changes, for the next one to read it', async () => {
  const root = await mkdtemp(join(tmpdir(), 'drydock-certs-'));
  const config = join(root, 'kubeconfig');
  await writeFile(config, await readFile(sandbox.kubeconfig));
  await client.create(Secret, {
    metadata: { name: 'serving', namespace: 'pods' },
    data: { 'tls.key': Buffer.from('key').toString('base64') },
  });
  const run = drydock(
    'cert-sync',
    `--kubeconfig=${config}`,
    '--namespace=pods',
    `--destination-dir=${root}/certs`,
    '--secrets=serving',
  );
  try {
    await until('the first pass', () => run.said.stdout.includes('"updated":["secrets/serving"]'));
    assert.equal(await readFile(join(root, 'certs/secrets/serving/tls.key'), 'utf8'), 'key');
    await writeFile(config, `${await readFile(config, 'utf8')}\n`);
    assert.equal(await run.done, 0);
    assert.match(run.said.stderr, /kubeconfig has changed: ending/);
  } finally {
    run.child.kill('SIGKILL');
    await rm(root, { recursive: true });
  }
});

/** What a process holds of its own (MiB): not the pages of Node's executable, which all its processes share. */
async function ownMiB(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

test("TRUTH-8 drydock node: what stays on a node, cert syncer and monitor, holds no more than upstream's 50 Mi of its own", {
  skip: process.platform === 'linux' ? false : 'it is read from /proc',
}, async (t) => {
  await using n = await node();
  await mirror(8);
  const names = Array.from({ length: 15 }, (_, index) => `cert-${index}`);
  const data = { 'tls.crt': Buffer.alloc(2_000, 1).toString('base64') };
  for (const name of names) await client.create(Secret, { metadata: { name, namespace: 'pods' }, data });
  await drydock('doctor', `--resource-dir=${n.root}`).done;
  const dirs = [`--destination-dir=${n.root}/certs`, '--namespace=pods'];
  const syncer = drydock('cert-syncer', `--kubeconfig=${sandbox.kubeconfig}`, ...dirs, `--secrets=${names.join()}`);
  const watch = monitor(n.root, sandbox.kubeconfig);
  try {
    await until('a pass', () => syncer.said.stdout.includes('secrets/cert-14'));
    await until('the outcome', () => watch.said.stdout.includes('"ready"'));
    for (const [name, { child }] of Object.entries({ syncer, monitor: watch })) {
      let own = Infinity;
      await until(
        `a ${name} of 50 MiB`,
        () => own <= 50,
        async () => {
          own = await ownMiB(child.pid);
        },
      );
      t.diagnostic(`${name}: ${own.toFixed(1)} MiB`);
    }
  } finally {
    syncer.child.kill('SIGTERM');
    watch.child.kill('SIGTERM');
  }
  await Promise.all([syncer.done, watch.done]);
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
  const looks = (): number => run.said.stderr.split('waiting for installer-7-master-0').length - 1;
  await until('the wait', () => looks() > 0);
  const before = looks();
  run.child.kill('SIGTERM');
  assert.equal(await run.done, 143);
  assert.equal(looks(), before, 'it went on waiting');
});
