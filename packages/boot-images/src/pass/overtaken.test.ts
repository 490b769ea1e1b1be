import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterVersion, Deployment } from '@drydock/api';
import { upstreamController } from '../decide/coexistence.ts';
import { computed, type FakeCluster, fakeCluster, machineSet, managed, published } from '../testing/fake-cluster.ts';

/** What a person or another controller does while an image is being made. */
const meanwhile: readonly (readonly [what: string, act: (c: FakeCluster) => void, reason: string])[] = [
  [
    'the label by which it was selected is taken off',
    (c) => c.edit.set('wk-a', (set) => ({ ...set, metadata: { ...set.metadata, labels: {} } })),
    'NotSelected',
  ],
  [
    'it gets an owner',
    (c) => {
      const ownerReferences = [{ apiVersion: 'v1', kind: 'MachinePool', name: 'p', uid: 'u' }];
      c.edit.set('wk-a', (set) => ({ ...set, metadata: { ...set.metadata, ownerReferences } }));
    },
    'Owned',
  ],
  ['it is deleted', (c) => c.client.objects.delete('machinesets openshift-machine-api/wk-a'), 'Deleting'],
  [
    'an upgrade of the cluster begins',
    (c) =>
      c.client.put(ClusterVersion, {
        metadata: { name: 'version' },
        status: { history: [{ state: 'Partial', version: '4.23.0' }] },
      }),
    'ClusterNotStable',
  ],
  [
    'the upstream controller comes',
    (c) => c.client.put(Deployment, { metadata: upstreamController } as Deployment),
    'LeftToUpstream',
  ],
];

for (const [what, act, reason] of meanwhile) {
  test(`a set is left alone when ${what} while its image is made`, async () => {
    const c = fakeCluster({
      managers: managed('Partial', { matchLabels: { update: 'true' } }),
      sets: [machineSet('wk-a', {}, { labels: { update: 'true' } })],
    });
    c.store.onPublish = () => act(c);
    await c.pass();
    assert.deepEqual(c.client.writes, []);
    const told = c.last('wk-a');
    assert.equal(told !== undefined && 'reason' in told ? told.reason : told?.kind, reason);
    if (reason === 'Deleting') return;
    assert.ok(c.store.templates.has(published), 'the image is there for the next time');
    assert.equal(c.template('wk-a'), computed);
  });
}

test('a set that was selected all along is switched', async () => {
  const c = fakeCluster();
  c.store.onPublish = () => c.edit.set('wk-a', (set) => ({ ...set, spec: { ...set.spec, replicas: 9 } }));
  await c.pass();
  assert.equal(c.template('wk-a'), published);
});
