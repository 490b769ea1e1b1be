import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import type { KubeObject, Resource } from '@drydock/kube';
import { applyOn, configMapOf, type Loose, manifestsOf, wishOf } from '../testing/apply-cluster.ts';
import { memoryApplyCluster } from '../testing/memory-apply.ts';
import { configMapInventory } from './inventory/config-maps.ts';
import { findOrphans, removeOrphan } from './orphans.ts';
import { planPayload } from './plan.ts';

const ROLE: Resource<KubeObject> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  scope: 'Cluster',
};
const signal = new AbortController().signal;

/** A ClusterRole, which is in no namespace, whatever a manifest says. */
const role = (release: string, metadata: Loose = {}): Loose => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'shop', labels: { release }, ...metadata },
  rules: [],
});

function world() {
  const cluster = memoryApplyCluster([ROLE]);
  const inventory = configMapInventory({ client: cluster.client('manager'), namespace: 'default' });
  const apply = (owner: string, version: string, ...objects: readonly Loose[]) =>
    applyOn(cluster, wishOf(manifestsOf(...objects), { owner, version }));
  return { cluster, inventory, apply, peek: () => cluster.cluster.peek(ROLE, { name: 'shop' }) };
}

test('SAFE-9 what a release brings is no orphan of an earlier one that spelled it otherwise, and goes with the release that has it under no name', async () => {
  const { cluster, inventory, apply, peek } = world();
  const owner = { name: 'Payload shop' };
  await apply(owner.name, '1.0.0', role('1.0.0', { namespace: 'default' }));
  for (const version of ['1.1.0', '1.2.0']) await apply(owner.name, version, role(version));
  const client = cluster.client('manager');
  const left = async (...objects: readonly Loose[]): Promise<readonly string[]> => {
    const ports = { client, inventory: await inventory.open(owner, signal), owner, signal };
    const found = await findOrphans(manifestsOf(...objects), ports);
    for (const one of found) assert.ok(await removeOrphan(one, ports));
    await ports.inventory.flush();
    return found.map(({ id, made }) => `${id.kind} ${id.name} ${made}`);
  };
  assert.deepEqual(await left(role('1.1.0')), []);
  assert.notEqual(peek(), undefined);
  assert.deepEqual(await left(), ['ClusterRole shop true']);
  assert.equal(peek(), undefined);
});

test('SAFE-9 an object that one owner has is not had by another one who spells it otherwise, neither to change nor to delete it', async () => {
  const { cluster, inventory, apply, peek } = world();
  await apply('Payload first', '1.0.0', role('1.0.0'));
  for (const metadata of [
    { namespace: 'default' },
    { namespace: 'default', annotations: { 'release.openshift.io/delete': 'true' } },
  ]) {
    const manifests = manifestsOf(role('6.6.6', metadata));
    const wish = wishOf(manifests, { owner: 'Payload second' });
    const plan = await planPayload(wish, { client: cluster.client('manager'), inventory, signal });
    assert.deepEqual(
      plan.phases[0]?.nodes[0]?.objects.map(({ action, why }) => [action, why]),
      [['refuse', 'Payload first has it']],
    );
    const { errors } = await applyOn(cluster, wish);
    assert.deepEqual(
      errors.map(({ reason }) => reason),
      ['ResourceClaimed'],
    );
    assert.equal(peek()?.metadata.labels?.['release'], '1.0.0');
  }
  const again = await apply('Payload first', '1.1.0', role('1.1.0'));
  assert.deepEqual([again.complete, peek()?.metadata.labels?.['release']], [true, '1.1.0'], 'control');
});

test('SAFE-9 what an owner has left to others is theirs once they brought it, also for a release that comes again', async () => {
  const { cluster, apply } = world();
  const shared = (by: string): Loose => configMapOf('default', 'shared', { by });
  const own = configMapOf('default', 'own', {});
  const by = () => cluster.cluster.peek(ConfigMap, { namespace: 'default', name: 'shared' })?.data?.['by'];
  await apply('Payload first', '1.0.0', own, shared('first'));
  await apply('Payload first', '1.1.0', own);
  assert.ok((await apply('Payload second', '1.0.0', shared('second'))).complete);
  const { errors } = await apply('Payload first', '1.0.0', own, shared('first'));
  assert.deepEqual([errors.map(({ reason }) => reason), by()], [['ResourceClaimed'], 'second']);
  assert.ok((await apply('Payload second', '1.0.0', shared('third'))).complete);
  assert.equal(by(), 'third');
});

test('SAFE-9 what somebody made anew after it was looked at is no orphan, whatever it is called', async () => {
  const { cluster, inventory, apply, peek } = world();
  const owner = { name: 'Payload shop' };
  await apply(owner.name, '1.0.0', role('1.0.0'));
  const client = cluster.client('manager');
  const ports = { client, inventory: await inventory.open(owner, signal), owner, signal };
  const [orphan, ...more] = await findOrphans([], ports);
  assert.ok(orphan !== undefined && more.length === 0);
  await client.delete(ROLE, { name: 'shop' });
  await client.create(ROLE, { metadata: { name: 'shop' } });
  await assert.rejects(removeOrphan(orphan, ports), { code: 'Conflict' });
  assert.notEqual(peek(), undefined);
});
