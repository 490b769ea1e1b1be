import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { parse } from 'yaml';
import { type Api, type Credentials, createApi } from './api.ts';
import { withoutRealServers } from './backend.ts';
import { findBinaries } from './binaries.ts';
import { SandboxError } from './errors.ts';
import { identityOf } from './process-identity.ts';
import { type Sandbox, startSandbox } from './sandbox.ts';
import { connectSwitchboard } from './switchboard.ts';
import { scratchFolder } from './workdir.ts';

interface Kubeconfig {
  readonly clusters: readonly { cluster: { server: string; 'certificate-authority-data': string } }[];
  readonly users: readonly { user: { 'client-certificate-data': string; 'client-key-data': string } }[];
}

function credentialsOf(file: string): Credentials {
  const config = parse(readFileSync(file, 'utf8')) as Kubeconfig;
  const { cluster } = config.clusters[0] ?? assert.fail('no cluster');
  const { user } = config.users[0] ?? assert.fail('no user');
  const text = (base64: string): string => Buffer.from(base64, 'base64').toString();
  return {
    url: cluster.server,
    ca: text(cluster['certificate-authority-data']),
    certificate: text(user['client-certificate-data']),
    privateKey: text(user['client-key-data']),
  };
}

const NAMESPACES = '/api/v1/namespaces';
const MACHINE_SETS = '/apis/machine.openshift.io/v1beta1/machinesets';

const namespace = (name: string): unknown => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

const resourceVersion = (body: unknown): string =>
  (body as { metadata: { resourceVersion: string } }).metadata.resourceVersion;

suite('a sandbox with the newest OpenShift CRDs', () => {
  let sandbox: Sandbox;
  let api: Api;

  before(async () => {
    sandbox = await startSandbox({ crds: ['openshift'] });
    api = createApi(credentialsOf(sandbox.kubeconfig));
  });
  after(async () => {
    await api[Symbol.asyncDispose]();
    await sandbox[Symbol.asyncDispose]();
    assert.equal(existsSync(sandbox.directory), false);
    assert.equal(sandbox.apiserver.pid, undefined);
  });

  test('the kubeconfig administers a server that tells its release', async () => {
    const version = await api.call('GET', '/version');
    assert.equal((version.body as { gitVersion: string }).gitVersion, 'v1.34.4');
    assert.equal((await api.call('POST', NAMESPACES, { body: namespace('hello') })).status, 201);
  });

  test('custom kinds answer at once, without the 429 of a fresh one', async () => {
    assert.equal((await api.call('GET', MACHINE_SETS)).status, 200);
    assert.equal((await api.call('GET', '/apis/operator.openshift.io/v1/machineconfigurations')).status, 200);
  });

  test('another user is refused what RBAC does not grant, and a group grants', async () => {
    await using stranger = createApi(credentialsOf(sandbox.kubeconfigFor({ user: 'jane', groups: ['nobodies'] })));
    const refused = await stranger.call('GET', '/api/v1/secrets');
    assert.equal(refused.status, 403);
    assert.match(JSON.stringify(refused.body), /\\"jane\\"/);
    await using member = createApi(credentialsOf(sandbox.kubeconfigFor({ user: 'joe', groups: ['system:masters'] })));
    assert.equal((await member.call('GET', '/api/v1/secrets')).status, 200);
  });

  test('CRDs can be added later, and installed twice', async () => {
    const file = join(sandbox.directory, 'ship.yaml');
    const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }];
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'ships.example.com' },
      spec: { group: 'example.com', scope: 'Cluster', names: { plural: 'ships', kind: 'Ship' }, versions },
    };
    writeFileSync(file, JSON.stringify(crd));
    await sandbox.installCrds([file]);
    await sandbox.installCrds([file]);
    assert.equal((await api.call('GET', '/apis/example.com/v1/ships')).status, 200);
  });

  test('a CRD that the server refuses is named with the reason', async () => {
    const file = join(sandbox.directory, 'bad.yaml');
    writeFileSync(
      file,
      'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: bad}\nspec: {}\n',
    );
    await assert.rejects(
      sandbox.installCrds([file]),
      (error) =>
        error instanceof SandboxError && error.code === 'CrdRefused' && /CRD bad .*spec\.group/.test(error.message),
    );
    await assert.rejects(
      sandbox.installCrds(['/nowhere']),
      (error) => error instanceof SandboxError && error.code === 'BadInput',
    );
  });

  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    test(`the API server restarts alone after ${signal}, on the same data; a watch from before gets 410`, async () => {
      const old = sandbox.apiserver.pid;
      const name = `kept-over-${signal.toLowerCase()}`;
      const earlier = await api.call('POST', NAMESPACES, { body: namespace(`before-${name}`) });
      const since = resourceVersion(earlier.body);
      // One change later: the very last resourceVersion would still be served.
      await api.call('POST', NAMESPACES, { body: namespace(name) });
      await sandbox.apiserver.restart({ with: signal });
      assert.notEqual(sandbox.apiserver.pid, old);
      assert.equal((await api.call('GET', `${NAMESPACES}/${name}`)).status, 200);
      assert.equal((await api.call('GET', MACHINE_SETS)).status, 200);
      const watch = await api.call('GET', `${NAMESPACES}?watch=1&resourceVersion=${since}&timeoutSeconds=10`);
      assert.equal(watch.status, 200);
      const { type, object } = watch.body as { type: string; object: { code: number; reason: string } };
      assert.deepEqual([type, object.code, object.reason], ['ERROR', 410, 'Expired']);
    });
  }

  test('etcd restarts alone, and the data is still there', {
    skip: withoutRealServers('it restarts etcd'),
  }, async () => {
    await api.call('POST', NAMESPACES, { body: namespace('kept-over-etcd') });
    const server = sandbox.apiserver.pid;
    await sandbox.etcd.kill();
    assert.equal(sandbox.etcd.pid, undefined);
    await sandbox.etcd.start();
    const deadline = Date.now() + 20_000;
    let status = 0;
    while (status !== 200) {
      assert.ok(Date.now() < deadline, `the namespace is not served again: ${status}`);
      status = (await api.call('GET', `${NAMESPACES}/kept-over-etcd`)).status;
    }
    assert.equal(sandbox.apiserver.pid, server);
  });
});

