import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage, ConfigMap, MachineSet } from '@drydock/api';
import { bootImageOf, type ClusterPlan, goldenName, goldenNamespace } from '@drydock/boot-images';
import { computed, machineSet, newRelease } from '@drydock/boot-images/testing';
import { keyOf } from '@drydock/kube';
import { generator, seeds, withSeed } from '@drydock/model';
import { type PlanWorld, type PlanWorldOptions, plannedCalls, planWorld } from './plan-world.ts';

/** A world of up to five sets in two folders, with templates that are there, outdated or absent, and all that decides how they are moved. */
function worldOf(seed: number): Promise<PlanWorld> {
  const next = generator(seed);
  const below = (most: number): number => Math.floor(next() * most);
  const pick = <T>(...of: readonly T[]): T => of[below(of.length)] as T;
  const options: PlanWorldOptions = {
    publication: pick('pointer', 'swap'),
    sets: Array.from({ length: 1 + below(5) }, () => ({
      template: pick('installer', 'installer', 'absent', 'ours'),
      folder: pick(0, 1),
    })),
    installer: pick('old', 'old', 'new', 'absent'),
    earlier: below(4),
    oldStub: below(3) === 0,
    canary: below(3) === 0,
    out: below(2),
  };
  return planWorld(options);
}

/** As it comes back from a file. */
const kept = (plan: ClusterPlan): ClusterPlan => JSON.parse(JSON.stringify(plan)) as ClusterPlan;
const sorted = (calls: readonly string[]): readonly string[] => calls.toSorted();

/** In what planned and executed calls differ; undefined where they do not. How often a call is made says nothing: sets with one old stub may both try to convert it, and one is told that it was done. */
function disagreement(plan: ClusterPlan, world: PlanWorld): string | undefined {
  const [planned, executed] = [plannedCalls(plan), world.executed()];
  const [said, did] = [planned, executed].map(({ vcenter, api }) => sorted([...vcenter, ...new Set(api)]));
  const strange =
    did?.find((call) => said?.includes(call) !== true) ?? said?.find((call) => did?.includes(call) !== true);
  if (strange !== undefined) return strange;
  return said?.length === did?.length ? undefined : `${said?.length} calls planned, ${did?.length} made`;
}

test('what is planned is what is then called on vCenter and on the API server, call by call, and nothing else', async () => {
  const kinds = new Map<string, number>();
  const together = (): void => {
    for (const kind of ['image', 'canary', 'stub', 'point', 'collect'])
      assert.ok((kinds.get(kind) ?? 0) > 2, `${kind}: ${JSON.stringify([...kinds])}`);
  };
  for (const seed of seeds(60, 4_000, 'worlds', together)) {
    await withSeed(seed, import.meta.filename, async () => {
      const world = await worldOf(seed);
      const plan = await world.plan();
      assert.deepEqual(world.executed(), { vcenter: [], api: [] }, 'a plan changes nothing');
      for (const { kind } of plan.steps) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      assert.deepEqual(await world.carryOut(kept(plan)), { kind: 'done' });
      assert.equal(disagreement(plan, world), undefined);
      world.forget();
      assert.deepEqual(await world.carryOut(kept(plan)), { kind: 'done' }, 'once more');
      assert.deepEqual(world.executed(), { vcenter: [], api: [] });
    });
  }
});

test('what is planned is what an operator then does; it may collect what became free meanwhile, too', async () => {
  for (const seed of seeds(30, 4_000, 'operators')) {
    await withSeed(seed, import.meta.filename, async () => {
      const world = await worldOf(seed);
      const plan = await world.plan();
      await world.operate();
      const [planned, executed] = [plannedCalls(plan), world.executed()];
      const more = executed.vcenter.filter((call) => !planned.vcenter.includes(call));
      assert.deepEqual(
        more.filter((call) => !call.startsWith('Destroy_Task')),
        [],
      );
      assert.deepEqual(
        planned.vcenter.filter((call) => !executed.vcenter.includes(call)),
        [],
      );
      assert.deepEqual(new Set(executed.api), new Set(planned.api));
    });
  }
});

