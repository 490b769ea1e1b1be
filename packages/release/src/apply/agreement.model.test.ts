import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, Deployment, Secret } from '@drydock/api';
import type { KubeObject, Resource } from '@drydock/kube';
import { firstSeed, generator, repetitions } from '@drydock/model';
import { idText, type Manifest } from '../payload/manifest.ts';
import { applyOn, configMapOf, type Loose, manifestsOf, wishOf } from '../testing/apply-cluster.ts';
import { memoryApplyCluster } from '../testing/memory-apply.ts';
import { keptTo, planDifference } from './agreement.ts';
import { configMapInventory } from './inventory/config-maps.ts';
import { type ApplyPlan, planPayload } from './plan.ts';
import type { ApplyOutcome, ApplyWish } from './wish.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const KINDS = [ConfigMap, Secret, Deployment] as readonly Resource<KubeObject>[];

/** A cluster that an older release has been applied to and that people have been at work in, and the wish for the next one. */
async function worldOf(random: () => number) {
  const world = memoryApplyCluster();
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const kinds = NAMES.map(() => pick([0, 0, 1, 2]));
  const objectOf = (name: string, at: number, deleted: boolean): Loose => {
    const metadata = {
      labels: { [`l${pick([1, 2])}`]: pick(['x', 'y']) },
      ...(deleted ? { annotations: { 'release.openshift.io/delete': 'true' } } : {}),
    };
    const data = { [pick(['p', 'q'])]: pick(['MQ==', 'Mg==']), r: pick(['MQ==', 'Mg==']) };
    if (kinds[at] === 0) return configMapOf(world.namespace, name, data, metadata);
    const named = { name, namespace: world.namespace, ...metadata };
    if (kinds[at] === 1) return { apiVersion: 'v1', kind: 'Secret', metadata: named, data };
    const template = { metadata: { labels: { a: name } }, spec: { containers: [{ name: 'c', image: data.r }] } };
    const spec = { replicas: 0, selector: { matchLabels: { a: name } }, template };
    return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: named, spec };
  };
  const release = (deletes: boolean): readonly Manifest[] =>
    manifestsOf(
      ...NAMES.flatMap((name, at) => (random() < 0.8 ? [objectOf(name, at, deletes && random() < 0.2)] : [])),
    );
  const first = await applyOn(world, wishOf(release(false)));
  assert.ok(first.complete);
  const edit = async (): Promise<string | undefined> => {
    const [at, name] = pick([...NAMES.entries()]);
    const resource = KINDS[kinds[at] ?? 0] as Resource<KubeObject>;
    const key = { namespace: world.namespace, name };
    const live = world.cluster.peek(resource, key);
    if (live === undefined) return undefined;
    await using admin = world.client('administrator');
    if (random() < 0.2) await admin.delete(resource, key);
    else {
      const value = pick(['MQ==', 'NA==', 'NQ==']);
      await admin.mergePatch(resource, key, {
        metadata: { labels: { l1: value.slice(0, 2) } },
        ...(resource.kind === 'Deployment' ? {} : { data: { r: value } }),
      });
    }
    return `${resource.kind}${resource.group === '' ? '' : `.${resource.group}`} ${world.namespace}/${name}`;
  };
  for (let edits = 2; edits > 0; edits -= 1) await edit();
  const wish = wishOf(release(true), { version: '1.1.0' });
  return { world, wish, edit };
}

type World = Awaited<ReturnType<typeof worldOf>>['world'];

async function planned(world: World, wish: ApplyWish): Promise<ApplyPlan> {
  await using client = world.client('administrator');
  const inventory = configMapInventory({ client, namespace: world.namespace });
  const plan = await planPayload(wish, { client, inventory, signal: new AbortController().signal });
  // As it comes back from a file.
  return JSON.parse(JSON.stringify(plan)) as ApplyPlan;
}

const objectsOf = ({ phases }: ApplyPlan) => phases.flatMap(({ nodes }) => nodes.flatMap(({ objects }) => objects));
const VERBS = { create: 'create', replace: 'update', delete: 'delete' } as const;

/** What an apply does to the objects of the payload, call by call as `ACTION OBJECT`. */
async function applied(
  world: World,
  wish: ApplyWish,
  plan: ApplyPlan,
  before: (call: number, interrupt: () => void) => void | Promise<void> = () => undefined,
): Promise<{ readonly outcome: ApplyOutcome; readonly calls: readonly string[] }> {
  const calls: string[] = [];
  const interruption = new AbortController();
  await using client = world.cluster.client();
  world.hook = async (call, phase, { client: by }) => {
    if (phase !== 'before' || by.id !== client.id) return;
    const verb = VERBS[call.verb as keyof typeof VERBS];
    const name = call.key?.name ?? '';
    if (verb === undefined || !NAMES.includes(name)) return;
    await before(calls.length, () => interruption.abort());
    calls.push(`${verb} ${call.resource} ${name}`);
  };
  const inventory = configMapInventory({ client, namespace: world.namespace });
  const { signal } = interruption;
  const outcome = await applyOn(world, wish, { client, inventory, objection: keptTo(plan), signal });
  world.hook = undefined;
  return { outcome, calls };
}

