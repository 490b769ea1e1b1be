import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterVersion } from '@drydock/api';
import { type FakeCluster, fakeCluster, machineSet, managed } from '../testing/fake-cluster.ts';

const optedOut = { annotations: { 'drydock.dev/boot-image': 'Disabled' } };

/** Two machine sets whose patches the API server refuses, and a cluster upgrade that begins after both have failed. */
async function failedBeforeUpgrade(): Promise<FakeCluster> {
  const c = fakeCluster({
    sets: ['wk-a', 'wk-b'].map((name) => machineSet(name, {}, { labels: { [name]: '' } })),
    managers: managed('Partial', { matchExpressions: [{ key: 'out', operator: 'DoesNotExist' }] }),
  });
  c.client.refuse = (write) => (write.startsWith('patch machinesets') ? new Error('no') : undefined);
  await c.pass();
  for (const set of ['wk-a', 'wk-b']) assert.match(degraded(c), new RegExp(`MAPI MachineSet ${set}: `));
  c.client.put(ClusterVersion, {
    metadata: { name: 'version' },
    status: { history: [{ state: 'Partial', version: '4.23.0' }] },
  });
  return c;
}

const degraded = (c: FakeCluster): string => {
  const { status, message } = c.condition('Degraded') ?? {};
  return status === 'True' ? (message ?? '') : '';
};

for (const [how, metadata] of [
  ['by annotation', optedOut],
  ['by the selection', { labels: { out: '' } }],
] as const)
  test(`KEEP-C: a machine set that is opted out ${how} during a cluster upgrade clears its own failure and no other`, async () => {
    const c = await failedBeforeUpgrade();
    c.edit.set('wk-a', () => machineSet('wk-a', {}, metadata));
    await c.pass();
    assert.match(degraded(c), /MAPI MachineSet wk-b: /);
    assert.doesNotMatch(degraded(c), /wk-a/);
    assert.equal(c.last('wk-b')?.kind, 'failed', 'its check has not passed');
    c.edit.set('wk-b', () => machineSet('wk-b', {}, metadata));
    await c.pass();
    assert.equal(degraded(c), '', 'or the upgrade would wait for it for ever');
  });

test('KEEP-C: while a cluster is upgraded nothing is written to machine sets, and what failed before is still reported', async () => {
  const c = await failedBeforeUpgrade();
  c.client.refuse = undefined;
  c.client.writes.length = 0;
  await c.pass();
  assert.deepEqual(c.client.writes, []);
  for (const set of ['wk-a', 'wk-b']) assert.match(degraded(c), new RegExp(`MAPI MachineSet ${set}: `));
});
