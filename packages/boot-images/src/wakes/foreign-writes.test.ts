import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../observe/json.ts';
import { fakeClient } from '../testing/fake-client.ts';
import { computed, fakeCluster, machineSet, newRelease, published } from '../testing/fake-cluster.ts';
import { changedImage, imageWriter } from './foreign-writes.ts';

interface Owner {
  readonly manager: string;
  readonly time?: string;
  readonly leaf?: string;
}

function writer(...owners: readonly Owner[]): Promise<string | undefined> {
  const client = fakeClient();
  const managedFields = owners.map(({ leaf = 'template', ...owner }) => ({
    ...owner,
    fieldsV1: {
      'f:spec': { 'f:template': { 'f:spec': { 'f:providerSpec': { 'f:value': { '.': {}, [`f:${leaf}`]: {} } } } } },
    },
  }));
  client.answer = { metadata: { managedFields } };
  return imageWriter(client, machineSet('wk-a'), ['template']);
}

test('the writer of an image is the manager that owns the leaf, the latest of several', async () => {
  assert.equal(await writer({ manager: 'argocd-controller' }), 'argocd-controller');
  const several = [
    { manager: 'kubectl-edit', time: '2026-08-02T00:00:00Z' },
    { manager: 'hive', time: '2026-08-03T00:00:00Z' },
    { manager: 'scaler', time: '2026-08-04T00:00:00Z', leaf: 'numCPUs' },
  ];
  assert.equal(await writer(...several), 'hive');
  assert.equal(await writer(), undefined);
  // Of an image that is an object both own a part, and times are told in seconds.
  const both = [{ manager: 'argocd-controller' }, { manager: 'drydock' }];
  assert.equal(await writer(...both.map((one) => ({ ...one, time: '2026-08-02T00:00:00Z' }))), 'argocd-controller');
  assert.equal(await writer({ manager: 'drydock' }), 'drydock');
  const client = fakeClient();
  assert.equal(await imageWriter(client, machineSet('wk-a'), ['template']), undefined);
});

test('only a change of the image of a set that was there before counts', () => {
  const at = (template: string): ReturnType<typeof machineSet> => machineSet('wk-a', { template });
  const leaf = { imageOf: ({ template }: JsonObject) => (typeof template === 'string' ? template : undefined) };
  assert.equal(changedImage({ old: at('a'), now: at('b') }, leaf), 'b');
  assert.equal(changedImage({ old: at('a'), now: machineSet('wk-a', { template: 'a', numCPUs: 4 }) }, leaf), undefined);
  assert.equal(changedImage({ now: at('a') }, leaf), undefined);
  assert.equal(changedImage({ old: at('a') }, leaf), undefined);
});

test('who changed an image is asked once, when the set is planned', async () => {
  const c = fakeCluster();
  await c.pass();
  c.edit.set('wk-a', () => machineSet('wk-a', { template: computed }));
  c.state.foreign.add('ms/wk-a');
  await c.pass();
  await c.pass();
  assert.deepEqual(c.asked, ['wk-a']);
  const attempts = { target: newRelease, count: 2, by: 'somebody' };
  assert.deepEqual(c.last('wk-a')?.attempts, attempts);
  assert.equal(c.template('wk-a'), published);
});