const skip = withoutRealServers('it starts kube-apiserver and etcd');

test('KUBEBUILDER_ASSETS names the binaries, and an incomplete folder is told in words', { skip }, async () => {
  using folder = scratchFolder();
  const assets = folder.path;
  const { etcd, apiserver } = findBinaries('');
  const server = apiserver('E2');
  try {
    assert.throws(() => findBinaries(assets), /there is no .*etcd/);
    for (const [name, { binary, prefix }] of [
      ['etcd', etcd],
      ['kube-apiserver', server],
    ] as const) {
      writeFileSync(
        join(assets, name),
        `#!/bin/sh\necho ran > '${assets}/${name}.ran'\nexec '${binary}' ${prefix.join(' ')} "$@"\n`,
      );
      chmodSync(join(assets, name), 0o755);
    }
    process.env['KUBEBUILDER_ASSETS'] = assets;
    await using sandbox = await startSandbox();
    assert.ok(existsSync(join(assets, 'etcd.ran')) && existsSync(join(assets, 'kube-apiserver.ran')));
    assert.notEqual(identityOf(sandbox.etcd.pid ?? 0), undefined);
  } finally {
    delete process.env['KUBEBUILDER_ASSETS'];
    rmSync(assets, { recursive: true, force: true });
  }
});

test('a sandbox without Kubernetes has a vCenter that answers, and nothing else', async () => {
  await using sandbox = await startSandbox({ vcenter: true, kubernetes: false });
  assert.deepEqual([sandbox.etcd.pid, sandbox.apiserver.pid], [undefined, undefined]);
  const { sessions } = await connectSwitchboard(sandbox.vcenter.switchboard).sessions();
  assert.deepEqual(sessions, []);
});

test('a server that refuses its flags is told with its own words', { skip }, async () => {
  await assert.rejects(
    startSandbox({ apiserverFlags: ['--no-such-flag'] }),
    (error) => error instanceof SandboxError && error.code === 'ServerExited' && /no-such-flag/.test(error.message),
  );
});
