import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { type ConfigMap, Lease } from '@drydock/api';
import { isForbidden } from '@drydock/kube';
import { scratchFolder, withoutRealServers } from '@drydock/sandbox';
import { type ImageConfig, layImage } from './support/image.ts';
import { noPods, type PodSpec, type RunningPod, startPod } from './support/pod.ts';
import { accountNamespace, apply, type Manifest, manifestsOf } from './support/rbac-manifests.ts';
import { eventually, startVoyage, type Voyage } from './support/voyage.ts';
import { oldRelease, serverName } from './support/voyage-cluster.ts';

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

const drydock = resolve(import.meta.dirname, '../../apps/drydock/bin/drydock.js');
const manifests = manifestsOf('../operator');
const found = (kind: string): Manifest => manifests.find((one) => one.kind === kind) ?? assert.fail(`no ${kind}`);
const { spec } = found('Deployment') as unknown as { readonly spec: { readonly template: { readonly spec: PodSpec } } };
const pod = spec.template.spec as PodSpec & { readonly serviceAccountName: string };
const container = (pod.containers[0] ?? assert.fail('no container')) as PodSpec['containers'][0] &
  Readonly<Record<'startupProbe' | 'livenessProbe' | 'readinessProbe', Probe>>;
const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];

let voyage: Voyage;
before(async () => {
  voyage = await startVoyage({ operator: false });
  await voyage.sandbox.installCrds([resolve(import.meta.dirname, '../../api/optional')]);
});
after(() => voyage?.[Symbol.asyncDispose]());

/** Runs the command with an API server that nobody can reach: it gets there if it takes the arguments. */
function run(args: readonly string[]): { readonly status: number | null; readonly stderr: string } {
  const command = [drydock, ...args, '--kubeconfig', '/nonexistent'];
  return spawnSync(process.execPath, command, { encoding: 'utf8', timeout: 60_000 });
}

test('the arguments are those that the command takes, and the ports of the probes are those that it serves', () => {
  const taken = run(container.args);
  assert.deepEqual([taken.status, /read kubeconfig/.test(taken.stderr)], [1, true], taken.stderr);
  const release = manifestsOf('../release').find(({ kind }) => kind === 'Deployment') as unknown as {
    readonly spec: { readonly template: { readonly spec: PodSpec } };
  };
  const alone = run(release.spec.template.spec.containers[0]?.args ?? []);
  assert.deepEqual([alone.status, /read kubeconfig/.test(alone.stderr)], [1, true], alone.stderr);
  for (const wrong of ['--no-such-flag', '--roles=nothing', '--cache-size=much'])
    assert.equal(run([...container.args, wrong]).status, 2, wrong);
  const value = (flag: string): string | undefined =>
    container.args.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);
  for (const { httpGet } of probes) {
    assert.equal(String(container.ports.find(({ name }) => name === httpGet.port)?.containerPort), value('--port'));
  }
  assert.ok(container.volumeMounts.some(({ mountPath }) => mountPath === value('--cache-dir')));
  const accounts = manifests.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata.name);
  assert.ok(accounts.includes(pod.serviceAccountName));
});

