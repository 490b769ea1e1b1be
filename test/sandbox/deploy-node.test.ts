import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { ConfigMap, Event, Namespace, Secret } from '@drydock/api';
import { createClient, isForbidden, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { type Sandbox, scratchFolder, startSandbox, withoutRealServers } from '@drydock/sandbox';
import { Node, Pod } from '@drydock/static-pods';
import { parse, parseAllDocuments } from 'yaml';
import { type ImageConfig, layImage } from './support/image.ts';
import { type Container, noPods, type PodSpec, type RunningPod, startPod } from './support/pod.ts';
import { apply, type Manifest, manifestsOf } from './support/rbac-manifests.ts';
import { eventually } from './support/voyage.ts';

const namespace = 'drydock-node';
const node = 'master-0';
const component = resolve(import.meta.dirname, '../../deploy/node/install');
const manifests = manifestsOf('../node');
const { spec } = manifests.find(({ kind }) => kind === 'DaemonSet') as unknown as {
  readonly spec: { readonly template: { readonly spec: PodSpec } };
};
const pod = spec.template.spec;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const stack = new AsyncDisposableStack();
let sandbox: Sandbox;
let client: KubeClient;
before(async () => {
  sandbox = stack.use(await startSandbox());
  client = stack.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
});
after(() => stack.disposeAsync());

/** Whether the API server permits a call to the ServiceAccount of the pods. */
async function may(verb: string, group: string, resource: string, name: string, within = namespace): Promise<boolean> {
  const user = `system:serviceaccount:${namespace}:drydock-node`;
  const body = { spec: { user, resourceAttributes: { verb, group, resource, name, namespace: within } } };
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const { status } = (await client.raw({ method: 'POST', path, body })) as { readonly status: { allowed: boolean } };
  return status.allowed;
}

/** The pod of the DaemonSet with the patch of `deploy/node/install`. */
function withManifests(): PodSpec {
  const patched = structuredClone(pod) as unknown as { volumes: unknown[]; containers: { volumeMounts: unknown[] }[] };
  const ops = parse(readFileSync(join(component, 'daemon-set-patch.yaml'), 'utf8')) as readonly {
    readonly path: string;
    readonly value: unknown;
  }[];
  for (const { path, value } of ops)
    (path.includes('/containers/') ? patched.containers[0]?.volumeMounts : patched.volumes)?.push(value);
  return patched as unknown as PodSpec;
}

/** Asks the API server to create a pod, strictly, and to forget it. */
function createPod(within: string, podSpec: object): Promise<unknown> {
  return client.raw({
    ...{ method: 'POST', path: `/api/v1/namespaces/${within}/pods?dryRun=All&fieldValidation=Strict` },
    body: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: podSpec },
  });
}

test('FIND-24 deploy/node: the API server takes everything, with no field that it does not know', async () => {
  await apply(client, manifests);
  const rights = parseAllDocuments(readFileSync(join(component, 'rights.yaml'), 'utf8'));
  await apply(
    client,
    rights.map((document) => document.toJS() as Manifest),
  );
  await createPod(namespace, pod);
  await createPod(namespace, withManifests());
  await assert.rejects(createPod(namespace, { ...pod, nonsense: 1 }), /unknown field "spec.nonsense"/);
});

test('FIND-24 deploy/node: its pods are refused in any other namespace that enforces the baseline', {
  skip: withoutRealServers('the embedded API server lacks the Pod Security levels baseline and restricted'),
}, async () => {
  const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' };
  await client.create(Namespace, { metadata: { name: 'others', labels } });
  await assert.rejects(createPod('others', { ...pod, serviceAccountName: 'default' }), (error: Error) => {
    return isForbidden(error) && /hostPath/.test(error.message) && /seLinuxOptions/.test(error.message);
  });
});

test('FIND-24 deploy/node: its account reads what is for the nodes, may use the constraint that admits its pods, and no more', async () => {
  const scc = ['security.openshift.io', 'securitycontextconstraints'] as const;
  for (const [allowed, ...call] of [
    [true, 'watch', '', 'secrets', 'serving'],
    [true, 'use', ...scc, 'privileged'],
    [false, 'use', ...scc, 'anyuid'],
    [false, 'get', '', 'secrets', 'serving', 'kube-system'],
    [false, 'update', '', 'secrets', 'serving'],
    [false, 'create', '', 'pods', ''],
    [false, 'delete', '', 'configmaps', 'trust'],
    [false, 'patch', '', 'nodes', node, ''],
  ] as const)
    assert.equal(await may(...(call as unknown as Parameters<typeof may>)), allowed, call.join(' '));
});

