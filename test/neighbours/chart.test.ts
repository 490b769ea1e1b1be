import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Deployment } from '@drydock/api';
import { createClient, isNotFound, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { type Sandbox, startSandbox, toolPath } from '@drydock/sandbox';
import { parseAllDocuments } from 'yaml';
import { inNamespace, kindOf, type Manifest, manifestsOf } from '../sandbox/support/rbac-manifests.ts';
import { skipNeighbours } from './support/machine-api.ts';

const skip = skipNeighbours;
const run = promisify(execFile);
const deploy = resolve(import.meta.dirname, '../../deploy');
const chart = join(deploy, 'chart');

let helm: string;
let kustomize: string;
let sandbox: Sandbox;
let client: KubeClient;
before(async () => {
  if (skip !== false) return;
  helm = await toolPath('helm');
  kustomize = await toolPath('kustomize');
  sandbox = await startSandbox({ vcenter: false });
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  // Roles are bound in these.
  for (const name of [
    'drydock',
    'openshift-machine-api',
    'openshift-machine-config-operator',
    'zones',
    'openshift-cluster-version',
    'openshift-config',
    'openshift-config-managed',
  ])
    await client.raw({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } });
});
after(async () => {
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

async function rendered(namespace: string, ...values: readonly string[]): Promise<readonly Manifest[]> {
  const set = values.flatMap((value) => ['--set', value]);
  const args = ['template', 'drydock', chart, '--namespace', namespace, '--kube-version', '1.34.0', ...set];
  const { stdout } = await run(helm, args, { maxBuffer: 2 ** 26 });
  return parseAllDocuments(stdout).flatMap((document) => (document.toJS() as Manifest | null) ?? []);
}

const nameOf = ({ kind, metadata: { namespace = '', name } }: Manifest): string => `${kind} ${namespace}/${name}`;
const byName = (manifests: readonly Manifest[]): object =>
  Object.fromEntries(manifests.map((one) => [nameOf(one), one]));
const definition = ({ kind }: Manifest): boolean => kind === 'CustomResourceDefinition';

/** What kustomize applies, with the image that the chart names. */
function kustomized(...folders: readonly string[]): readonly Manifest[] {
  return structuredClone(folders.flatMap(manifestsOf))
    .filter(({ kind }) => kind !== 'Namespace')
    .map((one) => {
      const { spec } = one as unknown as { readonly spec?: { readonly template?: Pod } };
      const [container] = spec?.template?.spec.containers ?? [];
      if (container !== undefined)
        Object.assign(container, { image: 'drydock:0.1.0', imagePullPolicy: 'IfNotPresent' });
      return one;
    });
}

/** What kustomize itself makes of folders of `deploy` with components, with the image that the chart names. */
async function played(resources: readonly string[], components: readonly string[]): Promise<readonly Manifest[]> {
  const folder = await mkdtemp(join(tmpdir(), 'drydock-kustomize-'));
  try {
    const paths = (names: readonly string[]) => names.map((name) => relative(folder, join(deploy, name)));
    const images = ['drydock', 'drydock-node'].map((name) => ({ name, newTag: '0.1.0' }));
    const kustomization = { resources: paths(resources), components: paths(components), images };
    await writeFile(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    const { stdout } = await run(kustomize, ['build', folder], { maxBuffer: 2 ** 26 });
    return parseAllDocuments(stdout)
      .map((document) => document.toJS() as Manifest)
      .filter(({ kind }) => kind !== 'Namespace')
      .map((one) => {
        const { spec } = one as unknown as { readonly spec?: { readonly template?: Pod } };
        const [container] = spec?.template?.spec.containers ?? [];
        if (container !== undefined) Object.assign(container, { imagePullPolicy: 'IfNotPresent' });
        return one;
      });
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface Pod {
  readonly spec: {
    readonly serviceAccountName: string;
    readonly containers: { image: string; readonly args: string[] }[];
  };
}

test('the chart renders what kustomize applies, and its requests the components', { skip }, async () => {
  const plain = await rendered('drydock');
  assert.deepEqual(byName(plain.filter((one) => !definition(one))), byName(kustomized('../operator')));
  assert.equal(plain.filter(definition).length, 3);
  const all = await rendered(
    'drydock',
    ...['rights.controlPlane=true', 'rights.managedStub=true', 'rights.standIn=true', 'rights.canary=true'],
    ...['rights.machinesIn={zones}', 'policies=true', 'definitions=false'],
    ...['monitoring.serviceMonitor=true', 'monitoring.alerts=true', 'monitoring.dashboard=true'],
  );
  const components = ['control-plane', 'managed-stub', 'stand-in', 'canary', '../policies', '../monitoring'];
  const machines = inNamespace(manifestsOf('machines'), 'zones');
  assert.deepEqual(byName(all), byName([...kustomized('../operator', ...components), ...machines]));
});

test('the chart renders what kustomize itself makes of the components: the page, releases, and ClusterVersion', {
  skip,
}, async () => {
  for (const [values, resources, components] of [
    [[], ['operator'], []],
    [['page=true'], ['operator'], ['page']],
    [['node.enabled=true'], ['operator', 'node'], []],
    [['node.enabled=true', 'node.install=true'], ['operator', 'node'], ['node/install']],
    [['release.enabled=true'], ['operator', 'release'], []],
    [
      ['release.enabled=true', 'release.clusterVersion=true', 'page=true', 'rights.clusterAPICanary=true'],
      ['operator', 'release', 'rbac/cluster-api-canary'],
      ['page', 'release/cluster-version'],
    ],
  ] as const)
    assert.deepEqual(
      byName((await rendered('drydock', 'definitions=false', ...values)).filter(({ kind }) => kind !== 'Namespace')),
      byName(await played(resources, components)),
      values.join(' '),
    );
  await assert.rejects(rendered('drydock', 'release.clusterVersion=true'), /needs release\.enabled/);
  const lists = await rendered('drydock', 'node.enabled=true', 'node.certSync.secrets={a,b}');
  const [{ data } = assert.fail('no ConfigMap')] = lists.filter(
    ({ kind, metadata }) => kind === 'ConfigMap' && metadata.namespace === 'drydock-node',
  ) as unknown as readonly { readonly data: Readonly<Record<string, string>> }[];
  assert.deepEqual(JSON.parse(data['cert-sync.json'] ?? ''), { secrets: ['a', 'b'] });
});

test('in another namespace, and for Cluster API alone, nothing is left in the one of the manifests', {
  skip,
}, async () => {
  const digest = `image.digest=sha256:${'a'.repeat(64)}`;
  const all = await rendered('harbour', 'cluster=ClusterAPI', digest);
  assert.ok(!JSON.stringify(all).includes('"namespace":"drydock"'));
  const accounts = all.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata.name);
  assert.deepEqual(accounts, ['drydock-boot-images']);
  const { spec } = (all.find(({ kind }) => kind === 'Deployment') ?? assert.fail()) as unknown as {
    readonly spec: { readonly template: Pod };
  };
  const { serviceAccountName, containers } = spec.template.spec;
  assert.equal(serviceAccountName, 'drydock-boot-images');
  assert.equal(containers[0]?.image, `drydock@sha256:${'a'.repeat(64)}`);
  const args = containers[0]?.args ?? [];
  for (const arg of ['--roles=boot-images', '--lease-namespace=harbour', '--mark-key-secret=harbour/drydock-mark-key'])
    assert.ok(args.includes(arg), `${arg} in ${args.join(' ')}`);
  assert.equal(args.filter((arg) => arg.startsWith('--roles=')).length, 1);
  const more = ['page=true', 'release.enabled=true', 'release.clusterVersion=true', 'rights.clusterAPICanary=true'];
  const whole = JSON.stringify(await rendered('harbour', ...more));
  assert.ok(!whole.includes('"namespace":"drydock"'));
  assert.ok(
    whole.includes('"resources":["namespaces"],"resourceNames":["harbour"]') ||
      whole.includes('"resourceNames":["harbour"],"resources":["namespaces"]'),
  );
  for (const arg of ['--lease-namespace=harbour', '--release-account=harbour/drydock-cluster-version'])
    assert.ok(whole.includes(`"${arg}"`), arg);
});

test('a value that nobody knows, and one of the wrong kind, are refused by name', { skip }, async () => {
  for (const [value, said] of [
    ['replica=3', /additional properties 'replica' not allowed/],
    ['replicas=0', /at '\/replicas'/],
    ['cluster=Nomad', /at '\/cluster'/],
    ['image.digest=latest', /at '\/image\/digest'/],
    ['args={keep}', /at '\/args\/0'/],
  ] as const)
    await assert.rejects(rendered('drydock', value), said);
});

test('helm installs it on a real API server, upgrades it, and leaves the definitions when it goes', {
  skip,
}, async () => {
  const kubeconfig = ['--kubeconfig', sandbox.kubeconfig, '--namespace', 'drydock'];
  await run(helm, ['lint', '--strict', chart]);
  const values = ['policies=true', 'rights.machinesIn={zones}', 'page=true', 'release.enabled=true'];
  const given = [...values, 'release.clusterVersion=true', 'rights.clusterAPICanary=true'];
  const installed = await rendered('drydock', ...given);
  await run(helm, ['install', 'drydock', chart, ...kubeconfig, ...given.flatMap((value) => ['--set', value])]);
  const key = { namespace: 'drydock', name: 'drydock' };
  assert.equal((await client.get(Deployment, key)).spec?.replicas, 2);
  await run(helm, ['upgrade', 'drydock', chart, ...kubeconfig, '--reuse-values', '--set', 'replicas=1']);
  assert.equal((await client.get(Deployment, key)).spec?.replicas, 1);
  await run(helm, ['uninstall', 'drydock', ...kubeconfig, '--wait']);
  await assert.rejects(client.get(Deployment, key), isNotFound);
  for (const manifest of installed.filter((one) => !definition(one))) {
    const { namespace, name } = manifest.metadata;
    await assert.rejects(
      client.get(kindOf(manifest), namespace === undefined ? { name } : { namespace, name }),
      isNotFound,
      nameOf(manifest),
    );
  }
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bootimages.drydock.dev';
  assert.equal(((await client.raw({ method: 'GET', path })) as Manifest).metadata.name, 'bootimages.drydock.dev');
});
