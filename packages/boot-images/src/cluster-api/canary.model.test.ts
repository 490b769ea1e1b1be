import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage, BootImagePolicy } from '@drydock/api';
import { ifFound } from '@drydock/kube';
import type { MemoryCluster } from '@drydock/kube/testing';
import { ExplorationError, explore, soaking, type Tripwire } from '@drydock/model';
import { recordedOf } from '../canary/canaries.ts';
import { at } from '../observe/json.ts';
import { type CapiMachineActor, capiMachineActor, type RotatedMachineFate } from '../testing/capi-machine-actor.ts';
import {
  bootstrapRef,
  CAPI_KINDS,
  capiCluster,
  capiKind,
  capiObject,
  kubeadmTemplate,
  machineDeployment,
} from '../testing/capi-world.ts';
import { rotationReports } from './boot-images.ts';
import { type RotationCanaryPorts, rotationCanaries } from './canary.ts';
import { rotationGroup } from './canary-machine.ts';
import { canaryWatch } from './canary-watch.ts';
import type { ClusterApiObject } from './kinds.ts';
import { type RotationPorts, rotate } from './rotate.ts';
import { rotatedSet } from './set.ts';
import { wishFor } from './wish.ts';

/** What else happens while a canary is tried. */
type Event = 'nothing' | 'the policy changes' | 'the image changes';

interface World {
  readonly names: readonly string[];
  readonly cluster: MemoryCluster;
  readonly actor: CapiMachineActor;
  readonly wrong: string[];
  readonly tried: Set<string>;
  made: number;
  happened: boolean;
  now: number;
}

const namespace = 'ns';
/** Equal sets, which are one group; of pairs of deaths one set alone, but in a soak. */
const namesFor = (depth: 1 | 2): readonly string[] =>
  depth === 1 || soaking ? ['worker-a', 'worker-b'] : ['worker-a'];

function policy(world: Pick<World, 'cluster'>, generation: number, image: string): void {
  const spec = {
    ...{ canary: { mode: 'Machine' }, clusterAPI: { rollout: 'Allow' } },
    image: { catalogue: [{ version: 'v1.34.2', image }] },
  };
  world.cluster.put(BootImagePolicy, { name: 'gold' }, {
    metadata: { name: 'gold', uid: 'p', generation },
    spec,
  } as never);
}

function imageOf({ cluster }: World, name: string): unknown {
  const live = cluster.peek(capiKind('MachineDeployment'), { namespace, name });
  assert.ok(live !== undefined);
  const reference = rotatedSet('MachineDeployment', live).reference?.name ?? '';
  return at(cluster.peek(capiKind('AWSMachineTemplate'), { namespace, name: reference })?.spec, [
    'template',
    'spec',
    'ami',
    'id',
  ]);
}

const left = ({ cluster }: World, kinds: readonly string[]): readonly string[] =>
  Object.keys(cluster.snapshot()).filter((id) => kinds.some((kind) => id.startsWith(`${capiKind(kind).plural}.`)));

function setup(fate: RotatedMachineFate, names: readonly string[]): World {
  const cluster = capiCluster();
  const put = (one: ClusterApiObject): void =>
    cluster.put(capiKind(one.kind ?? ''), { namespace, name: one.metadata.name }, one);
  put(capiObject('Cluster', 'c1', {}));
  put(kubeadmTemplate('boot'));
  for (const name of names) {
    put(capiObject('AWSMachineTemplate', name, { template: { spec: { ami: { id: 'old' }, name } } }));
    const infrastructureRef = {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
      kind: 'AWSMachineTemplate',
      name,
    };
    put(machineDeployment(name, name, { infrastructureRef, bootstrap: bootstrapRef('boot'), failureDomain: 'fd' }));
  }
  const actor = capiMachineActor({ client: cluster.client(), templates: () => 1, fate: () => fate });
  const world: World = {
    names,
    cluster,
    actor,
    wrong: [],
    tried: new Set(),
    made: 0,
    happened: false,
    now: Date.now(),
  };
  policy(world, 1, 'new');
  cluster.subscribe(({ resource, old, now }) => {
    if (resource.startsWith('machines.') && old === undefined && now !== undefined) world.made += 1;
    if (resource.startsWith('bootimages.')) {
      const { verdict, image = '' } = (now as BootImage | undefined)?.status?.canary ?? {};
      if (verdict === 'Passed') world.tried.add(image);
    }
    if (!resource.startsWith('machinedeployments.')) return;
    for (const name of names) {
      const image = String(imageOf(world, name));
      if (image !== 'old' && !world.tried.has(image)) world.wrong.push(`${name} has ${image}, which was not tried`);
    }
  });
  return world;
}

