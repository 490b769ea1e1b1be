import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { generator, seeds, withSeed } from '@drydock/model';
import type { ClusterApiObject } from '../cluster-api/kinds.ts';
import { capiMachineActor } from '../testing/capi-machine-actor.ts';
import { idleCapiRole, putPolicy } from '../testing/capi-role.ts';
import {
  bootstrapRef,
  capiCluster,
  capiKind,
  capiObject,
  kubeadmTemplate,
  machineDeployment,
  templateRef,
} from '../testing/capi-world.ts';
import type { CarriedOut } from './carry-out.ts';
import { carryOutRotations } from './carry-out-rotations.ts';
import type { ClusterPlan } from './cluster-plan.ts';
import { collectRotations, foreseeRotationCollections } from './rotation-collections.ts';
import { withRotations } from './rotations.ts';

const namespace = 'ns';
const bare: ClusterPlan = { version: 1, cluster: 'c', steps: [], rest: [] };

/** Up to five sets, on templates that are shared or not, some of them at the image already, held back by their strategy or by a pace, with copies that nothing needs, and a canary or none. */
async function worldOf(seed: number) {
  const next = generator(seed);
  const below = (most: number): number => Math.floor(next() * most);
  const cluster = capiCluster();
  const put = (one: ClusterApiObject): void =>
    cluster.put(capiKind(one.kind ?? ''), { namespace, name: one.metadata.name }, one);
  put(
    capiObject('Cluster', 'c1', {
      topology: { class: 'class', version: 'v1.34.2', variables: [{ name: 'imageName', value: 'old' }] },
    }),
  );
  put(
    capiObject('ClusterClass', 'class', {
      variables: [{ name: 'imageName', schema: { openAPIV3Schema: { type: 'string' } } }],
    }),
  );
  put(kubeadmTemplate('boot'));
  const count = 1 + below(5);
  for (let at = 0; at < count; at += 1) {
    const name = `w${at}`;
    const shared = below(3) === 0 ? 'w0' : name;
    put(
      capiObject('AWSMachineTemplate', name, {
        template: { spec: { ami: { id: below(4) === 0 ? 'new' : 'old' }, name } },
      }),
    );
    const set = machineDeployment(name, shared, {
      infrastructureRef: templateRef(shared, 'AWSMachineTemplate'),
      ...{ bootstrap: bootstrapRef('boot'), failureDomain: `fd${below(2)}` },
      strategy: { type: below(4) === 0 ? 'RollingUpdate' : 'OnDelete' },
    });
    const byClass = below(6) === 0;
    const labels = { 'topology.cluster.x-k8s.io/owned': '', 'topology.cluster.x-k8s.io/deployment-name': name };
    put(byClass ? { ...set, metadata: { ...set.metadata, labels } } : set);
  }
  for (let at = below(3); at > 0; at -= 1) {
    const metadata = {
      labels: { 'app.kubernetes.io/managed-by': 'drydock' },
      annotations: {
        'drydock.dev/rotated-from': 'gone',
        ...(at === 1 ? {} : { 'drydock.dev/retired-since': '2020-01-01T00:00:00Z' }),
      },
      creationTimestamp: '2020-01-01T00:00:00Z',
    };
    put(capiObject('AWSMachineTemplate', `gone-${at}`, { template: { spec: { ami: { id: 'gone' } } } }, metadata));
  }
  const canary = below(3) === 0;
  const policy = (image: string, generation: number): void =>
    putPolicy(
      cluster,
      {
        image: { catalogue: [{ version: 'v1.34.2', image }] },
        clusterAPI: { classVariable: 'imageName' },
        ...(canary ? { canary: { mode: 'Machine' } } : {}),
        ...(paced ? { pace: { setsAtATime: 1 } } : {}),
      } as Parameters<typeof putPolicy>[1],
      generation,
    );
  const paced = below(4) === 0;
  policy('new', 1);
  const role = await idleCapiRole(cluster, { retain: 0 });
  const actor = capiMachineActor({ client: cluster.client(), templates: () => 1 });
  const call = { signal: new AbortController().signal };
  const plan = async (): Promise<ClusterPlan> => {
    const planned = withRotations(bare, await role.role.plan(call), 'c');
    const { collections } = role.role;
    const { steps } =
      collections === undefined ? { steps: [] } : await foreseeRotationCollections(collections, planned.steps, call);
    return { ...planned, steps: [...planned.steps, ...steps] };
  };
  const carryOut = (of: ClusterPlan, between: () => void = () => undefined): Promise<CarriedOut> =>
    carryOutRotations(
      JSON.parse(JSON.stringify(of)) as ClusterPlan,
      {
        look: async () => withRotations(bare, await role.role.plan(call), 'c'),
        work: async (set, bounds) => {
          between();
          return role.role.work(set, { ...call, bounds });
        },
        collect: async (steps) => {
          if (role.role.collections !== undefined) await collectRotations(role.role.collections, steps, call);
        },
        pause: async () => {
          while (await actor.round());
          // The watch of machines and of what is said of sets follows.
          await sleep(1);
        },
      },
      call,
    );
  return {
    ...{ cluster, plan, carryOut, put, policy },
    /** What was changed since it was asked last, statuses left out. */
    executed: (): readonly string[] =>
      (role.writes as string[]).splice(0).filter((write) => !write.includes(' bootimages ')),
    [Symbol.asyncDispose]: () => role[Symbol.asyncDispose](),
  };
}

