import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage, ConfigMap, MachineSet } from '@drydock/api';
import { keyOf } from '@drydock/kube';
import { ExplorationError, explore } from '@drydock/model';
import { setNow } from '../observe/kept-set.ts';
import { runPass } from '../pass/pass.ts';
import { createPassState } from '../pass/pass-state.ts';
import { setFacts } from '../pass/set-facts.ts';
import { createBootImages, imageOf } from '../status/boot-image-store.ts';
import { computed, machineSet, newRelease, oldRelease, stream } from '../testing/fake-cluster.ts';
import { type ReportingCluster, reportingCluster } from '../testing/reporting-cluster.ts';
import type { Pin } from './pin.ts';

/** What happens at a write of the operator: it dies there; a person takes the set back; a second one lifts that; the release changes. */
type Fault = 'dies' | 'reverts' | 'releases' | 'newer release';

interface World {
  readonly rig: ReportingCluster;
  readonly wrong: string[];
  wanted: Pin | undefined;
  release: string;
}

const newest = '9.9.20261001-0';
const old: Pin = { release: oldRelease, image: computed, by: 'alice' };
const key = keyOf(imageOf(machineSet('wk-a')));

/** How a person goes back. */
type Revert = (world: World) => void;

function writePin(world: World, pin: Pin | undefined): void {
  const { client } = world.rig.cluster;
  const image = client.peek(BootImage, key) ?? imageOf(machineSet('wk-a'));
  const { pin: _, ...spec } = image.spec ?? {};
  client.put(BootImage, { ...image, spec: pin === undefined ? spec : { ...spec, pin } });
  world.wanted = pin;
}

const pinning: Revert = (world) => writePin(world, old);

/** The mistake: the set is edited, and nobody is told what is wanted. */
const editing: Revert = (world) => {
  const { edit, store } = world.rig.cluster;
  edit.set('wk-a', (set) => ({ ...set, spec: machineSet('wk-a').spec ?? {} }));
  const kept = [...store.templates].find(
    ([, { version, stableName }]) => version === oldRelease && stableName !== undefined,
  );
  if (kept !== undefined) store.templates.set(computed, { version: oldRelease });
  world.wanted = old;
};

function act(world: World, fault: Exclude<Fault, 'dies'>, revert: Revert): void {
  if (fault === 'reverts') revert(world);
  else if (fault === 'releases') writePin(world, undefined);
  else {
    world.release = newest;
    const data = { stream: stream.replaceAll(newRelease, newest).replace('"AB"', '"CD"') };
    const metadata = { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' };
    world.rig.cluster.client.put(ConfigMap, { metadata, data });
  }
}

/** What new machines start from. */
function startsFrom({ rig }: World): string | undefined {
  return rig.cluster.store.templates.get(String(rig.cluster.template('wk-a')))?.version;
}

/** One process: it knows nothing but what it reads, and dies or is overtaken at any of its writes. */
async function live(world: World, hit: (what: string) => Fault | undefined, revert: Revert): Promise<void> {
  const { cluster } = world.rig;
  const server = cluster.client.cluster;
  let dead = false;
  server.onCall = ({ verb, resource }, phase, { mutates, client }) => {
    const fault = mutates ? hit(`${phase} ${verb} ${resource}`) : undefined;
    if (fault === undefined) return;
    if (fault !== 'dies') return act(world, fault, revert);
    dead = true;
    client.kill();
    throw new Error('the process is dead');
  };
  try {
    const client = server.client();
    const images = createBootImages({
      ...{ client, cached: (which) => cluster.client.peek(BootImage, which), exists: () => true },
      ...{ platform: () => 'vsphere', now: cluster.ports.now, facts: (set) => setFacts(set, cluster.ports) },
    });
    const ports = { ...cluster.ports, client, report: images.report, writeConditions: async () => undefined };
    const state = createPassState(new Date(0));
    for (let pass = 0; pass < 3; pass += 1) await runPass(ports, state, { reason: 'Test', touched: 'all' });
    if (dead) throw new Error('the process is dead');
  } finally {
    server.onCall = undefined;
  }
}

const exploration = (publication: 'pointer' | 'swap', revert: Revert, depth: 1 | 2) =>
  explore<World, Fault>({
    faults: ['dies', 'reverts', 'releases', 'newer release'],
    depth,
    // What a person does after one write is done before the next one.
    tries: (fault, place) => fault === 'dies' || place.startsWith('before'),
    setup: async () => {
      const rig = reportingCluster({ publication });
      await rig.pass();
      await rig.pass();
      const world: World = { rig, wrong: [], wanted: undefined, release: newRelease };
      // The set is under way to another release when it begins.
      act(world, 'newer release', revert);
      world.release = newest;
      rig.cluster.client.cluster.subscribe(() => {
        const image = rig.cluster.client.peek(BootImage, key);
        const seen = (image?.status?.observedGeneration ?? -1) >= (image?.metadata.generation ?? 0);
        const pinned = image?.status?.reason === 'Pinned' && image.status.phase === 'Current';
        if (image?.spec?.pin !== undefined && seen && pinned && startsFrom(world) !== oldRelease)
          world.wrong.push(`a pinned set moved to ${startsFrom(world)}`);
      });
      return world;
    },
    run: (world, tripwire) => live(world, (what) => tripwire.hit(what), revert),
    check: async (world) => {
      await live(world, () => undefined, revert);
      assert.deepEqual(world.wrong, []);
      assert.equal(startsFrom(world), world.wanted === undefined ? world.release : oldRelease);
      const image = world.rig.image();
      assert.equal(image?.status?.history?.filter(({ until }) => until === undefined).length, 1);
      assert.equal(image?.status?.history?.[0]?.release, startsFrom(world));
      const set = setNow(world.rig.ports.world, machineSet('wk-a'));
      assert.ok(set !== undefined && world.rig.cluster.client.peek(MachineSet, keyOf(set)) !== undefined);
    },
  });

for (const publication of ['pointer', 'swap'] as const)
  test(`${publication} mode: operator × revert × second administrator × release change, alone and in pairs: one outcome, and a pinned set never moves`, async () => {
    const { scenarios, complete } = await exploration(publication, pinning, 2);
    assert.ok(scenarios > 150, `${scenarios} histories`);
    assert.ok(complete);
  });

test('the control: a revert that edits the set instead of pinning it is undone, and that is seen', async () => {
  await assert.rejects(exploration('pointer', editing, 1), ExplorationError);
});
