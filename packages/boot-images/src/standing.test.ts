import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BootImage, type BootImageStatus, ConfigMap, Deployment, type MachineSet } from '@drydock/api';
import { ApiError } from '@drydock/kube';
import { upstreamController } from './decide/coexistence.ts';
import { standings } from './standing.ts';
import { imageOf } from './status/boot-image-store.ts';
import {
  computed,
  type FakeCluster,
  fakeCluster,
  machineSet,
  managed,
  newRelease,
  oldRelease,
  stream,
} from './testing/fake-cluster.ts';

const template = (name: string, release: string): Pick<BootImageStatus, 'template' | 'current'> => ({
  template: { server: 'vc1', name, release },
  current: release,
});
const newer = `${computed}-${newRelease}-0123abcd`;
const wellBefore: BootImageStatus = {
  ...template(newer, newRelease),
  target: newRelease,
  phase: 'Current',
  progress: '-',
  since: '2026-01-01T00:00:00Z',
  revertTo: oldRelease,
  history: [
    { id: 'b', release: newRelease, image: newer, since: '2026-01-01T00:00:00Z', by: 'release', outcome: 'InUse' },
    {
      ...{ id: 'a', release: oldRelease, image: computed, since: '2025-01-01T00:00:00Z', by: 'found' },
      ...{ until: '2026-01-01T00:00:00Z', outcome: 'Replaced' },
    },
  ],
};

function said(status: BootImageStatus, set: MachineSet = machineSet('wk-a')): BootImage {
  return { ...imageOf(set), status };
}

async function stand(c: FakeCluster, images: readonly BootImage[], led: boolean): Promise<readonly BootImageStatus[]> {
  const { world } = c.ports;
  const found = await standings({ world, images, led, now: new Date(c.clock), architecture: 'x86_64' });
  assert.deepEqual(found.unread, []);
  return found.images.map(({ status }) => status ?? {});
}

const row = ({ current, target, phase, progress, revertTo }: BootImageStatus = {}): readonly unknown[] => [
  current,
  target,
  phase,
  progress,
  revertTo,
];

function later(c: FakeCluster, release: string): void {
  c.client.put(ConfigMap, {
    metadata: { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' },
    data: { stream: stream.replaceAll(newRelease, release) },
  });
}

test('TRUTH-1 a release that came after the operator died is the target, and nothing is Current any more', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a', { template: newer })] });
  const images = [said(wellBefore)];
  assert.deepEqual(await stand(c, images, false), [wellBefore], 'nothing has changed: what was said is so');
  later(c, '9.8.20261019-0');
  const [now] = await stand(c, images, false);
  assert.deepEqual(row(now), [newRelease, '9.8.20261019-0', 'Pending', 'nobody leads', oldRelease]);
  assert.deepEqual([now?.nextStep, now?.since], ['drydock operator', undefined]);
  const [soon] = await stand(c, images, true);
  assert.deepEqual(row(soon), [newRelease, '9.8.20261019-0', 'Pending', 'not looked at yet', oldRelease]);
});

test('TRUTH-1 what was said to be moving stands still when nobody leads', async () => {
  const c = fakeCluster();
  const moving = { ...template(computed, oldRelease), target: newRelease, phase: 'Uploading', progress: '41%' };
  assert.equal((await stand(c, [said(moving)], true))[0]?.progress, '41%');
  const [now] = await stand(c, [said(moving)], false);
  assert.deepEqual(row(now), [oldRelease, newRelease, 'Pending', 'nobody leads', undefined]);
  const failed = { ...moving, phase: 'Blocked', progress: 'blocked: NoSpace', reason: 'NoSpace' };
  assert.equal((await stand(c, [said(failed)], false))[0]?.phase, 'Blocked', 'its check has not passed');
});

test('TRUTH-1 an unselected set shows what it points at now, a set that nobody has seen is there', async () => {
  const sets = [machineSet('wk-a', { template: '/dc1/vm/c1/own-image' }), machineSet('wk-b', { template: newer })];
  const c = fakeCluster({ sets, managers: managed('None') });
  const [a, b] = await stand(c, [said(wellBefore)], false);
  assert.deepEqual(row(a), ['own-image', newRelease, 'Skipped', 'skipped: not selected', oldRelease]);
  assert.deepEqual(row(b), [newRelease, newRelease, 'Skipped', 'skipped: not selected', undefined]);
});

test('TRUTH-1 the way back is that of the history, whatever an older operator has written beside it', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a', { template: newer })] });
  const [known] = await stand(c, [said({ ...wellBefore, revertTo: '9.8.20260601-0' })], true);
  assert.equal(known?.revertTo, oldRelease);
  const { history: _, ...unwritten } = wellBefore;
  assert.equal((await stand(c, [said(unwritten)], true))[0]?.revertTo, undefined);
});

test('SAFE-17 where upstream acts every set is left to it, whatever was said before', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a', { template: newer })] });
  c.client.put(Deployment, { metadata: upstreamController } as Deployment);
  const [now] = await stand(c, [said({ ...wellBefore, phase: 'Blocked', reason: 'X' })], false);
  assert.deepEqual([now?.phase, now?.reason, now?.nextStep], ['Skipped', 'LeftToUpstream', undefined]);
  assert.equal(now?.current, newRelease);
});

test('a set that is gone is told as gone; what may not be read leaves the last word of the operator, and is named', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-b', { template: newer })] });
  const [gone] = await stand(c, [said(wellBefore)], true);
  assert.deepEqual([gone?.phase, gone?.progress], ['Skipped', 'skipped: the set is gone']);

  const one = fakeCluster({ sets: [machineSet('wk-a', { template: newer })] });
  const forbidden = (): never => {
    throw new ApiError({ code: 'Forbidden', action: 'list ClusterVersion', said: 'no', next: '' });
  };
  const world = { ...one.ports.world, clusterVersion: forbidden };
  const images = [said(wellBefore)];
  const found = await standings({ world, images, led: true, now: new Date(0), architecture: 'x86_64' });
  assert.deepEqual(found.images[0]?.status, wellBefore);
  assert.match(found.unread.join(), /list ClusterVersion/);
});

test('OWN-18 what many sets cost grows with them: all sets are looked through a fixed number of times', async () => {
  const through = async (count: number): Promise<number> => {
    const c = fakeCluster({ sets: Array.from({ length: count }, (_, index) => machineSet(`wk-${index}`)) });
    let times = 0;
    const world = {
      ...c.ports.world,
      machineSets: () => {
        times += 1;
        return c.ports.world.machineSets();
      },
    };
    const found = await standings({ world, images: [], led: true, now: new Date(c.clock), architecture: 'x86_64' });
    assert.equal(found.images.length, count);
    return times;
  };
  assert.equal(await through(40), await through(20));
});