/** Asks the API server to create a pod, strictly, and to forget it. */
function createPod(podSpec: object, namespace: string = accountNamespace): Promise<unknown> {
  return voyage.client.raw({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/pods?dryRun=All&fieldValidation=Strict`,
    body: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: podSpec },
  });
}

test('the API server takes everything, with no field that it does not know', async () => {
  await apply(voyage.client, manifests);
  // Where no level of Pod Security is asked for, which the embedded server does not know.
  const spec = { ...pod, serviceAccountName: 'default' };
  await createPod(spec, 'default');
  await assert.rejects(createPod({ ...spec, nonsense: 1 }, 'default'), /unknown field "spec.nonsense"/);
});

test('its pods are as restricted as a namespace can ask for', {
  skip: withoutRealServers('the embedded API server lacks the Pod Security levels baseline and restricted'),
}, async () => {
  await createPod(pod);
  await assert.rejects(
    createPod({ ...pod, securityContext: {} }),
    (error) => isForbidden(error) && /violates PodSecurity "restricted/.test((error as Error).message),
  );
});

/** What a kubelet mounts: the token of the ServiceAccount, and the ConfigMap once somebody filled it. */
async function givenBy(
  files: string,
): Promise<{ readonly serviceAccount: string; readonly volumes: Record<string, string> }> {
  const { client, sandbox } = voyage;
  const write = (folder: string, content: Readonly<Record<string, string>>): string => {
    const path = join(files, folder);
    mkdirSync(path);
    for (const [name, text] of Object.entries(content)) writeFileSync(join(path, name), text);
    chmodSync(path, 0o755);
    return path;
  };
  const { status } = (await client.raw({
    method: 'POST',
    path: `/api/v1/namespaces/${accountNamespace}/serviceaccounts/${pod.serviceAccountName}/token`,
    body: { spec: { expirationSeconds: 3600 } },
  })) as { readonly status: { readonly token: string } };
  const authorities = found('ConfigMap') as ConfigMap & Manifest;
  assert.equal(authorities.metadata.labels?.['config.openshift.io/inject-trusted-cabundle'], 'true');
  const account = {
    token: status.token,
    namespace: accountNamespace,
    'ca.crt': readFileSync(sandbox.ca, 'utf8'),
  };
  return {
    serviceAccount: write('account', account),
    volumes: { 'trusted-ca': write('trusted-ca', { 'ca-bundle.crt': readFileSync(sandbox.vcenter.ca, 'utf8') }) },
  };
}

const skip = noPods();
test('SAFE-7 its container, with nobody as user and nothing to write to but its cache, answers its probes, makes a whole update, and then takes 120 MiB at the most', {
  skip: skip ?? false,
}, async (t) => {
  const { sandbox, client } = voyage;
  await voyage.createSet({ name: 'wk-a', folder: await voyage.folder('harbour') });
  using scratch = scratchFolder();
  const files = scratch.path;
  const tree = join(files, 'image');
  mkdirSync(tree);
  const image: ImageConfig = await layImage(tree);
  assert.match(image.user, /^[1-9]\d*:0$/, 'runAsNonRoot needs a number, and OpenShift gives the group root');
  const { hostname, port } = new URL(sandbox.server);
  const [outside, inside] = ['https://rhcos.example/', voyage.mirror.url('')];
  // All as it stands, but for the port, which is free here, the address of a simulator, and a mirror: no cluster reaches the internet.
  const args = container.args.map((arg) => (arg.startsWith('--port=') ? '--port=0' : arg));
  const here = {
    ...container,
    args: [...args, `--vcenter-url=${serverName}=${sandbox.vcenter.url}`, `--image-mirror=${outside}=${inside}`],
  };
  const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  const given = await givenBy(files);
  await using running = startPod({ ...pod, containers: [here] }, { image, tree, files, env, ...given });
  const served = await eventually(
    'a port',
    async () => /"port":(\d+)/.exec(running.log())?.[1],
    () => running.log(),
  );
  for (const { httpGet } of probes) {
    const answer = () => fetch(`http://127.0.0.1:${served}${httpGet.path}`);
    await eventually(
      httpGet.path,
      async () => ((await answer()).status === 200 ? true : undefined),
      () => running.log(),
    );
  }
  await voyage.current('wk-a', oldRelease);
  const release = await voyage.image('9.8.20260802-0');
  await voyage.release({ ...release, location: release.location.replace(inside, outside) });
  await voyage.current('wk-a', release.release);
  for (const name of ['drydock-boot-images', 'drydock-watch']) {
    const { spec: lease } = await client.get(Lease, { namespace: 'openshift-machine-config-operator', name });
    assert.notEqual(lease?.holderIdentity ?? '', '', name);
  }
  const most = kilobytes(running, 'VmHWM');
  t.diagnostic(`${most} kB at the most`);
  const limit = Number.parseInt(container.resources.limits.memory, 10) * 1024;
  assert.match(container.resources.limits.memory, /^\d+Mi$/);
  assert.ok(most * 2 < limit, `${most} kB at the most, where the limit is ${limit} kB`);
  const steady = await eventually('120 MiB', async () => {
    const now = kilobytes(running, 'VmRSS');
    return now <= 120 * 1024 ? now : undefined;
  });
  t.diagnostic(`${steady} kB when it rests`);
  assert.doesNotMatch(running.log(), /"level":(50|60)|EROFS|EACCES/);
});

function kilobytes({ pid }: RunningPod, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  assert.match(status, /^Uid:\s+1000650000\s/m);
  assert.match(status, /^CapEff:\s+0{16}$/m);
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? Number.NaN);
}