test('killed at any call and begun again, a plan comes to the same end, with one upload more of an image at most', async () => {
  let died = 0;
  const together = (): void => assert.ok(died > 10, `${died} died`);
  for (const seed of seeds(30, 4_000, 'killed plans', together)) {
    await withSeed(seed, import.meta.filename, async () => {
      const world = await worldOf(seed);
      const plan = await world.plan();
      const { vcenter, api } = plannedCalls(plan);
      const all = vcenter.length + api.length;
      if (all === 0) return;
      const at = 1 + (seed % Math.max(1, all));
      if ((await world.carryOut(kept(plan), at)) === 'died') died += 1;
      assert.deepEqual(await world.carryOut(kept(plan)), { kind: 'done' }, `killed at call ${at} of ${all}`);
      const again = await world.plan();
      const left = again.steps.filter(({ kind }) => kind !== 'collect');
      assert.deepEqual(left, []);
      const uploads = world.executed().vcenter.filter((call) => call.startsWith('ImportVApp'));
      const images = plan.steps.filter(
        (step) => step.kind === 'image' && step.steps.some(({ step: of }) => of === 'import'),
      );
      assert.ok(uploads.length <= 2 * images.length, uploads.join());
      assert.deepEqual(await world.machines(), [], 'no machine that tried an image is left');
    });
  }
});

/** What somebody does between a plan and its end, and what is said of it. */
const CHANGES: readonly (readonly [what: string, change: (world: PlanWorld) => void, words: RegExp])[] = [
  [
    'another release',
    ({ cluster: { cluster } }) => {
      const key = { namespace: goldenNamespace, name: goldenName };
      const golden = cluster.client.peek(ConfigMap, key);
      const stream = golden?.data?.['stream']?.replaceAll(newRelease, '9.9.20270101-0') ?? '';
      cluster.client.put(ConfigMap, { metadata: key, data: { ...golden?.data, stream } });
    },
    /9\.9\.20270101-0/,
  ],
  ['a set that is pointed elsewhere', (world) => edit(world, { template: 'elsewhere' }), /ms\/wk-0.*elsewhere/],
  [
    'a set that is opted out',
    (world) => edit(world, {}, { 'drydock.dev/boot-image': 'Disabled' }),
    /ms\/wk-0 .*left alone by request/,
  ],
  [
    'a set that is new',
    ({ cluster: { cluster } }) => {
      const first = cluster.client.peek(MachineSet, keyOf(machineSet('wk-0')));
      cluster.client.put(MachineSet, { ...first, metadata: { ...machineSet('wk-9').metadata } } as MachineSet);
    },
    /ms\/wk-9/,
  ],
  [
    'a pin',
    ({ cluster: { cluster } }) => {
      const image = bootImageOf(machineSet('wk-0'));
      cluster.client.put(BootImage, { ...image, spec: { ...image.spec, pin: { release: 'elsewhen' } } });
    },
    /elsewhen/,
  ],
];

function edit(
  { cluster: { cluster } }: PlanWorld,
  value: object,
  annotations: Readonly<Record<string, string>> = {},
): void {
  const set = cluster.client.peek(MachineSet, keyOf(machineSet('wk-0'))) ?? machineSet('wk-0');
  const { spec, metadata } = set;
  const template = spec?.template?.spec?.providerSpec?.value;
  cluster.client.put(MachineSet, {
    ...set,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
    spec: {
      ...spec,
      template: { ...spec?.template, spec: { providerSpec: { value: { ...template, ...value } } } },
    },
  } as MachineSet);
}