/** One process, until nothing moves any more. It knows nothing but what it reads. */
async function live(world: World, event: Event, tripwire: Tripwire<'dies'>, mistakes: Mistakes): Promise<void> {
  const { cluster, actor, names } = world;
  const client = cluster.client();
  let dead = false;
  cluster.onCall = ({ verb, resource }, phase, context) => {
    if (context.client !== client || !context.mutates) return;
    if (tripwire.hit(`${phase} ${verb} ${resource.split('.')[0]}`) === undefined) return;
    dead = true;
    client.kill();
    throw new Error('the process is dead');
  };
  const cached = (key: { readonly name: string }): BootImage | undefined =>
    cluster.peek(BootImage, { namespace, ...key });
  const images = (): readonly BootImage[] => names.flatMap((name) => cached({ name: `capi-md-${name}` }) ?? []);
  const now = (): Date => new Date(world.now);
  const { report } = rotationReports({
    ...{ client, cached, now, platform: () => 'aws' },
    facts: () => ({ reference: undefined, target: undefined }),
  });
  const machines = (): readonly ClusterApiObject[] =>
    left(world, ['Machine']).map((id) => cluster.snapshot()[id] as ClusterApiObject);
  const canaryPorts: RotationCanaryPorts = {
    ...{
      client,
      machines,
      now,
      elapsed: () => world.now,
      served: { of: (_: string, kind: string) => CAPI_KINDS[kind] },
    },
    recorded: (group) => recordedOf(group, images()),
    awaited: ({ name }) => images().some(({ status }) => status?.canary?.machine === name),
    record: ({ set }, facts) => report(set, { kind: 'step', phase: 'Publishing', reason: 'Canary', ...facts }),
  };
  const canaries = rotationCanaries(mistakes.canaries?.(canaryPorts) ?? canaryPorts);
  const watch = canaryWatch({
    machine: ({ name }) => cluster.peek(capiKind('Machine'), { namespace, name }),
    canaries,
    named: ({ name }) =>
      images().flatMap(({ status: { canary, set } = {} }) =>
        canary?.machine === name && set !== undefined ? [`${namespace}/${set}`] : [],
      ),
  });
  const ports: RotationPorts = {
    client,
    resourceOf: (_, kind) => capiKind(kind),
    reader: {
      get: async (name, call) => {
        return await ifFound(client.get(capiKind(name.kind), { namespace, name: name.name }, call));
      },
      seen: ({ kind, name }) => cluster.peek(capiKind(kind), { namespace, name }),
      ...{ ofTopology: () => [], machines: () => [], otherAuthority: () => undefined },
    },
    images: {
      look: async ({ image }) => ({ image: image.release }),
      foresee: () => assert.fail('nobody plans here'),
      publish: () => assert.fail('it is there'),
    },
    wish: (set) => {
      const gold = cluster.peek(BootImagePolicy, { name: 'gold' });
      return wishFor(set, {
        policies: gold === undefined ? [] : [gold],
        image: cached({ name: `capi-md-${set.name}` }),
        now: now(),
      });
    },
    report,
    tried: (rotation, step, call) => canaries.tried(rotation, step, call),
    event: () => undefined,
  };
  try {
    for (let turn = 0; turn < 6; turn += 1) {
      for (const name of names) {
        const machine = cached({ name: `capi-md-${name}` })?.status?.canary?.machine;
        const known = machine === undefined ? undefined : { namespace, name: machine };
        const work = watch.during(`${namespace}/capi-md/${name}`, known, (asks) => {
          const tried: RotationPorts['tried'] = (rotation, step, call) => {
            asks({ namespace, name: rotationGroup(rotation.set, step.wish, step.image).machine });
            return canaries.tried(rotation, step, call);
          };
          return rotate({ kind: 'MachineDeployment', namespace, name }, { ...ports, tried });
        });
        await work.catch((error: unknown) => {
          if (dead || (error as { readonly code?: string }).code !== 'CanaryFailed') throw error;
        });
      }
      for (const { metadata } of machines()) await watch.sweep({ namespace, name: metadata.name }, {});
      if (dead) throw new Error('the process is dead');
      while (await actor.round());
      if (turn === 1 && !world.happened) {
        world.happened = true;
        if (event === 'the policy changes') policy(world, 2, 'new');
        if (event === 'the image changes') policy(world, 2, 'newer');
      }
      world.now += turn === 3 ? 21 * 60_000 : 10_000;
      if (turn > 1 && machines().length === 0 && names.every((name) => imageOf(world, name) !== 'old')) break;
    }
  } finally {
    cluster.onCall = undefined;
  }
}

