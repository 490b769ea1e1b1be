import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage, ClusterVersion, ConfigMap, ControlPlaneMachineSet, MachineSet } from '@drydock/api';
import { type KubeObject, keyOf } from '@drydock/kube';
import { platformWith } from '../gcp/platform.ts';
import { noAttempts } from '../image-facts.ts';
import { imageOf } from '../status/boot-image-store.ts';
import {
  bothManaged,
  computed,
  controlPlane,
  type FakeCluster,
  fakeCluster,
  gcpImage,
  gcpInfrastructure,
  gcpSet,
  gcpStream,
  machineSet,
  managed,
  newRelease,
  oldRelease,
  planeKey,
  published,
  rhcosCloud,
  stream,
} from '../testing/index.ts';
import { createHotLoop } from './hot-loop.ts';
import { runPass } from './pass.ts';
import { createPassState, type PassState } from './pass-state.ts';

const wkA = machineSet('wk-a');

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
  for (let i = 0; i < 2; i++) hotLoop.record(wkA, 'x');
  assert.equal(hotLoop.refuses(wkA, 'x'), false);
});

test('BI-V62 moves to ever new values are no hot loop', () => {
  const hotLoop = createHotLoop();
  for (const value of ['x', 'x-1', 'x-1-1', 'x-1-1-1']) {
    assert.equal(hotLoop.refuses(wkA, value), false);
    hotLoop.record(wkA, value);
  }
  assert.equal(hotLoop.refuses(wkA, 'x-1-1-1'), false);
  assert.deepEqual(hotLoop.of(wkA), { target: 'x-1-1-1', count: 1 });
});

/** What the next process knows: what was said of the set last. */
const successor = (c: FakeCluster): PassState =>
  createPassState(new Date(c.clock), ({ metadata: { name } }) => {
    const { attempts } = c.last(name) ?? {};
    return attempts?.count === 0 ? undefined : attempts;
  });

test('BI-V66 [N] a process that starts anew goes on with the count, and with the name of who takes the image back', async () => {
  const c = await fought();
  Object.assign(c.ports, { foreignWriter: async () => 'argocd-controller' });
  c.state.foreign.add('ms/wk-a');
  await c.pass();
  assert.deepEqual(c.last('wk-a')?.attempts, { target: newRelease, count: 4, by: 'argocd-controller' });
  await runPass(c.ports, successor(c), { reason: 'Started', touched: 'all' });
  assert.equal(c.template('wk-a'), computed);
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'failed' && outcome.reason === 'HotLoop');
  assert.match(outcome.nextStep ?? '', /stop argocd-controller from setting the image/);
});

test('a fight that goes on across restarts is refused at the fourth move, whoever makes it', async () => {
  const c = fakeCluster();
  for (let i = 0; i < 3; i++) {
    await runPass(c.ports, successor(c), { reason: 'Started', touched: 'all' });
    assert.equal(c.template('wk-a'), published);
    c.edit.set('wk-a', () => machineSet('wk-a'));
  }
  await runPass(c.ports, successor(c), { reason: 'Started', touched: 'all' });
  assert.equal(c.template('wk-a'), computed);
  const control = createPassState(new Date(c.clock));
  await runPass(c.ports, control, { reason: 'Started', touched: 'all' });
  assert.equal(c.template('wk-a'), published, 'negative control: without the record it goes on for ever');
});

test('KEEP-C: a pinned machine set whose image somebody else takes back is moved three times, however often the operator restarts', async () => {
  const c = fakeCluster({
    templates: { [computed]: { version: oldRelease }, [published]: { version: newRelease, ours: true } },
  });
  const pin = { release: newRelease, image: published, by: 'alice' };
  c.client.put(BootImage, { metadata: keyOf(imageOf(wkA)), spec: { pin } });
  for (let i = 0; i < 3; i++) {
    await runPass(c.ports, successor(c), { reason: 'Started', touched: 'all' });
    assert.equal(c.template('wk-a'), published);
    c.edit.set('wk-a', () => machineSet('wk-a'));
  }
  await runPass(c.ports, successor(c), { reason: 'Started', touched: 'all' });
  const outcome = c.last('wk-a');
  assert.deepEqual([outcome?.kind === 'failed' && outcome.reason, c.template('wk-a')], ['HotLoop', computed]);
});

