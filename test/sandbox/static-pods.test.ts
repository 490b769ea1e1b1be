import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstat, mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ConfigMap, Event, Namespace, Secret } from '@drydock/api';
import { inspect } from '@drydock/durable';
import { createClient, type KubeClient, type KubeObject, loadKubeconfig, type Resource } from '@drydock/kube';
import { generator, seeds, withSeed } from '@drydock/model';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { Node, Pod } from '@drydock/static-pods';

// The `drydock node` command as a process, against the real API server.

const NAMESPACE = 'openshift-kube-apiserver';
const NODE = 'master-0.example';
const COMMAND = join(import.meta.dirname, '../../apps/node/bin/drydock-node.js');

let sandbox: Sandbox;
let client: KubeClient;

before(async () => {
  sandbox = await startSandbox();
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  await client.create(Namespace, { metadata: { name: NAMESPACE } });
  await client.create(Node, { metadata: { name: NODE } });
});

after(async () => {
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

interface Run {
  readonly process: ChildProcess;
  readonly done: Promise<{
    readonly code: number | null;
    readonly signal: string | null;
    readonly stdout: string;
    readonly stderr: string;
  }>;
}

function drydock(args: readonly string[], env: Readonly<Record<string, string>> = {}): Run {
  const child = spawn(process.execPath, [COMMAND, ...args, '--kubeconfig', sandbox.kubeconfig], {
    env: { ...process.env, NODE_NAME: NODE, POD_NAMESPACE: NAMESPACE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const done = once(child, 'close').then(
    ([code, signal]) => ({ code, signal, stdout, stderr }) as Awaited<Run['done']>,
  );
  return { process: child, done };
}

async function scratch() {
  const path = await mkdtemp(join(tmpdir(), 'drydock-node-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

async function put<T extends KubeObject>(resource: Resource<T>, object: T): Promise<void> {
  await client.apply(resource, object, { manager: 'test', force: true });
}

const secret = (name: string, data: Readonly<Record<string, string>>): Promise<void> =>
  put(Secret, {
    metadata: { name, namespace: NAMESPACE },
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  });
const configMap = (name: string, data: Readonly<Record<string, string>>): Promise<void> =>
  put(ConfigMap, { metadata: { name, namespace: NAMESPACE }, data });

const podYaml = (name: string): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {revision: "REVISION"}}
spec: {containers: [{name: main, image: "registry.example/main:1", args: ["--node=NODE_NAME"]}]}
`;

/** The objects of one revision: 8 secrets and 4 configmaps of 3 keys each. */
async function makeRevision(revision: number): Promise<void> {
  const data = (name: string): Record<string, string> => ({
    a: `${name} a ${revision}`,
    b: 'REVISION',
    'run.sh': '#!/bin/sh',
  });
  for (let n = 0; n < 8; n += 1) await secret(`secret-${n}-${revision}`, data(`secret-${n}`));
  for (let n = 0; n < 4; n += 1) await configMap(`config-${n}-${revision}`, data(`config-${n}`));
  const pods = {
    'pod.yaml': podYaml('kube-apiserver'),
    'kube-apiserver-startup-monitor-pod.yaml': podYaml('kube-apiserver-startup-monitor'),
  };
  await configMap(`kube-apiserver-pod-${revision}`, pods);
}

function installArgs(root: string, revision: number, more: readonly string[] = ['--alone']): readonly string[] {
  const names = (kind: string, count: number): string => Array.from({ length: count }, (_, n) => `${kind}-${n}`).join();
  return [
    'install',
    `--revision=${revision}`,
    `--namespace=${NAMESPACE}`,
    '--pod=kube-apiserver-pod',
    `--resource-dir=${root}/resources`,
    `--pod-manifest-dir=${root}/manifests`,
    `--cert-dir=${root}/certs`,
    `--pod-manifests-lock-file=${root}/installer.lock`,
    `--secrets=${names('secret', 8)}`,
    `--configmaps=${names('config', 4)}`,
    '--optional-secrets=absent',
    '--cert-secrets=serving',
    '--optional-cert-configmaps=trust',
    '--timeout-duration=60s',
    ...more,
  ];
}

async function files(root: string): Promise<Readonly<Record<string, string>>> {
  const tree: Record<string, string> = {};
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.name.endsWith('.lock')) continue;
    const mode = ((await lstat(path)).mode & 0o7777).toString(8);
    tree[path.slice(root.length + 1)] = entry.isDirectory() ? `${mode} /` : `${mode} ${await readFile(path, 'utf8')}`;
  }
  return Object.fromEntries(Object.entries(tree).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Both files of one directory, whatever takes its place meanwhile; undefined where it was being removed. */
async function pairAt(dir: string): Promise<readonly [string, string] | undefined> {
  const handle = await open(dir, 'r').catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const at = `/proc/self/fd/${handle.fd}`;
    return [await readFile(`${at}/tls.crt`, 'utf8'), await readFile(`${at}/tls.key`, 'utf8')];
  } catch {
    return undefined;
  } finally {
    await handle.close();
  }
}

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await check())) {
    assert.ok(performance.now() < deadline, `${what} did not happen within 60 s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('DU-D46 DU-D47 DU-D48 DU-D49 drydock node install as an installer pod: tree, modes, manifests, events', async () => {
  await using dir = await scratch();
  await makeRevision(7);
  await secret('serving', { 'tls.crt': 'crt', 'tls.key': 'key' });
  const labels = { app: 'installer' };
  const spec = { nodeName: NODE, containers: [{ name: 'installer', image: 'registry.example/installer:1' }] };
  // As the operator makes it: events are about what controls the pod.
  const name = 'revision-status-7';
  await configMap(name, {});
  const { uid = '' } = (await client.get(ConfigMap, { namespace: NAMESPACE, name })).metadata;
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, controller: true }];
  const metadata = { name: 'installer-7-master-0', namespace: NAMESPACE, labels, ownerReferences };
  await client.create(Pod, { metadata, spec });
  const { code, stdout, stderr } = await drydock(installArgs(dir.path, 7, ['--settle-duration=0']), {
    POD_NAME: 'installer-7-master-0',
  }).done;
  assert.equal(code, 0, stderr);
  const changed = [
    'commit-revision',
    'sync-certs',
    'write-manifest kube-apiserver-startup-monitor-pod.yaml',
    'write-manifest kube-apiserver-pod.yaml',
  ];
  assert.deepEqual((JSON.parse(stdout) as { changed: unknown }).changed, changed);
  const tree = await files(dir.path);
  const at = (path: string): string | undefined => tree[`resources/kube-apiserver-pod-7/${path}`];
  assert.equal(at('secrets/secret-3/a'), '600 secret-3 a 7');
  assert.equal(at('secrets/secret-3/b'), '600 7');
  assert.equal(at('secrets/secret-3/run.sh'), '700 #!/bin/sh');
  assert.equal(at('configmaps/config-1/run.sh'), '755 #!/bin/sh');
  assert.equal(at('secrets/absent'), undefined);
  assert.equal(tree['certs/secrets/serving/tls.key'], '600 key');
  for (const name of ['kube-apiserver-pod.yaml', 'kube-apiserver-startup-monitor-pod.yaml']) {
    assert.equal(at(name), tree[`manifests/${name}`]);
    assert.match(tree[`manifests/${name}`] ?? '', /^600 \{/);
  }
  const events = await Array.fromAsync(client.list(Event, { namespace: NAMESPACE }));
  assert.deepEqual(
    events.map(({ type, reason, regarding }) => [type, reason, regarding?.kind, regarding?.name, regarding?.uid]),
    [['Normal', 'StaticPodInstallerCompleted', 'ConfigMap', name, uid]],
  );
  const again = await drydock(installArgs(dir.path, 7)).done;
  assert.deepEqual((JSON.parse(again.stdout) as { changed: unknown }).changed, [], again.stderr);
});

test('DU-D52 drydock node install: a missing object and wrong flags are exit codes 1 and 2, with nothing on the disk', async () => {
  await using dir = await scratch();
  const missing = await drydock(installArgs(dir.path, 99)).done;
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /Secret openshift-kube-apiserver\/secret-0-99: it does not exist and is required/);
  const events = await Array.fromAsync(client.list(Event, { namespace: NAMESPACE }));
  const failed = events.find(({ type }) => type === 'Warning');
  assert.deepEqual(
    [failed?.reason, failed?.regarding?.kind, failed?.regarding?.name],
    ['StaticPodInstallerFailed', 'Namespace', NAMESPACE],
  );
  assert.match(failed?.note ?? '', /Installing revision 99: Secret .*secret-0-99/);
  const wrong = await drydock(['install', '--revision=7']).done;
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--namespace is required/);
  assert.deepEqual(await files(dir.path), {});
});

test('DU-W14 installers and a cert syncer on one directory while secrets change: never a mixed pair, the newest in the end', async () => {
  await using dir = await scratch();
  await makeRevision(8);
  await secret('serving', { 'tls.crt': '0', 'tls.key': '0' });
  const args = [
    'cert-sync',
    `--destination-dir=${dir.path}/certs`,
    `--namespace=${NAMESPACE}`,
    '--secrets=serving',
    '--optional-configmaps=trust',
  ];
  const syncer = drydock(args);
  try {
    const pair = join(dir.path, 'certs/secrets/serving');
    const read = async (): Promise<readonly string[]> =>
      Promise.all(['tls.crt', 'tls.key'].map((name) => readFile(join(pair, name), 'utf8').catch(() => '')));
    await until('the first certificate', async () => (await read()).join() === '0,0');
    let writing = true;
    const mixed: string[] = [];
    let looks = 0;
    const reader = (async () => {
      while (writing) {
        const seen = await pairAt(pair);
        if (seen !== undefined && seen[0] !== seen[1]) mixed.push(seen.join());
        looks += 1;
      }
    })();
    const changes = (async () => {
      for (let n = 1; n <= 100; n += 1) {
        await secret('serving', { 'tls.crt': String(n), 'tls.key': String(n) });
        if (n % 8 === 0)
          await (n % 16 === 0
            ? client.delete(ConfigMap, { namespace: NAMESPACE, name: 'trust' })
            : configMap('trust', { ca: String(n) }));
      }
      writing = false;
    })();
    let installed = 0;
    while (writing) {
      const { code, stderr } = await drydock(installArgs(dir.path, 8)).done;
      assert.equal(code, 0, stderr);
      installed += 1;
    }
    await Promise.all([changes, reader]);
    assert.deepEqual(mixed, []);
    assert.ok(looks > 0 && installed > 0, `${looks} looks, ${installed} installed`);
    await until('the newest certificate', async () => (await read()).join() === '100,100');
    await configMap('trust', { ca: 'last' });
    await until(
      'the new trust',
      async () => (await readFile(join(dir.path, 'certs/configmaps/trust/ca'), 'utf8').catch(() => '')) === 'last',
    );
    await client.delete(ConfigMap, { namespace: NAMESPACE, name: 'trust' });
    await until('the removal', async () => !(await readdir(join(dir.path, 'certs/configmaps'))).includes('trust'));
    assert.deepEqual(await read(), ['100', '100']);
  } finally {
    syncer.process.kill('SIGTERM');
  }
  const ended = await syncer.done;
  assert.equal(ended.code, 143, ended.stderr);
  assert.deepEqual((await inspect(join(dir.path, 'certs'))).leftovers, []);
});

test('drydock node install: SIGKILL at seeded instants, then one clean run, which completes it and leaves nothing over', {
  timeout: 3_600_000,
}, async (t) => {
  await using dir = await scratch();
  await makeRevision(8);
  await makeRevision(9);
  await secret('serving', { 'tls.crt': 'x', 'tls.key': 'x' });
  const first = await drydock(installArgs(dir.path, 8)).done;
  assert.equal(first.code, 0, first.stderr);
  const before = await files(dir.path);
  await using undisturbed = await scratch();
  await drydock(installArgs(undisturbed.path, 8)).done;
  await drydock(installArgs(undisturbed.path, 9)).done;
  const wanted = await files(undisturbed.path);
  // The steps are announced on stderr; a kill comes so many milliseconds after one of them.
  const steps = ['commit-revision', 'sync-certs', 'write-manifest'];
  const kills = { before: 0, within: 0, after: 0 };
  let played = 0;
  const play = async (seed: number): Promise<void> => {
    const random = generator(seed);
    await rm(join(dir.path, 'resources/kube-apiserver-pod-9'), { recursive: true, force: true });
    const run = drydock(installArgs(dir.path, 9));
    const step = steps[Math.floor(random() * steps.length)] ?? '';
    const late = Math.floor(random() * 13);
    let heard = '';
    run.process.stderr?.on('data', (chunk) => {
      heard += String(chunk);
      if (heard.includes(step)) setTimeout(() => run.process.kill('SIGKILL'), late);
    });
    const { signal } = await run.done;
    const cut = await files(dir.path);
    const manifest = cut['manifests/kube-apiserver-pod.yaml'];
    const known = [before['manifests/kube-apiserver-pod.yaml'], wanted['manifests/kube-apiserver-pod.yaml']];
    assert.ok(known.includes(manifest), 'the manifest is torn');
    const revision = Object.keys(cut).filter((path) => path.startsWith('resources/kube-apiserver-pod-9'));
    const whole = Object.keys(wanted).filter((path) => path.startsWith('resources/kube-apiserver-pod-9'));
    assert.ok(revision.length === 0 || revision.length === whole.length, 'half a revision');
    kills[signal === null ? 'after' : revision.length === 0 ? 'before' : 'within'] += 1;
    const clean = await drydock(installArgs(dir.path, 9)).done;
    assert.equal(clean.code, 0, clean.stderr);
    assert.deepEqual(await files(dir.path), wanted);
    for (const name of ['resources', 'manifests', 'certs'])
      assert.deepEqual((await inspect(join(dir.path, name))).leftovers, []);
    played += 1;
  };
  for (const seed of seeds(12, 300, 'kills'))
    await withSeed(seed, 'test/sandbox/static-pods.test.ts', () => play(seed));
  t.diagnostic(JSON.stringify(kills));
  assert.ok(kills.within + kills.before >= played / 2, 'too few processes were killed at work');
});