/** A mistake that must be found. */
interface Mistakes {
  readonly canaries?: (ports: RotationCanaryPorts) => RotationCanaryPorts;
}

function explored(fate: RotatedMachineFate, event: Event, depth: 1 | 2, mistakes: Mistakes = {}) {
  return explore<World, 'dies'>({
    ...{ faults: ['dies'], depth, setup: () => setup(fate, namesFor(depth)) },
    run: (world, tripwire) => live(world, event, tripwire, mistakes),
    // Of pairs of deaths, those after a write: before the next one all is the same.
    tries: (_, place) => soaking || depth === 1 || place.startsWith('after'),
    check: async (world) => {
      if (!world.happened) await live(world, event, { hit: () => undefined }, mistakes);
      const { wrong, made, actor, names } = world;
      assert.deepEqual([[...new Set(wrong)], actor.adopted], [[], []]);
      assert.deepEqual(left(world, ['Machine', 'KubeadmConfig', 'AWSMachine']), [], 'something of a canary is left');
      const wanted = fate !== 'boots' ? 'old' : event === 'the image changes' ? 'newer' : 'new';
      for (const name of names) assert.equal(imageOf(world, name), wanted);
      assert.ok(made <= (event === 'nothing' ? 1 : 2), `${made} machines were made`);
      if (event === 'nothing') assert.equal(made, 1);
    },
  });
}

test('OWN-18 an operator that dies before and after each call of a canary of Cluster API, twice: one machine at the most, nothing of it is left, and nothing untried is pointed at', async () => {
  const passed = await explored('boots', 'nothing', 2);
  const failed = await explored('kubelet-not-ready', 'nothing', soaking ? 2 : 1);
  if (!soaking) await explored('boots', 'nothing', 1);
  for (const { places } of [passed, failed])
    for (const call of ['create machines', 'create kubeadmconfigs', 'create awsmachines', 'delete machines'])
      for (const phase of ['before', 'after'])
        assert.ok(places.includes(`${phase} ${call}`), `${phase} ${call} in ${places.join(', ')}`);
  for (const event of ['the policy changes', 'the image changes'] as const) await explored('no-node', event, 1);
  if (soaking) await explored('boots', 'the image changes', 2);
});

test('OWN-18 negative control: a machine that is made before anybody wrote that it would be is left behind', async () => {
  const canaries: Mistakes['canaries'] = (ports) => ({ ...ports, record: async () => undefined });
  await assert.rejects(explored('boots', 'nothing', 1, { canaries }), ExplorationError);
});
