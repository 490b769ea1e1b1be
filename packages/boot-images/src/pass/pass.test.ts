import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeCluster, machineSet, newRelease, oldRelease, published } from '../testing/fake-cluster.ts';

const patches = (writes: readonly string[]): readonly string[] => writes.filter((w) => w.startsWith('patch '));

test('a new release is published and the set is pointed at it by one guarded patch of one leaf', async () => {
  const c = fakeCluster();
  await c.pass();
  assert.equal(c.template('wk-a'), published);
  assert.deepEqual(patches(c.client.writes), ['patch machinesets openshift-machine-api/wk-a']);
  const story = c.events.map((e) => e.split(' ')[1]);
  assert.deepEqual(story, ['Planned', 'DownloadVerified', 'UploadStarted', 'Imported', 'Switched', 'Retained']);
  assert.equal(c.condition('Progressing')?.status, 'False');
  assert.equal(c.condition('Degraded')?.status, 'False');
  assert.deepEqual(c.last('wk-a'), {
    kind: 'current',
    current: newRelease,
    target: newRelease,
    template: { server: 'vc1', name: published, release: newRelease },
    switchedFrom: oldRelease,
  });
});

test('BI-V157 two sets of one failure domain cost one import', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a'), machineSet('wk-b')] });
  await c.pass();
  assert.equal(c.store.uploads, 1);
  assert.deepEqual([c.template('wk-a'), c.template('wk-b')], [published, published]);
});

test('a concurrent change of the image wins: the guard fails and nothing is overwritten', async () => {
  const c = fakeCluster();
  c.store.onPublish = () => c.edit.set('wk-a', () => machineSet('wk-a', { template: 'by-hand' }));
  await c.pass();
  assert.equal(c.template('wk-a'), 'by-hand');
  assert.match(c.condition('Degraded')?.message ?? '', /unable to patch new machineset: /);
});
