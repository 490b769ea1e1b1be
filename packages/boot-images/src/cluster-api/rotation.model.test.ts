import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ifFound, type KubeObject } from '@drydock/kube';
import type { MemoryCluster } from '@drydock/kube/testing';
import { type Coverage, explore, soaking, type Tripwire } from '@drydock/model';
import { at, object, withLeaf } from '../observe/json.ts';
import {
  CAPI_KINDS,
  capiCluster,
  capiKind,
  capiObject,
  machineDeployment,
  rolloutActor,
  vsphereTemplate,
} from '../testing/capi-world.ts';
import { isOurs } from './clone.ts';
import { type CollectPorts, collectTemplates } from './collect-templates.ts';
import { imageIn, imageLeafOf } from './image-leaf.ts';
import type { ClusterApiObject } from './kinds.ts';
import { type RotationPorts, rotate } from './rotate.ts';
import { rotatedSet } from './set.ts';

/** What happens at a write: the process dies, somebody points at a template of his own or at that of an older revision, or another image is asked for. */
type Fault = 'dies' | 'another' | 'undo' | 'release';

interface World {
  /** Older revisions that Cluster API keeps: one, or none as under v1beta2. */
  readonly kept: 0 | 1;
  readonly cluster: MemoryCluster;
  readonly published: Set<string>;
  readonly wrong: string[];
  wanted: string;
  /** What a person chose last: it is found again in every template that follows. */
  cpus: number;
  now: number;
}

/** A mistake that must be found. */
interface Mistakes {
  readonly rotation?: (ports: RotationPorts) => RotationPorts;
  readonly collection?: (ports: CollectPorts) => CollectPorts;
}

const GRACE_MS = 600_000;
/** After all that the cluster's own clock can say. */
const LATER = Date.parse('2200-01-01T00:00:00Z');
const key = { namespace: 'ns', name: 'worker' } as const;
const deployments = capiKind('MachineDeployment');
const templates = capiKind('VSphereMachineTemplate');
const leaf = imageLeafOf({ group: templates.group, kind: templates.kind }, []);

function setup(strategy: 'OnDelete' | 'RollingUpdate'): World {
  const cluster = capiCluster();
  const put = (one: ClusterApiObject): void =>
    cluster.put(
      capiKind(one.kind ?? ''),
      { namespace: 'ns', name: one.metadata.name },
      { ...one, metadata: { ...one.metadata, creationTimestamp: new Date(0).toISOString() } },
    );
  put(capiObject('Cluster', 'c1', {}));
  put(vsphereTemplate('worker', 'old', 2));
  put(vsphereTemplate('bigger', 'old', 8));
  put(machineDeployment('worker', 'worker', { strategy: { type: strategy } }));
  const kept = strategy === 'OnDelete' ? 1 : 0;
  rolloutActor(cluster, kept);
  const world: World = { kept, cluster, published: new Set(), wrong: [], wanted: 'r1', cpus: 2, now: LATER };
  cluster.subscribe(() => watch(world));
  return world;
}

function templateOf({ cluster }: World, name: string): ClusterApiObject | undefined {
  return cluster.peek(templates, { namespace: 'ns', name });
}

function cpusOf(template: ClusterApiObject | undefined): unknown {
  return at(template?.spec, ['template', 'spec', 'numCPUs']);
}

/** What holds at every instant. */
function watch(world: World): void {
  for (const [id, one] of Object.entries(world.cluster.snapshot())) {
    const kind = (['MachineDeployment', 'MachineSet'] as const).find((name) =>
      id.startsWith(`${capiKind(name).plural}.`),
    );
    if (kind === undefined) continue;
    const { reference, id: set } = rotatedSet(kind, one as ClusterApiObject);
    const template = templateOf(world, reference?.name ?? '');
    const image = template === undefined || typeof leaf !== 'object' ? undefined : imageIn(template, leaf);
    if (template === undefined) world.wrong.push(`${set} needs ${reference?.name}, which is gone`);
    else if (image !== 'old' && !world.published.has(image ?? ''))
      world.wrong.push(`${set} has ${image}, which is not published`);
  }
  for (const name of ['worker', 'bigger'])
    if (templateOf(world, name) === undefined) world.wrong.push(`${name}, which a person made, is gone`);
}

