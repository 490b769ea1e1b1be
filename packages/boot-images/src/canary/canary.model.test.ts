import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage, BootImagePolicy, Machine, type MachineSet } from '@drydock/api';
import { ExplorationError, explore, type Tripwire } from '@drydock/model';
import { runPass } from '../pass/pass.ts';
import { createPassState, type PassPorts } from '../pass/pass-state.ts';
import { setFacts } from '../pass/set-facts.ts';
import { createBootImages } from '../status/boot-image-store.ts';
import { computed, type FakeCluster, fakeCluster, machineSet, published } from '../testing/fake-cluster.ts';
import { type MachineActor, type MachineFate, machineActor } from '../testing/machine-actor.ts';
import { isCanaryName } from './machine.ts';

const set = { namespace: 'openshift-machine-api', name: 'wk-a' };
const labels = {
  'machine.openshift.io/cluster-api-cluster': 'c1',
  'machine.openshift.io/cluster-api-machineset': 'wk-a',
};

/** What else happens while a canary is tried. */
type Event = 'nothing' | 'the policy goes' | 'a hold';

interface World {
  readonly cluster: FakeCluster;
  readonly actor: MachineActor;
  readonly wrong: string[];
  created: number;
  happened: boolean;
}

function worldOf(fate: MachineFate): World {
  const worker = machineSet('wk-a');
  const template = { metadata: { labels }, spec: worker.spec?.template?.spec ?? {} };
  const spec = { ...worker.spec, selector: { matchLabels: labels }, template };
  const cluster = fakeCluster({ sets: [{ ...worker, spec } as MachineSet] });
  const { client, store } = cluster;
  client.put(BootImagePolicy, {
    metadata: { name: 'gold', uid: 'p-1', generation: 1 },
    spec: { canary: { mode: 'Machine' } },
  });
  const templates = (name: string): number => Number(store.templates.has(name));
  const actor = machineActor({ client: client.cluster.client(), templates, fate: () => fate });
  const world: World = { cluster, actor, wrong: [], created: 0, happened: false };
  client.cluster.subscribe(({ resource, old, now }) => {
    if (resource.startsWith('machines.') && old === undefined && isCanaryName(now?.metadata.name ?? ''))
      world.created += 1;
    if (!resource.startsWith('machinesets.') || cluster.template('wk-a') === computed) return;
    const images = [...client.objects].filter(([id]) => id.startsWith('bootimages '));
    const passed = images.some(([, image]) => (image as BootImage).status?.canary?.verdict === 'Passed');
    const asked = client.peek(BootImagePolicy, { name: 'gold' }) !== undefined;
    if (asked && !passed) world.wrong.push('the set is pointed at an image that was not tried');
  });
  return world;
}

/** One process, until nothing moves any more. It knows nothing but what it reads. */
async function live(world: World, event: Event, tripwire: Tripwire<'dies'>, mistake: Mistake): Promise<void> {
  const { cluster, actor } = world;
  const server = cluster.client.cluster;
  let dead = false;
  const client = server.client();
  const images = createBootImages({
    ...{ client, cached: (key) => cluster.client.peek(BootImage, key), exists: () => true },
    ...{ platform: () => 'vsphere', now: cluster.ports.now, facts: (one) => setFacts(one, cluster.ports) },
  });
  const ports = mistake({ ...cluster.ports, client, report: images.report });
  const state = createPassState(new Date(0));
  for (let turn = 0; turn < 6; turn += 1) {
    server.onCall = ({ verb, resource }, phase, { mutates }) => {
      if (!mutates || tripwire.hit(`${phase} ${verb} ${resource.split('.')[0]}`) === undefined) return;
      dead = true;
      client.kill();
      throw new Error('the process is dead');
    };
    try {
      await runPass(ports, state, { reason: 'Test', touched: 'all' });
    } finally {
      server.onCall = undefined;
    }
    if (dead) throw new Error('the process is dead');
    while (await actor.round());
    if (turn === 1 && !world.happened) {
      world.happened = true;
      happen(cluster, event);
    }
    cluster.clock += turn === 3 ? 21 * 60_000 : 10_000;
  }
}

function happen({ client }: FakeCluster, event: Event): void {
  if (event === 'the policy goes') client.objects.delete('bootimagepolicies gold');
  if (event !== 'a hold') return;
  const metadata = { name: 'gold', uid: 'p-1', generation: 2 };
  client.put(BootImagePolicy, { metadata, spec: { canary: { mode: 'Machine' }, hold: { reason: 'the fair' } } });
}

type Mistake = (ports: PassPorts) => PassPorts;

function explored(fate: MachineFate, event: Event, depth: 1 | 2, mistake: Mistake = (ports) => ports) {
  return explore<World, 'dies'>({
    faults: ['dies'],
    depth,
    setup: () => worldOf(fate),
    run: (world, tripwire) => live(world, event, tripwire, mistake),
    check: async (world) => {
      if (!world.happened) await live(world, event, { hit: () => undefined }, mistake);
      const { cluster, wrong, created, actor } = world;
      assert.deepEqual([wrong, actor.adopted], [[], []]);
      const left = await Array.fromAsync(cluster.client.list(Machine, { namespace: set.namespace }));
      assert.deepEqual(left, [], 'a machine is left');
      const moves = event === 'the policy goes' || (fate === 'boots' && event === 'nothing');
      assert.equal(cluster.template('wk-a'), moves ? published : computed);
      if (event === 'nothing') assert.equal(created, 1);
      assert.ok(created <= 1, `${created} machines were made`);
    },
  });
}

test('OWN-18 an operator that dies before and after each call, twice: one machine at the most, none is left, and nothing untried is pointed at', async () => {
  const passed = await explored('boots', 'nothing', 2);
  const failed = await explored('kubelet-not-ready', 'nothing', process.env['DRYDOCK_SOAK'] === '1' ? 2 : 1);
  for (const { places, scenarios } of [passed, failed]) {
    const calls = new Set(places);
    for (const call of [
      'before create machines',
      'after create machines',
      'before delete machines',
      'after delete machines',
    ])
      assert.ok(calls.has(call), `${call} among ${[...calls].join(', ')}`);
    assert.ok(scenarios > 15, `${scenarios}`);
  }
  for (const event of ['the policy goes', 'a hold'] as const) await explored('no-node', event, 1);
});

test('OWN-18 negative control: a verdict that is not recorded before its machine goes makes a second machine, which is seen', async () => {
  const forgets: Mistake = (ports) => ({
    ...ports,
    report: async (one, outcome) => {
      const { canary: _, ...rest } = outcome;
      await ports.report(one, rest);
    },
  });
  await assert.rejects(explored('boots', 'nothing', 1, forgets), ExplorationError);
});