test('a hot loop ends by itself when whoever took the image back agrees: the set is current, and counted from zero', async () => {
  const c = await fought();
  await c.pass();
  assert.equal(c.condition('Degraded')?.status, 'True');
  c.edit.set('wk-a', () => machineSet('wk-a', { template: published }));
  await c.pass({ touched: new Set(['ms/wk-a']) });
  assert.equal(c.condition('Degraded')?.status, 'False');
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'current' && outcome.attempts?.count === 0);
  c.edit.set('wk-a', () => machineSet('wk-a'));
  await c.pass();
  assert.equal(c.template('wk-a'), published, 'a change of another day is another matter');
});

test('three moves that stay are no agreement: the fourth is refused although the image was there in between', async () => {
  const c = fakeCluster();
  for (let i = 0; i < 3; i++) {
    await c.pass();
    await c.pass();
    c.edit.set('wk-a', () => machineSet('wk-a'));
  }
  await c.pass();
  assert.equal(c.template('wk-a'), computed);
});

test('a request to leave the set alone ends it, too', async () => {
  const c = await fought();
  await c.pass();
  c.edit.set('wk-a', () => machineSet('wk-a', {}, { annotations: { 'drydock.dev/boot-image': 'Disabled' } }));
  await c.pass();
  assert.deepEqual([c.condition('Degraded')?.status, c.last('wk-a')?.attempts?.count], ['False', 0]);
  c.edit.set('wk-a', () => machineSet('wk-a'));
  await c.pass();
  assert.equal(c.template('wk-a'), published);
});

