import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BootImagePolicySpec } from '@drydock/api';
import { keyOf } from '@drydock/kube';
import { until } from '@drydock/kube/testing';
import { awsDeployment, awsTemplate, type CanaryScene, canaryScene } from '../testing/capi-canary.ts';
import { saidOfDeployment } from '../testing/capi-role.ts';
import { capiKind, capiObject, templateRef } from '../testing/capi-world.ts';
import { type FakeStore, fakeStore } from '../testing/fake-store.ts';

test('OWN-18 the clock on the wall jumps an hour while a canary of Cluster API boots: it passes', async () => {
  let ahead = 0;
  await using world = await canaryScene([awsTemplate('a'), awsDeployment('a')], {
    now: () => new Date(Date.now() + ahead),
  });
  await until('a canary is made', () => world.all('AWSMachine').length > 0);
  ahead = 3_600_000;
  await world.said('a', 'has the image', ({ phase, current }) => phase === 'Current' && current === 'new');
  assert.deepEqual([world.made(), saidOfDeployment(world.cluster, 'a')?.canary?.verdict], [1, 'Passed']);
});

interface Away extends AsyncDisposable {
  readonly world: CanaryScene;
  readonly store: FakeStore;
  minutes: number;
  /** What is said of a machine has its set looked at. */
  readonly looked: () => Promise<unknown>;
}

const ova = 'http://images/x.ova';

