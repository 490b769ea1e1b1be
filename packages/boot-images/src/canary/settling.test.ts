import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImagePolicy, ConfigMap, MachineSet } from '@drydock/api';
import { computed, machineSet, newRelease, oldRelease, stream } from '../testing/fake-cluster.ts';
import { machineActor } from '../testing/machine-actor.ts';
import { type ReportingCluster, reportingCluster } from '../testing/reporting-cluster.ts';
import { goldenName, goldenNamespace } from '../wakes/triggers.ts';

const minute = 60_000;
const LOOK_MS = 30_000;
const thirdRelease = '9.9.20260903-0';

/** As the installer makes it, with labels by which it knows its machines. */
function worker(name: string): MachineSet {
  const labels = {
    'machine.openshift.io/cluster-api-cluster': 'c1',
    'machine.openshift.io/cluster-api-machineset': name,
  };
  const set = machineSet(name);
  const template = { metadata: { labels }, spec: set.spec?.template?.spec ?? {} };
  return { ...set, spec: { ...set.spec, selector: { matchLabels: labels }, template } } as MachineSet;
}

/** `is`: a person has opted it out. */
function optedOut(set: MachineSet, is: boolean): MachineSet {
  const annotations = { ...set.metadata.annotations, ...(is ? { 'drydock.dev/boot-image': 'Disabled' } : {}) };
  return { ...set, metadata: { ...set.metadata, annotations } };
}

const digestOf = (release: string): string => (release === thirdRelease ? 'CD' : 'AB');

interface Rig extends ReportingCluster {
  fate: 'no-node' | 'boots';
  readonly release: (release: string) => void;
  /** Time goes by, with a pass now and then. */
  readonly stay: (ms: number) => Promise<void>;
  /** Machines that were ever made. */
  readonly made: () => number;
}

function rig(...sets: readonly string[]): Rig {
  const c = reportingCluster({ sets: sets.map(worker) });
  const { client, store } = c.cluster;
  const spec = { canary: { mode: 'Machine' } } as const;
  client.put(BootImagePolicy, { metadata: { name: 'gold', uid: 'p-1', generation: 1 }, spec });
  const actor = machineActor({
    client,
    templates: (name) => Number(store.templates.has(name)),
    fate: () => made.fate,
  });
  const own = {
    fate: 'no-node' as Rig['fate'],
    release: (release: string) =>
      client.put(ConfigMap, {
        metadata: { namespace: goldenNamespace, name: goldenName },
        data: { stream: stream.replaceAll(newRelease, release).replace('"AB"', JSON.stringify(digestOf(release))) },
      }),
    stay: async (ms: number) => {
      for (let gone = 0; gone < ms; gone += LOOK_MS) {
        c.cluster.clock += Math.min(LOOK_MS, ms - gone) - 1000;
        await c.pass();
        while (await actor.round());
      }
    },
    made: () => client.writes.filter((write) => write.startsWith('create machines')).length,
  };
  const made: Rig = Object.assign(Object.create(c, Object.getOwnPropertyDescriptors(c)) as ReportingCluster, own);
  return made;
}

const FLIPS = 40;

for (const [stays, from] of [
  [minute, oldRelease],
  [6 * minute, oldRelease],
  [19 * minute, oldRelease],
  [4 * minute, thirdRelease],
] as const) {
  test(`KEEP-8a a release that changes ${FLIPS} times, every ${stays / minute} min, between ${from} and ${newRelease} makes a handful of machines; the one that stays is tried and rolled out`, async () => {
    const c = rig('wk-a');
    for (let flip = 0; flip < FLIPS; flip += 1) {
      c.release(flip % 2 === 0 ? newRelease : from);
      await c.stay(stays);
    }
    const flapping = c.made();
    assert.ok(flapping >= 1 && flapping <= 5, `${flapping} machines in ${FLIPS} changes`);
    c.fate = 'boots';
    c.release(newRelease);
    await c.pass();
    const { phase, reason, message = '' } = c.image()?.status ?? {};
    assert.deepEqual([phase, reason, c.cluster.template('wk-a')], ['Publishing', 'CanarySettling', computed]);
    assert.match(
      message,
      /the next canary is made once this image has been wanted for \d+ min without a change, because \d+ canaries were given up/,
    );
    await c.stay(2 * stays + 10 * minute);
    const ended = c.image()?.status;
    assert.deepEqual([ended?.phase, ended?.current, ended?.canary?.verdict], ['Current', newRelease, 'Passed']);
    assert.equal(c.made(), flapping + 1);
  });
}

test('KEEP-8a sets that share a canary are damped together, whichever of them asks', async () => {
  const c = rig('wk-a', 'wk-b');
  for (let flip = 0; flip < FLIPS; flip += 1) {
    c.release(flip % 2 === 0 ? newRelease : oldRelease);
    // One of them asks alone.
    c.cluster.client.put(MachineSet, optedOut(worker(flip % 4 === 0 ? 'wk-a' : 'wk-b'), true));
    c.cluster.client.put(MachineSet, optedOut(worker(flip % 4 === 0 ? 'wk-b' : 'wk-a'), false));
    await c.stay(minute);
  }
  assert.equal(c.made(), 2);
});

test('KEEP-8a a verdict ends the wait: the next release is tried at once', async () => {
  const c = rig('wk-a');
  for (let flip = 0; flip < FLIPS; flip += 1) {
    c.release(flip % 2 === 0 ? newRelease : oldRelease);
    await c.stay(minute);
  }
  c.fate = 'boots';
  c.release(newRelease);
  await c.stay(30 * minute);
  assert.equal(c.image()?.status?.phase, 'Current');
  const before = c.made();
  c.release(thirdRelease);
  await c.pass();
  assert.deepEqual([c.image()?.status?.reason, c.made()], ['Canary', before + 1]);
});

test('KEEP-8a an image that is wanted again after a hold begins its wait anew', async () => {
  const c = rig('wk-a');
  const hold = (is: boolean): void =>
    c.cluster.client.put(BootImagePolicy, {
      metadata: { name: 'gold', uid: 'p-1', generation: 1 },
      spec: { canary: { mode: 'Machine' }, ...(is ? { hold: { reason: 'fair' } } : {}) },
    });
  for (const is of [false, true, false, true, false]) {
    hold(is);
    await c.stay(4 * minute);
  }
  assert.deepEqual([c.image()?.status?.reason, c.made()], ['CanarySettling', 2]);
  hold(true);
  await c.stay(4 * minute);
  hold(false);
  await c.stay(4 * minute);
  assert.deepEqual([c.image()?.status?.reason, c.made()], ['CanarySettling', 2]);
  await c.stay(2 * minute);
  assert.deepEqual([c.image()?.status?.reason, c.made()], ['Canary', 3]);
});