test('a new target ends it before the move to that succeeds: neither the count nor the blame of the old one is told any more', async () => {
  const c = await fought();
  Object.assign(c.ports, { foreignWriter: async () => 'argocd-controller' });
  c.state.foreign.add('ms/wk-a');
  await c.pass();
  assert.equal(c.last('wk-a')?.attempts?.count, 4);
  c.client.put(ConfigMap, {
    metadata: { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' },
    data: { stream: stream.replaceAll(newRelease, '9.8.20260901-0') },
  });
  c.client.refuse = (write) => (write.startsWith('patch machinesets') ? new Error('no') : undefined);
  await c.pass();
  assert.deepEqual(c.last('wk-a')?.attempts, noAttempts);
  c.client.refuse = undefined;
  await c.pass();
  assert.deepEqual(c.last('wk-a')?.attempts, { target: '9.8.20260901-0', count: 1 });
});

test('a new target that is known not to be there ends it as well: a set that is blocked fights with nobody', async () => {
  let there = true;
  const unusable = { kind: 'unusable', reason: 'ImageNotPublished', message: 'no image', nextStep: 'wait' } as const;
  const look = { look: async () => (there ? ({ kind: 'available' } as const) : unusable) };
  const set = gcpSet('wk-a');
  const c = fakeCluster({
    ...{ platform: platformWith(look), infrastructure: gcpInfrastructure, stream: gcpStream, sets: [set] },
  });
  for (let i = 0; i < 4; i++) {
    await c.pass();
    c.client.put(MachineSet, set);
  }
  assert.equal(c.last('wk-a')?.attempts?.count, 4);
  there = false;
  await c.pass();
  assert.equal(c.last('wk-a')?.attempts?.count, 4, 'the same target is the same fight');
  c.client.put(ConfigMap, {
    metadata: { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' },
    data: { stream: gcpStream.replaceAll(gcpImage, `${gcpImage}-next`) },
  });
  await c.pass();
  const outcome = c.last('wk-a');
  assert.ok(outcome?.kind === 'failed' && outcome.reason === 'ImageNotPublished');
  assert.deepEqual(outcome.attempts, noAttempts);
});

for (const [what, out, back] of [
  [
    'by annotation',
    (c: FakeCluster) =>
      c.edit.set('wk-a', () => machineSet('wk-a', {}, { annotations: { 'drydock.dev/boot-image': 'Disabled' } })),
    (c: FakeCluster) => c.edit.set('wk-a', () => machineSet('wk-a')),
  ],
  ['by mode', (c: FakeCluster) => manage(c, 'None'), (c: FakeCluster) => manage(c, 'All')],
] as const)
  test(`a set that is opted out ${what} and in again while an upgrade runs starts at zero, also in a process that was started in between`, async () => {
    const c = await fought();
    await c.pass();
    const upgrade = (state: string): void =>
      c.client.put(ClusterVersion, {
        metadata: { name: 'version' },
        status: { history: [{ state, version: '4.23.0' }] },
      } as ClusterVersion);
    upgrade('Partial');
    out(c);
    const next = successor(c);
    const pass = () => runPass(c.ports, next, { reason: 'Started', touched: 'all' });
    await pass();
    back(c);
    await pass();
    upgrade('Completed');
    await pass();
    assert.equal(c.template('wk-a'), published);
  });

function manage(c: FakeCluster, mode: string): void {
  c.edit.mc((mc) => ({
    ...mc,
    status: { ...mc.status, managedBootImagesStatus: { machineManagers: managed(mode) } },
  }));
}

test('a move that the server refuses is not counted', async () => {
  const c = fakeCluster();
  c.client.refuse = (write) => (write.startsWith('patch machinesets') ? new Error('no') : undefined);
  for (let i = 0; i < 5; i++) await c.pass();
  assert.deepEqual(c.last('wk-a')?.attempts, noAttempts);
  c.client.refuse = undefined;
  await c.pass();
  assert.equal(c.template('wk-a'), published);
});

for (const [kind, key, resource] of [
  ['a set of workers', { namespace: 'openshift-machine-api', name: 'wk-a' }, MachineSet],
  ['a control plane', planeKey, ControlPlaneMachineSet],
] as const) {
  test(`BI-V67 elsewhere the value is the image itself: ${kind} is moved to it three times, and not a fourth time`, async () => {
    const look = { look: async () => ({ kind: 'available' }) as const };
    const c = fakeCluster({
      ...{ platform: platformWith(look), infrastructure: gcpInfrastructure, stream: gcpStream },
      ...{ sets: [gcpSet('wk-a')], managers: bothManaged('All') },
    });
    c.client.put(ControlPlaneMachineSet, controlPlane(gcpSet('like')));
    const before = c.client.peek<KubeObject>(resource, key);
    assert.ok(before);
    const patches = (): number =>
      c.client.writes.filter((write) => write === `patch ${resource.plural} ${key.namespace}/${key.name}`).length;
    for (let i = 0; i < 5; i++) {
      await c.pass();
      c.client.put<KubeObject>(resource, before);
    }
    assert.equal(patches(), 3);
    const outcome = c.last(key.name);
    assert.ok(outcome?.kind === 'failed' && outcome.reason === 'HotLoop');
    assert.deepEqual(outcome.attempts, { target: rhcosCloud(gcpImage), count: 4 });
    assert.match(
      c.condition('Degraded')?.message ?? '',
      kind === 'a control plane'
        ? /error syncing ControlPlaneMachineSet cluster: refusing to reconcile ControlPlaneMachineSet cluster, hot loop detected/
        : /error syncing MAPI MachineSet wk-a: refusing to reconcile machineset wk-a, hot loop detected/,
    );
  });
}

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
  Object.assign(c.ports, { foreignWriter: async () => 'argocd-controller' });
  c.state.foreign.add('ms/wk-a');
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
  manage(c, 'None');
  await c.pass();
  manage(c, 'All');
  await c.pass();
  assert.equal(c.template('wk-a'), published);
});