function point(world: World, name: string): void {
  const deployment = world.cluster.peek(deployments, key);
  assert.ok(deployment !== undefined);
  const path = rotatedSet('MachineDeployment', deployment).referencePath.slice(1);
  world.cluster.put(deployments, key, {
    ...deployment,
    spec: object(withLeaf(deployment.spec, [...path, 'name'], name)),
  });
  world.cpus = Number(cpusOf(templateOf(world, name)));
}

function happen(world: World, fault: Fault): void {
  if (fault === 'another') point(world, 'bigger');
  if (fault === 'release') world.wanted = `${world.wanted}?`;
  if (fault !== 'undo') return;
  const revisions = Object.entries(world.cluster.snapshot())
    .filter(([id]) => id.startsWith('machinesets.'))
    .map(([, one]) => rotatedSet('MachineSet', one as ClusterApiObject).reference?.name ?? '');
  const [oldest] = revisions;
  if (oldest !== undefined) point(world, oldest);
}

/** One process: it knows nothing but what it reads. Rotation and collection take turns with Cluster API, and hours go by. */
async function live(world: World, tripwire: Tripwire<Fault>, mistakes: Mistakes): Promise<void> {
  const { cluster } = world;
  const client = cluster.client();
  let dead = false;
  const trip = (place: string): void => {
    const fault = tripwire.hit(place);
    if (fault === undefined) return;
    if (fault !== 'dies') {
      happen(world, fault);
      return;
    }
    dead = true;
    client.kill();
    throw new Error('the process is dead');
  };
  cluster.onCall = ({ verb, resource }, phase, context) => {
    if (context.client === client && context.mutates) trip(`${phase} ${verb} ${resource}`);
  };
  const served = { of: (_: string, kind: string) => CAPI_KINDS[kind] };
  const rotation: RotationPorts = {
    client,
    resourceOf: (_, kind) => capiKind(kind),
    reader: {
      get: async ({ kind, namespace, name }, call) => {
        return await ifFound(
          client.get(capiKind(kind), { ...(namespace === undefined ? {} : { namespace }), name }, call),
        );
      },
      seen: ({ kind, namespace, name }) =>
        cluster.peek(capiKind(kind), { ...(namespace === undefined ? {} : { namespace }), name }),
      ofTopology: () => [],
      machines: () => [],
      otherAuthority: () => undefined,
    },
    images: {
      look: async ({ image }) => ({ image: world.published.has(image.release) ? image.release : undefined }),
      foresee: () => assert.fail('nobody plans here'),
      publish: async ({ image }, { announce }) => {
        await announce({ id: '1', name: image.release, holder: 'h', instanceUuid: 'u' });
        trip(`before publish`);
        world.published.add(image.release);
        trip(`after publish`);
      },
    },
    wish: () => ({
      image: () => ({ kind: 'ova', release: world.wanted, url: 'https://example/x.ova', sha256: '0'.repeat(64) }),
      ...{ rollout: true, imagePaths: [], classVariable: undefined, policy: 'bootimagepolicy p' },
    }),
    report: async () => undefined,
    tried: () => assert.fail('no canary is wanted'),
    event: () => undefined,
  };
  const collection: CollectPorts = {
    ...{ client, served, resourceOf: (_: string, kind: string) => capiKind(kind), templates: [templates] },
    history: () => undefined,
    removed: () => undefined,
  };
  try {
    world.wanted = `${world.wanted}+`;
    for (let turn = 0; turn < 6; turn += 1) {
      if (turn === 2) world.wanted = `${world.wanted}!`;
      await rotate({ kind: 'MachineDeployment', ...key }, mistakes.rotation?.(rotation) ?? rotation);
      rolloutActor(cluster, world.kept);
      const ports = mistakes.collection?.(collection) ?? collection;
      await collectTemplates('ns', ports, { now: new Date(world.now), keep: 0, graceMs: GRACE_MS });
      world.now += GRACE_MS * 2;
    }
    if (dead) throw new Error('the process is dead');
  } finally {
    cluster.onCall = undefined;
  }
}

