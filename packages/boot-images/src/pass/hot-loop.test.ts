import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '@drydock/api';
import {
  computed,
  type FakeCluster,
  fakeCluster,
  machineSet,
  managed,
  newRelease,
  published,
  stream,
} from '../testing/fake-cluster.ts';
import { createHotLoop } from './hot-loop.ts';
import { runPass } from './pass.ts';
import { createPassState } from './pass-state.ts';

/** Another actor puts the old image back after each of three moves. */
async function fought(): Promise<FakeCluster> {
  const c = fakeCluster();
  for (let i = 0; i < 3; i++) {
    await c.pass();
    assert.equal(c.template('wk-a'), published);
    c.edit.set('wk-a', () => machineSet('wk-a'));
  }
  c.store.calls.length = 0;
  return c;
}

test('BI-V61 two moves to one value are no hot loop', () => {
  const hotLoop = createHotLoop();
  for (let i = 0; i < 2; i++) hotLoop.record('wk-a', 'x');
  assert.equal(hotLoop.exhausted('wk-a', 'x'), false);
});

test('BI-V62 moves to ever new values are no hot loop', () => {
  const hotLoop = createHotLoop();
  for (const value of ['x', 'x-1', 'x-1-1', 'x-1-1-1']) {
    assert.equal(hotLoop.exhausted('wk-a', value), false);
    hotLoop.record('wk-a', value);
  }
  assert.equal(hotLoop.exhausted('wk-a', 'x-1-1-1'), false);
});

test('BI-V66 a new process starts without a memory of it', async () => {
  const c = await fought();
  await runPass(c.ports, createPassState(new Date(c.clock)), { reason: 'Started', touched: 'all' });
  assert.equal(c.template('wk-a'), published);
});

test('BI-V67 pointer mode: the value is the release: three new templates of it, then the fourth is refused', async () => {
  const c = fakeCluster();
  for (let i = 0; i < 3; i++) {
    await c.pass();
    c.store.templates.delete(published);
    c.edit.set('wk-a', () => machineSet('wk-a'));
  }
  assert.equal(c.store.uploads, 3);
  await c.pass();
  assert.equal(c.store.uploads, 3);
  assert.match(c.condition('Degraded')?.message ?? '', /hot loop detected/);
});

test('BI-V64 a new release goes through after a refusal, and is counted from one', async () => {
  const c = await fought();
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
  const next = '9.8.20260901-0';
  c.client.put(ConfigMap, {
    metadata: { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' },
    data: { stream: stream.replaceAll(newRelease, next) },
  });
  for (let i = 0; i < 3; i++) {
    await c.pass();
    assert.equal(c.template('wk-a'), `${computed}-${next}-0123abcd`);
    c.edit.set('wk-a', () => machineSet('wk-a'));
  }
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
});

test('a hot loop names who reverts the image, where the server tells', async () => {
  const c = await fought();
  c.state.foreign.set('ms/wk-a', 'argocd-controller');
  await c.pass();
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'failed');
  assert.match(outcome.nextStep ?? '', /stop argocd-controller from setting the image of machineset wk-a/);
});

test('BI-V63 the fourth move to one release is refused before the vCenter is touched; opting out and in again resets', async () => {
  const c = await fought();
  await c.pass();
  assert.match(
    c.condition('Degraded')?.message ?? '',
    /error syncing MAPI MachineSet wk-a: refusing to reconcile machineset wk-a, hot loop detected\. Please opt-out/,
  );
  assert.ok(c.store.calls.every((call) => call.startsWith('inspect') || call.startsWith('collect')));
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'failed' && outcome.blocked);
  const managers = (mode: string): void =>
    c.edit.mc((mc) => ({
      ...mc,
      status: { ...mc.status, managedBootImagesStatus: { machineManagers: managed(mode) } },
    }));
  managers('None');
  await c.pass();
  managers('All');
  await c.pass();
  assert.equal(c.template('wk-a'), published);
});