const callsOf = (plan: ApplyPlan): readonly string[] =>
  objectsOf(plan).flatMap(({ id, action }) =>
    action === 'nothing' || action === 'wait' ? [] : [`${action} ${resourceText(id.kind)} ${id.name}`],
  );
const resourceText = (kind: string): string => {
  const { plural, group } = KINDS.find((one) => one.kind === kind) as Resource<KubeObject>;
  return group === '' ? plural : `${plural}.${group}`;
};

test('what a plan says is what is done, call by call, in seeded worlds; after it nothing is left to do', async () => {
  const seed = firstSeed();
  let steps = 0;
  for (let round = 0; round < repetitions(25, 2_000, 'worlds'); round += 1) {
    const { world, wish } = await worldOf(generator(seed + round));
    const plan = await planned(world, wish);
    const { outcome, calls } = await applied(world, wish, plan);
    const where = `seed ${seed + round}`;
    assert.deepEqual([outcome.complete, outcome.errors.map(({ message }) => message)], [true, []], where);
    assert.deepEqual(calls, callsOf(plan), where);
    steps += calls.length;
    assert.deepEqual(callsOf(await planned(world, wish)), [], where);
  }
  assert.ok(steps > 50, `only ${steps} steps: the worlds no longer need any`);
});

test('of a world that moved nothing is done that the plan does not say, and the object that moved is named', async () => {
  const seed = firstSeed();
  let moves = 0;
  for (let round = 0; round < repetitions(40, 2_000, 'moves'); round += 1) {
    const random = generator(seed + round);
    const { world, wish, edit } = await worldOf(random);
    const plan = await planned(world, wish);
    const at = Math.floor(random() * (callsOf(plan).length + 1));
    const where = `seed ${seed + round}`;
    let touched: string | undefined;
    if (at === 0) touched = await edit();
    const { outcome, calls } = await applied(world, wish, plan, async (call) => {
      if (at > 0 && call === at) touched ??= await edit();
    });
    for (const call of calls) assert.ok(callsOf(plan).includes(call), `${where}: ${call} is not in the plan`);
    const left = await planned(world, wish);
    const difference = planDifference(plan, left);
    const moved = outcome.errors.find(({ reason }) => reason === 'PlanMoved');
    if (moved !== undefined) {
      moves += 1;
      assert.ok(touched !== undefined && difference?.includes(touched), `${where}: ${touched}: ${difference}`);
      assert.equal(idText(moved.object), touched, where);
      assert.equal(outcome.complete, false);
    } else if (difference === undefined) assert.deepEqual(callsOf(left), [], where);
  }
  assert.ok(moves > 2, `only ${moves} worlds moved under a plan`);
});

test('a plan that was carried out in part, and interrupted at any call, is still that plan, and is carried out to its end', async () => {
  const seed = firstSeed();
  for (let round = 0; round < repetitions(20, 1_000, 'interruptions'); round += 1) {
    const random = generator(seed + round);
    const { world, wish } = await worldOf(random);
    const plan = await planned(world, wish);
    const at = Math.floor(random() * callsOf(plan).length);
    const where = `seed ${seed + round}, call ${at}`;
    const first = await applied(world, wish, plan, (call, interrupt) => {
      if (call === at) interrupt();
    });
    assert.ok(!first.outcome.complete || callsOf(plan).length === 0, where);
    const left = await planned(world, wish);
    assert.equal(planDifference(plan, left), undefined, where);
    const rest = await applied(world, wish, plan);
    assert.deepEqual([rest.outcome.complete, rest.outcome.errors], [true, []], where);
    assert.deepEqual(
      [...first.calls, ...rest.calls].filter((call) => !callsOf(plan).includes(call)),
      [],
      where,
    );
    assert.deepEqual(callsOf(await planned(world, wish)), [], where);
  }
});

test('a plan for somebody else, for another version, or of objects that it does not know is another plan, and says so', async () => {
  const world = memoryApplyCluster();
  const wish = wishOf(manifestsOf(configMapOf(world.namespace, 'a', { r: '1' })));
  const plan = await planned(world, wish);
  const more = wishOf(
    manifestsOf(configMapOf(world.namespace, 'a', { r: '1' }), configMapOf(world.namespace, 'b', {})),
  );
  assert.equal(planDifference(plan, plan), undefined);
  assert.equal(planDifference(plan, await planned(world, more)), 'the plan knows no ConfigMap default/b');
  assert.match(planDifference(plan, await planned(world, { ...wish, mode: 'reconciling' })) ?? '', /for mode updating/);
  await using admin = world.client('administrator');
  await admin.create(ConfigMap, { metadata: { namespace: world.namespace, name: 'a' }, data: { r: '2' } });
  assert.equal(
    planDifference(plan, await planned(world, wish)),
    'ConfigMap default/a is to be made by the plan, and now it is to be updated (data.r: "2" → "1")',
  );
});
