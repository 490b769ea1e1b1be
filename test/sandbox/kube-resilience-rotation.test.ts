import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type ClusterConfig, createCache, createClient, type KubeClient, loadKubeconfig } from '@drydock/kube';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { CONFIG_MAP, eventually, NAMESPACE, SECRET, SERVICE_ACCOUNT } from './support/kube-kinds.ts';

const namespace = 'rotation';
let sandbox: Sandbox;
let admin: KubeClient;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drydock-rotation-'));
  sandbox = await startSandbox();
  admin = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  await admin.create(NAMESPACE, { metadata: { name: namespace } });
  const api = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  const subjects = [
    { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'rotators' },
    { kind: 'ServiceAccount', namespace, name: 'robot' },
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
  await admin.raw({ method: 'POST', path: api, body: { metadata: { name: 'rotators' }, roleRef, subjects } });
});

after(async () => {
  await admin?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** Who the server thinks that the client is. */
async function whoami(client: KubeClient): Promise<string> {
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const review = (await client.raw({
    method: 'POST',
    path,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  })) as {
    readonly status: { readonly userInfo: { readonly username: string } };
  };
  return review.status.userInfo.username;
}

/** A kubeconfig whose user is read from these files. */
async function configWith(user: Readonly<Record<string, string>>, now: () => number): Promise<ClusterConfig> {
  const file = join(folder, `config-${Object.keys(user)[0]}`);
  const clusters = [{ name: 'c', cluster: { server: sandbox.server, 'certificate-authority': sandbox.ca } }];
  const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
  await writeFile(file, JSON.stringify({ 'current-context': 'c', clusters, users: [{ name: 'u', user }], contexts }));
  return loadKubeconfig({ kubeconfig: file, now });
}

test('a client certificate that is replaced on disk is used within a minute, and the watch goes on', async () => {
  const issue = async (user: string): Promise<void> => {
    const loaded = await loadKubeconfig({ kubeconfig: sandbox.kubeconfigFor({ user, groups: ['rotators'] }) });
    const { cert = '', key = '' } = await loaded.credentials.get();
    await writeFile(join(folder, 'tls.crt'), cert);
    await writeFile(join(folder, 'tls.key'), key);
  };
  await issue('first');
  let now = 0;
  await using client = createClient(
    await configWith({ 'client-certificate': 'tls.crt', 'client-key': 'tls.key' }, () => now),
  );
  await using cache = createCache({ client, resource: CONFIG_MAP, where: { namespace } });
  await cache.synced;
  assert.equal(await whoami(client), 'first');
  await issue('second');
  assert.equal(await whoami(client), 'first', 'not each request reads the files');
  now += 60_000;
  assert.equal(await whoami(client), 'second');
  const key = { namespace, name: 'after-the-rotation' };
  await client.create(CONFIG_MAP, { metadata: key });
  await eventually('the change', () => cache.get(key) !== undefined);
  const { lists, watches, failures } = cache.health();
  assert.deepEqual({ lists, watches, failures }, { lists: 1, watches: 1, failures: 0 });
});

test('a token that is revoked while its successor lies on disk interrupts nobody; who does not follow the file is refused', async () => {
  const robot = { namespace, name: 'robot' };
  await admin.create(SERVICE_ACCOUNT, { metadata: robot });
  /** A token that dies with a Secret: the way to revoke one. */
  const issue = async (bound: string): Promise<void> => {
    const { metadata } = await admin.create(SECRET, { metadata: { namespace, name: bound } });
    const boundObjectRef = { apiVersion: 'v1', kind: 'Secret', name: bound, uid: metadata.uid };
    const answer = (await admin.raw({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/robot/token`,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { boundObjectRef, audiences: [] } },
    })) as { readonly status: { readonly token: string } };
    await writeFile(join(folder, 'token'), `${answer.status.token}\n`);
  };
  await issue('one');
  let refused = 0;
  // Never a minute: only a refusal may make the client read the file again.
  const started = performance.now();
  const config = await configWith({ tokenFile: 'token' }, () => Math.min(performance.now() - started, 50_000));
  await using client = createClient(config, {
    onRequest: ({ code }) => {
      if (code === '401') refused += 1;
    },
  });
  await using cache = createCache({ client, resource: CONFIG_MAP, where: { namespace } });
  await cache.synced;
  assert.equal(await whoami(client), `system:serviceaccount:${namespace}:robot`);
  const copy = (await readFile(join(folder, 'token'), 'utf8')).trim();
  await using stubborn = createClient(await configWith({ token: copy }, () => 0));
  await whoami(stubborn);

  await issue('two');
  await admin.delete(SECRET, { namespace, name: 'one' });
  // The server itself remembers a good token for about ten seconds; each of these calls must succeed.
  let n = 0;
  await eventually('the first refusal', async () => {
    await client.mergePatch(SERVICE_ACCOUNT, robot, { metadata: { annotations: { n: `${n++}` } } });
    return refused > 0;
  });
  await assert.rejects(whoami(stubborn), { code: 'Unauthorized' });
});