function settled(world: World): void {
  assert.deepEqual([...new Set(world.wrong)], []);
  const deployment = world.cluster.peek(deployments, key) as ClusterApiObject;
  const template = templateOf(world, rotatedSet('MachineDeployment', deployment).reference?.name ?? '');
  assert.equal(at(template?.spec, ['template', 'spec', 'template']), world.wanted);
  assert.equal(cpusOf(template), world.cpus, 'what a person changed in between is lost');
  const needed = new Set(
    Object.values(world.cluster.snapshot())
      .filter(
        (one): one is KubeObject =>
          one.kind === 'MachineDeployment' || one.kind === 'MachineSet' || one.kind === 'VSphereMachine',
      )
      .map((one) =>
        one.kind === 'VSphereMachine'
          ? one.metadata.annotations?.['cluster.x-k8s.io/cloned-from-name']
          : rotatedSet('MachineSet', one as ClusterApiObject).reference?.name,
      ),
  );
  for (const one of Object.values(world.cluster.snapshot()))
    if (one.kind === templates.kind && isOurs(one as ClusterApiObject))
      assert.ok(needed.has(one.metadata.name), `${one.metadata.name} is left, and nothing needs it`);
}

const ALL: readonly Fault[] = ['dies', 'another', 'undo', 'release'];

const exploring = (
  strategy: 'OnDelete' | 'RollingUpdate',
  mistakes: Mistakes = {},
  { faults = ALL, depth = 1 }: { readonly faults?: readonly Fault[]; readonly depth?: 1 | 2 } = {},
): Promise<Coverage> =>
  explore<World, Fault>({
    ...{
      faults,
      depth,
      setup: () => setup(strategy),
      run: (world, wire) => live(world, wire, mistakes),
      check: settled,
    },
    // Of pairs of deaths, those after a write: before the next one all is the same.
    tries: (_, place) => soaking || depth === 1 || place.startsWith('after'),
  });

for (const strategy of ['OnDelete', 'RollingUpdate'] as const)
  test(`the process dies, somebody edits, or another release comes, before and after each write: ${strategy}`, async () => {
    const { places, scenarios } = await exploring(strategy, {}, { depth: soaking ? 2 : 1 });
    for (const write of [
      'create vspheremachinetemplates',
      ...(strategy === 'OnDelete' ? [] : ['delete vspheremachinetemplates']),
      'patch machinedeployments',
      'publish',
    ])
      assert.ok(
        places.some((place) => place.includes(write)),
        `${write} in ${places.join()}`,
      );
    assert.ok(scenarios > places.length * ALL.length, `${scenarios} histories`);
  });

test('the process dies after two of its writes', async () => {
  const { places, scenarios } = await exploring('OnDelete', {}, { faults: ['dies'], depth: 2 });
  assert.ok(scenarios > places.length * 2, `${scenarios} histories`);
});

test('negative control: a rotation without a guard loses what somebody wrote in between', async () => {
  const rotation: Mistakes['rotation'] = (ports) => ({
    ...ports,
    client: {
      ...ports.client,
      create: (...call) => ports.client.create(...call),
      patch: (resource, name, ops, call) =>
        ports.client.patch(
          resource,
          name,
          ops.filter(({ op }) => op !== 'test'),
          call,
        ),
    },
  });
  await assert.rejects(exploring('OnDelete', { rotation }), /what a person changed in between is lost/);
});

test('negative control: a template that is collected while a revision needs it is found', async () => {
  const collection: Mistakes['collection'] = (ports) => ({
    ...ports,
    served: {
      of: (group, kind) =>
        kind === 'MachineSet' || kind === 'VSphereMachine' ? undefined : ports.served.of(group, kind),
    },
  });
  await assert.rejects(exploring('OnDelete', { collection }), /needs .*, which is gone/);
});