/** What a kubelet mounts, and the folders of the node. */
async function givenBy(files: string) {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/drydock-node/token`;
  const body = { spec: { expirationSeconds: 3600 } };
  const { status } = (await client.raw({ method: 'POST', path, body })) as { readonly status: { token: string } };
  const write = (folder: string, content: Readonly<Record<string, string>>): string => {
    const to = join(files, folder);
    mkdirSync(to);
    for (const [name, text] of Object.entries(content)) writeFileSync(join(to, name), text);
    chmodSync(to, 0o755);
    return to;
  };
  const { data = {} } = manifests.find(({ kind }) => kind === 'ConfigMap') as unknown as ConfigMap;
  return {
    serviceAccount: write('account', { token: status.token, namespace, 'ca.crt': readFileSync(sandbox.ca, 'utf8') }),
    volumes: { lists: write('lists', data), resources: write('resources', {}), manifests: write('manifests', {}) },
  };
}

const skip = noPods() ?? false;
test('FIND-24 the node image runs as root without a capability: it keeps the listed certificates of a node, and installs a revision', {
  skip,
}, async () => {
  using scratch = scratchFolder();
  const files = scratch.path;
  const tree = join(files, 'image');
  mkdirSync(tree);
  const image: ImageConfig = await layImage(tree, 'node');
  assert.deepEqual([image.user, image.entrypoint], ['0:0', ['drydock-node']]);
  const { hostname, port } = new URL(sandbox.server);
  const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  const given = await givenBy(files);
  /** With what the downward API says, which these fields ask for. */
  const started = (podSpec: PodSpec, name: string, args: readonly string[]): RunningPod => {
    const told: Readonly<Record<string, string>> = { POD_NAME: 'p', POD_NAMESPACE: namespace, NODE_NAME: node };
    const [container] = podSpec.containers as [Container];
    const variables = container.env.map((one) => ({ name: one.name, value: told[one.name] ?? assert.fail(one.name) }));
    const containers = [{ ...container, env: variables, args }];
    const own = join(files, name);
    mkdirSync(own);
    return startPod({ ...podSpec, containers }, { ...given, image, tree, env, files: own });
  };
  await client.create(Node, { metadata: { name: node } });
  await client.create(Pod, {
    metadata: { name: 'p', namespace },
    spec: { nodeName: node, containers: [{ name: 'c', image: 'c' }] },
  } as Pod);
  const metadata = { name: 'serving', namespace };
  await client.create(Secret, { metadata, data: { 'tls.crt': base64('one') } });

  const [{ args }] = pod.containers as [Container];
  await using running = started(pod, 'cert-sync', args);
  const file = join(given.volumes.resources, 'drydock-certs/secrets/serving/tls.crt');
  const says = (text: string) =>
    eventually(
      text,
      async () => (existsSync(file) && readFileSync(file, 'utf8') === text ? true : undefined),
      () => running.log(),
    );
  await says('one');
  await client.mergePatch(Secret, metadata, { data: { 'tls.crt': base64('two') } });
  await says('two');
  assert.equal(statSync(file).uid, 0);
  assert.match(readFileSync(`/proc/${running.pid}/status`, 'utf8'), /^CapEff:\s+0{16}$/m);
  await eventually('an Event about the pod', async () => {
    for await (const { reason, regarding } of client.list(Event, { namespace }))
      if (reason === 'CertificateUpdated' && regarding?.name === 'p') return true;
    return undefined;
  });
  assert.doesNotMatch(running.log(), /forbidden|EROFS|EACCES|EPERM/i);

  const config: ConfigMap = { metadata: { name: 'config-1', namespace }, data: { 'config.yaml': 'a: 1' } };
  await client.create(ConfigMap, config);
  const yaml =
    'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: "example.test/web"}]}';
  await client.create(ConfigMap, { metadata: { name: 'web-pod-1', namespace }, data: { 'pod.yaml': yaml } });
  const resources = '/etc/kubernetes/static-pod-resources';
  const installed = started(withManifests(), 'install', [
    ...['install', '--revision=1', `--namespace=${namespace}`, '--pod=web-pod', '--configmaps=config'],
    ...[`--resource-dir=${resources}`, '--pod-manifest-dir=/etc/kubernetes/manifests', '--alone'],
  ]);
  try {
    const manifest = join(given.volumes.manifests, 'web-pod.yaml');
    await eventually(
      'a manifest',
      async () => (existsSync(manifest) ? true : undefined),
      () => installed.log(),
    );
    assert.equal(dirname(manifest), given.volumes.manifests);
    assert.match(
      readFileSync(join(given.volumes.resources, 'web-pod-1/configmaps/config/config.yaml'), 'utf8'),
      /a: 1/,
    );
  } finally {
    await installed[Symbol.asyncDispose]();
  }
  assert.doesNotMatch(installed.log(), /forbidden|EROFS|EACCES|EPERM/i);
});