/** A canary that runs on vSphere, and never becomes a node. */
async function onVSphere(): Promise<Away> {
  const store = fakeStore({ old: { version: 'v1.33.0' } });
  const place = { server: 'vc1', datacenter: 'dc', datastore: 'ds', resourcePool: '/dc/host/c/Resources' };
  const spec = { ...place, network: { devices: [{ networkName: 'vm' }] }, template: 'old' };
  const rig = { minutes: 0 };
  const world = await canaryScene(
    [
      capiObject('Cluster', 'c1', { infrastructureRef: templateRef('c1', 'VSphereCluster') }),
      capiObject('VSphereCluster', 'c1', { server: 'vc1', identityRef: { kind: 'Secret', name: 'login' } }),
      capiObject('VSphereMachineTemplate', 'a', { template: { spec } }),
      awsDeployment('a', { infrastructureRef: templateRef('a'), failureDomain: undefined }),
    ],
    { fate: 'quota', image: ova, elapsed: () => rig.minutes * 60_000, store },
  );
  await until('a canary is made', () => world.all('VSphereMachine').length > 0);
  await world.actor.round();
  let rounds = 0;
  return Object.assign(rig, {
    ...{ world, store },
    looked: () => {
      rounds += 1;
      const [machine] = world.all('Machine');
      const metadata = { annotations: { round: String(rounds) } };
      return world.cluster
        .client()
        .mergePatch(capiKind('Machine'), keyOf(machine ?? assert.fail('it is there')), { metadata } as never);
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  });
}

const away = (): Error => Object.assign(new Error('connect ECONNREFUSED'), { code: 'UNREACHABLE', retriable: true });
const rotated = ({ world }: Away): readonly string[] =>
  world.role.writes.filter((write) => /machinedeployments|machinetemplates/.test(write));

test('OWN-18 a canary of Cluster API whose vCenter goes away: its time ends it all the same, no second one is made, and it goes; once vCenter is back nothing is pointed at its image', async () => {
  await using rig = await onVSphere();
  const { world, store, looked } = rig;
  const said = () => saidOfDeployment(world.cluster, 'a');
  store.failInspect = away();
  rig.minutes = 15;
  await looked();
  await until('vcenter is away', () => said()?.reason === 'Unreachable');
  assert.deepEqual([world.all('Machine').length, said()?.canary?.verdict], [1, undefined]);
  rig.minutes = 21;
  await looked();
  await until('it failed', () => said()?.reason === 'CanaryFailed');
  assert.match(
    said()?.message ?? '',
    /was no node that is ready after 20 min; seen last: .*; its set could not be looked at meanwhile: .*ECONNREFUSED/,
  );
  // Its provider cannot make an end of it, and nobody makes another one.
  const going = world.all('Machine').map(({ metadata }) => metadata.deletionTimestamp !== undefined);
  assert.deepEqual([going, world.made()], [[true], 1]);
  store.failInspect = undefined;
  rig.minutes = 300;
  await looked();
  await until('the machine goes', async () => {
    await world.actor.round();
    return world.all('Machine').length === 0;
  });
  world.policy(2, ova, { canary: { mode: 'Machine', timeout: '25m' } } as BootImagePolicySpec);
  await until('another policy tries it again', () => world.made() === 2);
  assert.deepEqual(rotated(rig), []);
});

test('OWN-18 a canary of Cluster API that nobody wants any more goes also while its vCenter is away', async () => {
  await using rig = await onVSphere();
  const { world, store } = rig;
  store.failInspect = away();
  rig.minutes = 1;
  world.policy(2, ova, { canary: { mode: 'None' } } as BootImagePolicySpec);
  await until('the machine goes', async () => {
    await world.actor.round();
    return world.all('Machine').length === 0;
  });
  assert.deepEqual([world.made(), rotated(rig)], [1, []]);
});

test('OWN-18 a canary of Cluster API goes also while its vCenter is away when its policy wants another one by now', async () => {
  await using rig = await onVSphere();
  const { world, store } = rig;
  store.failInspect = away();
  rig.minutes = 1;
  world.policy(2, ova, { canary: { mode: 'Machine', timeout: '25m' } } as BootImagePolicySpec);
  await until('the machine goes', async () => {
    await world.actor.round();
    return world.all('Machine').length === 0;
  });
  assert.deepEqual([world.made(), rotated(rig)], [1, []]);
});

test('KEEP-8a an image of Cluster API that keeps changing makes two machines, and the one that stays is tried and rolled out', async () => {
  let minutes = 0;
  await using world = await canaryScene([awsTemplate('a'), awsDeployment('a')], {
    fate: () => (minutes === 0 ? 'no-node' : 'boots'),
    elapsed: () => minutes * 60_000,
  });
  for (let flip = 1; flip <= 8; flip += 1) {
    await world.said('a', 'its canary is waited for', ({ phase }) => phase === 'Publishing');
    world.policy(2 * flip, 'old');
    await world.said('a', 'it has what it had', ({ phase }) => phase === 'Current');
    await until('nobody waits for a machine', () => world.actor.round().then(() => world.all('Machine').length === 0));
    world.policy(2 * flip + 1, 'new');
  }
  await world.said('a', 'the image has to stay', ({ reason }) => reason === 'CanarySettling');
  assert.match(saidOfDeployment(world.cluster, 'a')?.message ?? '', /wanted for 5 min without a change, because 2 can/);
  assert.equal(world.made(), 2);
  // Time in which nobody wants it is no time in which it stayed.
  const paused = (is: boolean): void =>
    world.cluster.put(
      capiKind('Cluster'),
      { namespace: 'ns', name: 'c1' },
      capiObject('Cluster', 'c1', { paused: is }),
    );
  paused(true);
  await world.said('a', 'it is paused', ({ reason }) => reason === 'Paused');
  minutes = 5;
  paused(false);
  await world.said('a', 'the image has to stay', ({ phase }) => phase === 'Publishing');
  assert.deepEqual([saidOfDeployment(world.cluster, 'a')?.reason, world.made()], ['CanarySettling', 2]);
  minutes = 10;
  const looked = { metadata: { annotations: { looked: 'yes' } } };
  await world.cluster
    .client()
    .mergePatch(capiKind('MachineDeployment'), { namespace: 'ns', name: 'a' }, looked as never);
  await world.said('a', 'has the image', ({ phase, current }) => phase === 'Current' && current === 'new');
  assert.deepEqual([world.made(), saidOfDeployment(world.cluster, 'a')?.canary?.verdict], [3, 'Passed']);
});
