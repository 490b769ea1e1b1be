import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  createClient,
  isConflict,
  type KubeClient,
  type KubeObject,
  loadKubeconfig,
  type Resource,
  statusWriter,
} from '@drydock/kube';
import { failureOf } from '@drydock/kube/testing';
import { type Sandbox, startSandbox } from '@drydock/sandbox';
import { CONFIG_MAP, NAMESPACE } from './support/kube-kinds.ts';

interface Node extends KubeObject {
  readonly status?: { readonly capacity?: Readonly<Record<string, string>> };
}

const NODE: Resource<Node> = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', scope: 'Cluster' };

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

test('a stale status PUT conflicts, and the status writer computes again', async () => {
  const made = await client.create(NODE, { metadata: { name: 'n1' } });
  const count = (node: Node): number => Number(node.status?.capacity?.['cpu'] ?? '0');
  const next = (node: Node): NonNullable<Node['status']> => ({
    ...node.status,
    capacity: { cpu: `${count(node) + 1}` },
  });
  await client.replaceStatus(NODE, { ...made, status: next(made) });
  assert.equal(isConflict(await failureOf(client.replaceStatus(NODE, { ...made, status: next(made) }))), true);
  const writer = statusWriter({ client, resource: NODE });
  await Promise.all(Array.from({ length: 4 }, () => writer.write({ name: 'n1' }, next, { current: made })));
  const now = await client.get(NODE, { name: 'n1' });
  assert.equal(count(now), 5);
  assert.equal((await writer.write({ name: 'n1' }, (node) => ({ ...node.status }))).written, false);
});

test('another user is refused by name', async () => {
  const kubeconfig = sandbox.kubeconfigFor({ user: 'nobody' });
  await using other = createClient(await loadKubeconfig({ kubeconfig }));
  const refused = await failureOf(other.get(CONFIG_MAP, { namespace, name: 'x' }));
  assert.equal(refused.code, 'Forbidden', refused.message);
});
