import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  createCache,
  createClient,
  isNotFound,
  type KubeClient,
  type KubeObject,
  loadKubeconfig,
  type Resource,
} from '@drydock/kube';
import { failureOf } from '@drydock/kube/testing';
import { createAuthority, type Sandbox, startSandbox } from '@drydock/sandbox';
import { CONFIG_MAP, eventually, NAMESPACE } from './support/kube-kinds.ts';

const namespace = 'input';
let sandbox: Sandbox;
let client: KubeClient;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drydock-input-'));
  sandbox = await startSandbox();
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  await client.create(NAMESPACE, { metadata: { name: namespace } });
});

after(async () => {
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** Lists as the one user of a kubeconfig whose user and cluster entries are these. */
async function listAs(user: object, cluster: object = { 'certificate-authority': sandbox.ca }): Promise<number> {
  const kubeconfig = join(folder, 'config');
  await writeFile(
    kubeconfig,
    JSON.stringify({
      'current-context': 'c',
      clusters: [{ name: 'c', cluster: { server: sandbox.server, ...cluster } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    }),
  );
  await using other = createClient(await loadKubeconfig({ kubeconfig }));
  return (await Array.fromAsync(other.list(CONFIG_MAP, { namespace }))).length;
}

test('kubeconfigs: no login, a refused token, another authority, a plugin that works and one that is not there', async () => {
  assert.equal(
    (await failureOf(listAs({}))).code,
    'Forbidden',
    'the real server lets anonymous in and forbids everything',
  );
  assert.equal((await failureOf(listAs({ token: 'nonsense' }))).code, 'Unauthorized');
  const other = Buffer.from(createAuthority('other').certificate).toString('base64');
  const untrusted = await failureOf(listAs({ token: 'x' }, { 'certificate-authority-data': other }));
  assert.deepEqual(
    [untrusted.code, untrusted.message.startsWith('list ConfigMaps: ')],
    ['Tls', true],
    untrusted.message,
  );
  const exec = (args: readonly string[], command = process.execPath): object => ({
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command,
      args,
      interactiveMode: 'Never',
      installHint: 'Install it.',
    },
  });
  const { certificate, privateKey } = sandbox.admin;
  const status = { clientCertificateData: certificate, clientKeyData: privateKey };
  const printed = { kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', status };
  assert.equal(await listAs(exec(['-e', `console.log(${JSON.stringify(JSON.stringify(printed))})`])), 0);
  const absent = await failureOf(listAs(exec([], '/nowhere/plugin')));
  assert.match(absent.message, /credential plugin \/nowhere\/plugin: it could not be started\. Install it\./);
});

test('a kind that is not served is told as such, and a cache of it comes to life with its CRD', async () => {
  const Widget: Resource<KubeObject> = {
    group: 'example.org',
    version: 'v1',
    kind: 'Widget',
    plural: 'widgets',
    scope: 'Namespaced',
  };
  const unknown = await failureOf(client.get(Widget, { namespace, name: 'a' }));
  assert.equal(isNotFound(unknown), true);
  assert.match(unknown.message, /install its CustomResourceDefinition/);
  assert.match(
    (await failureOf(client.get(CONFIG_MAP, { namespace, name: 'a' }))).message,
    /Check the name and the namespace/,
  );
  const errors: unknown[] = [];
  await using cache = createCache({
    client,
    resource: Widget,
    where: { namespace },
    onError: (error) => errors.push(error),
  });
  await eventually('the first refusal', () => errors.length > 0);
  assert.equal(isNotFound(errors[0]), true);
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.org' },
    spec: {
      group: 'example.org',
      scope: 'Namespaced',
      names: { kind: 'Widget', plural: 'widgets', singular: 'widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
  await writeFile(join(folder, 'widget.json'), JSON.stringify(crd));
  await sandbox.installCrds([join(folder, 'widget.json')]);
  await client.create(Widget, { metadata: { namespace, name: 'a' } });
  await eventually('the object', () => cache.get({ namespace, name: 'a' }) !== undefined);
});

test('an object that the server finds too large is a typed error, whichever of its limits it meets', async () => {
  for (const [megabytes, code] of [
    [2, 'Invalid'],
    [5, 'TooLarge'],
  ] as const) {
    const big = { metadata: { namespace, name: 'big' }, data: { x: 'y'.repeat(megabytes * 2 ** 20) } };
    const error = await failureOf(client.create(CONFIG_MAP, big));
    assert.deepEqual([error.code, error.retriable], [code, false], error.message);
    assert.ok(error.message.startsWith('create ConfigMap input/big: ') && error.message.length < 1_000);
  }
});

test('a dry run answers as the write would and stores nothing; propagation decides what a deletion waits for', async () => {
  const key = { namespace, name: 'dry' };
  const dry = { dryRun: true };
  const answer = await client.create(CONFIG_MAP, { metadata: key, data: { x: '1' } }, dry);
  assert.ok(answer.metadata.uid !== undefined);
  assert.equal(isNotFound(await failureOf(client.get(CONFIG_MAP, key))), true);
  assert.equal(
    (await failureOf(client.create(CONFIG_MAP, { metadata: { ...key, name: 'Not A Name' } }, dry))).code,
    'Invalid',
  );
  const real = await client.create(CONFIG_MAP, { metadata: key, data: { x: '1' } });
  const ops = [{ op: 'replace', path: '/data/x', value: '2' }] as const;
  assert.equal((await client.patch(CONFIG_MAP, key, ops, dry)).data?.['x'], '2');
  assert.equal((await client.mergePatch(CONFIG_MAP, key, { data: { x: '3' } }, dry)).data?.['x'], '3');
  await client.replace(CONFIG_MAP, { ...real, data: {} }, dry);
  await client.apply(CONFIG_MAP, { metadata: key, data: { y: '4' } }, { manager: 'me' }, dry);
  await client.delete(CONFIG_MAP, key, undefined, dry);
  assert.deepEqual(await client.get(CONFIG_MAP, key), real, 'nothing of all this was stored');
  await client.delete(CONFIG_MAP, key, undefined, { propagation: 'Foreground' });
  const { metadata } = await client.get(CONFIG_MAP, key);
  assert.ok(metadata.deletionTimestamp !== undefined, 'it waits for its dependents, which nobody collects here');
  await client.create(CONFIG_MAP, { metadata: { ...key, name: 'plain' } });
  await client.delete(CONFIG_MAP, { ...key, name: 'plain' }, undefined, { propagation: 'Background' });
  assert.equal(isNotFound(await failureOf(client.get(CONFIG_MAP, { ...key, name: 'plain' }))), true);
});
