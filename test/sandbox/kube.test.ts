import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type ApiError,
  type Change,
  createCache,
  createClient,
  isAlreadyExists,
  isApplyConflict,
  isConflict,
  isInvalid,
  isNotFound,
  isPatchTestFailed,
  type KubeClient,
  type KubeObject,
  loadKubeconfig,
  type Resource,
  statusWriter,
} from '@drydock/kube';
import { type Sandbox, startSandbox } from '@drydock/sandbox';

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}
interface Node extends KubeObject {
  readonly status?: { readonly capacity?: Readonly<Record<string, string>> };
}

const CONFIG_MAP: Resource<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  scope: 'Namespaced',
};
const NODE: Resource<Node> = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', scope: 'Cluster' };
const NAMESPACE: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  scope: 'Cluster',
};

const namespace = 'kube-contract';
let sandbox: Sandbox;
let client: KubeClient;

before(async () => {
  sandbox = await startSandbox();
  client = createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig }));
  await client.create(NAMESPACE, { metadata: { name: namespace } });
});

after(async () => {
  await client?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

function map(name: string, data: Record<string, string> = {}): ConfigMap {
  return { metadata: { name, namespace }, data };
}

async function failure(promise: Promise<unknown>): Promise<ApiError> {
  return promise.then(
    () => assert.fail('should have failed'),
    (error: ApiError) => error,
  );
}

async function until(what: string, check: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!check()) {
    assert.ok(performance.now() < deadline, `${what} did not happen within 20 s`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test('create, get, replace with guard, delete with preconditions', async () => {
  const made = await client.create(CONFIG_MAP, map('a', { x: '1' }));
  assert.equal('managedFields' in made.metadata, false);
  const key = { namespace, name: 'a' };
  assert.deepEqual(await client.get(CONFIG_MAP, key), made);
  assert.equal(isAlreadyExists(await failure(client.create(CONFIG_MAP, map('a')))), true);
  const changed = await client.replace(CONFIG_MAP, { ...made, data: { x: '2' } });
  const stale = await failure(client.replace(CONFIG_MAP, { ...made, data: { x: '3' } }));
  assert.equal(isConflict(stale), true, stale.message);
  const uid = '00000000-0000-0000-0000-000000000000';
  assert.equal(isConflict(await failure(client.delete(CONFIG_MAP, key, { uid }))), true);
  await client.delete(CONFIG_MAP, key, {
    uid: made.metadata.uid ?? '',
    resourceVersion: changed.metadata.resourceVersion ?? '',
  });
  assert.equal(isNotFound(await failure(client.get(CONFIG_MAP, key))), true);
  assert.equal(isNotFound(await failure(client.delete(CONFIG_MAP, key))), true);
});

test('a list of more than one page gives every object once', async () => {
  const names = Array.from({ length: 620 }, (_, n) => `page-${String(n).padStart(3, '0')}`);
  await Promise.all(
    names.map((name) => client.create(CONFIG_MAP, { metadata: { name, namespace, labels: { paged: 'y' } } })),
  );
  const listed = await Array.fromAsync(client.list(CONFIG_MAP, { namespace, labels: 'paged=y' }));
  assert.deepEqual(
    listed.map(({ metadata }) => metadata.name),
    names,
  );
  assert.deepEqual([listed[0]?.apiVersion, listed[0]?.kind], ['v1', 'ConfigMap']);
  let pages = 0;
  for await (const page of client.pages(CONFIG_MAP, { namespace })) pages += page.items.length > 0 ? 1 : 0;
  assert.equal(pages, 2);
});

test('a failed JSON-patch test is told from a schema rejection and from a lost guard', async () => {
  const made = await client.create(CONFIG_MAP, map('patched', { x: '1' }));
  const key = { namespace, name: 'patched' };
  const failed = await failure(
    client.patch(CONFIG_MAP, key, [
      { op: 'test', path: '/data/x', value: '0' },
      { op: 'replace', path: '/data/x', value: '2' },
    ]),
  );
  assert.equal(isPatchTestFailed(failed) && !isInvalid(failed), true, failed.message);
  const rejected = await failure(client.patch(CONFIG_MAP, key, [{ op: 'add', path: '/data/a b', value: 'x' }]));
  assert.equal(isInvalid(rejected) && !isPatchTestFailed(rejected), true, rejected.message);
  assert.equal((await client.mergePatch(CONFIG_MAP, key, { data: { x: '5' } })).data?.['x'], '5');
  const { resourceVersion } = made.metadata;
  assert.equal(isConflict(await failure(client.mergePatch(CONFIG_MAP, key, { metadata: { resourceVersion } }))), true);
  const path = '/metadata/resourceVersion';
  const guarded = client.patch(CONFIG_MAP, key, [{ op: 'add', path, value: resourceVersion }]);
  assert.equal(isConflict(await failure(guarded)), true);
});

test('two appliers of one field: the second is told who owns it, unless it forces', async () => {
  await client.apply(CONFIG_MAP, map('applied', { x: '1' }), { manager: 'one' });
  const refused = await failure(client.apply(CONFIG_MAP, map('applied', { x: '2' }), { manager: 'two' }));
  assert.equal(isApplyConflict(refused) && !isConflict(refused) && !refused.retriable, true, refused.message);
  assert.match(refused.details.causes?.[0]?.message ?? '', /"one"/);
  const forced = await client.apply(CONFIG_MAP, map('applied', { x: '2' }), { manager: 'two', force: true });
  assert.equal(forced.data?.['x'], '2');
});

test('a stale status PUT conflicts, and the status writer computes again', async () => {
  const made = await client.create(NODE, { metadata: { name: 'n1' } });
  const count = (node: Node): number => Number(node.status?.capacity?.['cpu'] ?? '0');
  const next = (node: Node): NonNullable<Node['status']> => ({
    ...node.status,
    capacity: { cpu: `${count(node) + 1}` },
  });
  await client.replaceStatus(NODE, { ...made, status: next(made) });
  assert.equal(isConflict(await failure(client.replaceStatus(NODE, { ...made, status: next(made) }))), true);
  const writer = statusWriter({ client, resource: NODE });
  await Promise.all(Array.from({ length: 4 }, () => writer.write({ name: 'n1' }, next, { current: made })));
  const now = await client.get(NODE, { name: 'n1' });
  assert.equal(count(now), 5);
  assert.equal((await writer.write({ name: 'n1' }, (node) => ({ ...node.status }))).written, false);
});

test('a cache follows the server, and over its death and restart, which expires every version', async () => {
  const errors: unknown[] = [];
  await using cache = createCache({
    client,
    resource: CONFIG_MAP,
    where: { namespace, labels: 'cached=y' },
    onError: (error) => errors.push(error),
  });
  const changes: Change<ConfigMap>[] = [];
  cache.subscribe((change) => changes.push(change));
  await cache.synced;
  const labels = { cached: 'y' };
  const one = { namespace, name: 'one' };
  await client.create(CONFIG_MAP, { metadata: { ...one, labels } });
  await until('the creation', () => cache.get(one) !== undefined);
  await client.mergePatch(CONFIG_MAP, one, { data: { x: 'y' } });
  await until('the change', () => cache.get(one)?.data?.['x'] === 'y');
  await client.delete(CONFIG_MAP, one);
  await until('the deletion', () => cache.size === 0);
  assert.deepEqual(
    changes.map(({ old, now }) => [old !== undefined, now !== undefined]),
    [
      [false, true],
      [true, true],
      [true, false],
    ],
  );
  await sandbox.apiserver.restart({ with: 'SIGKILL' });
  await client.create(CONFIG_MAP, { metadata: { ...one, labels } });
  await until('the creation after the restart', () => cache.get(one) !== undefined);
  assert.ok(errors.length > 0);
});

test('another user is refused by name', async () => {
  const kubeconfig = sandbox.kubeconfigFor({ user: 'nobody' });
  await using other = createClient(await loadKubeconfig({ kubeconfig }));
  const refused = await failure(other.get(CONFIG_MAP, { namespace, name: 'x' }));
  assert.equal(refused.code, 'Forbidden', refused.message);
});