for (const publication of ['pointer', 'swap'] as const)
  for (const [what, change, words] of CHANGES)
    test(`${publication} mode: ${what} since the plan was made: it is refused, says why, and nothing is called`, async () => {
      const world = await planWorld({
        ...{ publication, installer: 'old', earlier: 0, oldStub: false, canary: false, out: 0 },
        sets: [{ template: 'ours', folder: 0 }],
      });
      const plan = await world.plan();
      assert.ok(plan.steps.length > 1);
      change(world);
      const result = await world.carryOut(kept(plan));
      assert.ok(result !== 'died' && result.kind === 'moved', JSON.stringify(result));
      assert.match(result.why, words);
      assert.equal(result.begun, false);
      assert.deepEqual(world.executed(), { vcenter: [], api: [] });
    });

test('the world moves while a plan is carried out: what is no step of it is not done', async () => {
  for (const [what, change, words] of CHANGES) {
    if (what === 'a set that is new') continue;
    const world = await planWorld({
      ...{ publication: 'pointer', installer: 'old', earlier: 0, oldStub: false, canary: false, out: 0 },
      sets: [{ template: 'installer', folder: 0 }],
    });
    const plan = await world.plan();
    const result = await world.carryOut(kept(plan), undefined, (call) => {
      if (call.startsWith('MarkAsTemplate')) change(world);
    });
    assert.ok(result !== 'died' && result.kind !== 'done', `${what}: ${JSON.stringify(result)}`);
    assert.match(result.why, words, what);
    const [planned, { vcenter, api }] = [plannedCalls(plan), world.executed()];
    assert.ok(
      vcenter.every((call) => planned.vcenter.includes(call)),
      what,
    );
    // The release is read again before each write; a patch of what another writer changed is refused by the server.
    assert.deepEqual(
      api.filter((call) => !planned.api.includes(call)),
      [],
      what,
    );
    const template = what === 'a set that is pointed elsewhere' ? 'elsewhere' : computed;
    assert.equal(world.cluster.cluster.template('wk-0'), template, what);
  }
});

test('the controls: a call that was not planned, one that was not made, and a plan that was edited are noticed', async () => {
  const made = (): Promise<PlanWorld> =>
    planWorld({
      ...{ publication: 'pointer', installer: 'old', earlier: 3, oldStub: true, canary: false, out: 0 },
      sets: [{ template: 'installer', folder: 0 }],
    });
  const world = await made();
  const plan = await world.plan();
  assert.deepEqual(
    plan.steps.map(({ kind }) => kind),
    ['image', 'stub', 'point', 'collect', 'collect'],
  );
  assert.deepEqual(await world.carryOut(plan), { kind: 'done' });
  assert.equal(disagreement(plan, world), undefined);
  for (const [at, step] of plan.steps.entries()) {
    const { vcenter, api } = plannedCalls({ ...plan, steps: [step] });
    const strange = disagreement({ ...plan, steps: plan.steps.toSpliced(at, 1) }, world);
    assert.ok([...vcenter, ...api].includes(strange ?? ''), `${step.kind}: ${strange}`);
  }
  const [extra] = plan.steps.filter(({ kind }) => kind === 'point');
  assert.ok(extra?.kind === 'point');
  assert.match(disagreement({ ...plan, steps: [...plan.steps, { ...extra, set: 'ms/other' }] }, world) ?? '', /other/);
  for (const [at] of plan.steps.entries()) {
    const fresh = await made();
    const edited = kept(await fresh.plan());
    const result = await fresh.carryOut({ ...edited, steps: edited.steps.toSpliced(at, 1) });
    const collects = edited.steps[at]?.kind === 'collect';
    assert.equal(result === 'died' ? result : result.kind, collects ? 'done' : 'moved', `without step ${at + 1}`);
    const gone = fresh.executed().vcenter.filter((call) => call.startsWith('Destroy_Task'));
    assert.equal(gone.length, collects ? 1 : 0, 'what the plan does not remove stays');
  }
});