/** The writes that a plan says. */
function plannedWrites({ steps }: ClusterPlan): readonly string[] {
  return steps.flatMap((step): readonly string[] => {
    switch (step.kind) {
      case 'canary':
        return [
          ...['machines', 'kubeadmconfigs', 'awsmachines'].map((kind) => `create ${kind} ns/${step.machine}`),
          `delete machines ns/${step.machine}`,
        ];
      case 'clone':
        return [`create awsmachinetemplates ns/${step.name}`];
      case 'keep':
        return [`patch awsmachinetemplates ns/${step.name}`];
      case 'point':
        return [`patch machinedeployments ns/${step.set.split('/').at(-1)}`];
      case 'variable':
        return [`patch clusters ${step.cluster}`];
      case 'copy':
        return [
          `${step.does === 'delete' ? 'delete' : 'patch'} awsmachinetemplates ${step.template.split(' ').at(-1)}`,
        ];
      default:
        return [];
    }
  });
}

const sorted = (writes: readonly string[]): readonly string[] => [...new Set(writes)].toSorted();

test('OWN-18 sets of Cluster API: what is planned is what is then written, and nothing else, in seeded worlds; once more, nothing is', async () => {
  const kinds = new Map<string, number>();
  const together = (): void => {
    for (const kind of ['canary', 'clone', 'point', 'copy', 'variable'])
      assert.ok((kinds.get(kind) ?? 0) > 2, `${kind}: ${JSON.stringify([...kinds])}`);
  };
  for (const seed of seeds(40, 2_000, 'worlds', together))
    await withSeed(seed, import.meta.filename, async () => {
      await using world = await worldOf(seed);
      const plan = await world.plan();
      assert.deepEqual(world.executed(), [], 'a plan changes nothing');
      for (const { kind } of plan.steps) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      assert.deepEqual(await world.carryOut(plan), { kind: 'done' });
      assert.deepEqual(sorted(world.executed()), sorted(plannedWrites(plan)));
      assert.deepEqual(await world.carryOut(plan), { kind: 'done' }, 'once more');
      assert.deepEqual(world.executed(), []);
    });
});

test('OWN-18 sets of Cluster API: where the world moved nothing is done, and where it moves meanwhile nothing more', async () => {
  let [before, meanwhile] = [0, 0];
  const together = (): void => assert.ok(before > 2 && meanwhile > 2, `${before}, ${meanwhile}`);
  for (const seed of seeds(20, 1_000, 'moves', together))
    await withSeed(seed, import.meta.filename, async () => {
      await using world = await worldOf(seed);
      const plan = await world.plan();
      const points = plan.steps.filter(({ kind }) => kind === 'point');
      if (points.length === 0) return;
      if (seed % 2 === 0) {
        world.policy('newer', 2);
        await sleep(1);
        const { kind, ...rest } = await world.carryOut(plan);
        assert.deepEqual([kind, 'begun' in rest && rest.begun], ['moved', false]);
        assert.deepEqual(world.executed(), []);
        before += 1;
        return;
      }
      let calls = 0;
      const outcome = await world.carryOut(plan, () => {
        calls += 1;
        if (calls === 1) world.policy('newer', 2);
      });
      assert.equal(outcome.kind, 'moved');
      const planned = new Set(plannedWrites(plan));
      assert.deepEqual(
        world.executed().filter((write) => !planned.has(write)),
        [],
      );
      meanwhile += 1;
    });
});
