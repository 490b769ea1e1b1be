import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BootImage, BootImagePolicy, Deployment } from '@drydock/api';
import { generator, seeds, withSeed } from '@drydock/model';
import { upstreamController } from '../decide/coexistence.ts';
import { keptSets } from '../observe/kept-set.ts';
import {
  computed,
  type FakeCluster,
  fakeCluster,
  machineSet,
  managed,
  newRelease,
  oldRelease,
  published,
  stub22,
} from '../testing/fake-cluster.ts';
import { type ClusterPlan, planCluster } from './cluster-plan.ts';

const plan = (c: FakeCluster): Promise<ClusterPlan> => planCluster(keptSets(c.ports.world), c.ports);

test('an image is planned once for all its sets, then the stub, then each set; what stays as it is has its reason', async () => {
  const c = fakeCluster({
    sets: [machineSet('wk-a'), machineSet('wk-b'), machineSet('wk-c', {}, { labels: { keep: 'yes' } })],
    managers: managed('Partial', { matchExpressions: [{ key: 'keep', operator: 'DoesNotExist' }] }),
    userData: stub22,
  });
  const { steps, rest, cluster } = await plan(c);
  assert.equal(cluster, 'cluster-uid');
  assert.deepEqual(
    steps.map((step) => [step.kind, 'sets' in step ? step.sets : 'set' in step ? step.set : step.kind]),
    [
      ['image', ['ms/wk-a', 'ms/wk-b']],
      ['stub', ['ms/wk-a', 'ms/wk-b']],
      ['point', 'ms/wk-a'],
      ['point', 'ms/wk-b'],
    ],
  );
  const [image, , point] = steps;
  assert.ok(image?.kind === 'image' && point?.kind === 'point');
  assert.deepEqual([image.server, image.name, image.release], ['vc1', published, newRelease]);
  assert.deepEqual(point.edits, [{ path: ['template'], from: computed, to: published }]);
  assert.deepEqual([point.from, point.to], [oldRelease, newRelease]);
  assert.deepEqual(
    rest.map(({ set, step }) => [set, step]),
    [['ms/wk-c', 'skip']],
  );
  assert.deepEqual([c.client.writes, c.store.uploads], [[], 0], 'nothing was written');
});

test('a swap takes the name over: the set keeps its words', async () => {
  const { steps } = await plan(fakeCluster({ publication: 'swap' }));
  assert.deepEqual(
    steps.map((step) => (step.kind === 'point' ? step.edits : step.kind)),
    ['image', []],
  );
});

test('where upstream acts, and where nothing is to be done, there is no step', async () => {
  const managedByOthers = fakeCluster();
  managedByOthers.client.put(Deployment, { metadata: upstreamController } as Deployment);
  const { steps, rest } = await plan(managedByOthers);
  assert.deepEqual([steps, rest.map(({ step }) => step)], [[], ['skip']]);
  const done = fakeCluster({ templates: { [computed]: { version: newRelease } } });
  assert.deepEqual((await plan(done)).steps, []);
});

test('where a policy wants a canary, one machine tries the image for all equal sets; one that passed is not made again, one that failed stops them', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a'), machineSet('wk-b')] });
  c.client.put(BootImagePolicy, { metadata: { name: 'careful' }, spec: { canary: { mode: 'Machine' } } });
  const canaryOf = ({ steps }: ClusterPlan) => steps.find((step) => step.kind === 'canary');
  const { machine = '', sets, policy } = canaryOf(await plan(c)) ?? {};
  assert.match(machine, /^drydock-canary-[0-9a-f]{12}$/);
  assert.deepEqual([sets, policy], [['ms/wk-a', 'ms/wk-b'], 'careful']);
  const record = (verdict: string): void => {
    const canary = { group: machine.slice(-12), verdict, message: 'it never became a node' };
    c.client.put(BootImage, { metadata: { namespace: 'openshift-machine-api', name: 'ms-wk-a' }, status: { canary } });
  };
  record('Passed');
  const passed = await plan(c);
  assert.deepEqual([canaryOf(passed), passed.steps.length], [undefined, 3]);
  record('Failed');
  const { steps, rest } = await plan(c);
  assert.deepEqual(
    steps.map(({ kind }) => kind),
    ['image'],
    'nobody is pointed at it',
  );
  assert.deepEqual(
    rest.map(({ set, step }) => `${set} ${step}`),
    ['ms/wk-a blocked', 'ms/wk-b blocked'],
  );
  assert.match(rest[0]?.why ?? '', /failed: it never became a node/);
});

/** Lets a pass run; where it does other things than were planned, which. */
async function disagreement(
  c: FakeCluster,
  names: readonly string[],
  steps: ClusterPlan['steps'],
): Promise<string | undefined> {
  const expected = new Map(names.map((name) => [name, c.template(name)]));
  for (const step of steps)
    if (step.kind === 'point') for (const { to } of step.edits) expected.set(step.set.replace('ms/', ''), to);
  await c.pass();
  for (const [name, template] of expected)
    if (c.template(name) !== template)
      return `${name} is on ${String(c.template(name))} and not on ${String(template)}`;
  const imports = steps.filter((step) => step.kind === 'image' && step.steps.length > 0).length;
  if (c.store.uploads !== imports) return `${c.store.uploads} imports, ${imports} planned`;
  // Two sets with one stub may both try to convert it; one of them is told that it was done.
  const writes = new Set(c.client.writes.filter((write) => /machinesets|secrets (?!.*-ignition-2$)/.test(write)));
  const planned = steps.filter((step) => (step.kind === 'point' ? step.edits.length > 0 : step.kind === 'stub'));
  return writes.size === planned.length
    ? undefined
    : `${planned.length} writes planned, there were ${[...writes].join('; ')}`;
}

// Worlds of up to six sets, their templates there, outdated or absent, their stubs old or new, in both ways of publication.
test('what is planned is what a pass then does, call by call', async () => {
  let moved = 0;
  const together = (): void => assert.ok(moved > 100, `${moved} steps`);
  for (const seed of seeds(150, 3_000, 'worlds', together)) {
    await withSeed(seed, import.meta.filename, async () => {
      const next = generator(seed);
      const random = { below: (most: number): number => Math.floor(next() * most) };
      const names = Array.from({ length: 1 + random.below(6) }, (_, at) => `wk-${at}`);
      const references = ['gone', computed, published, 'other'];
      const c = fakeCluster({
        publication: random.below(2) === 0 ? 'pointer' : 'swap',
        sets: names.map((name) => machineSet(name, { template: references[random.below(references.length)] })),
        templates: Object.fromEntries(
          [computed, published, 'other'].flatMap((name): [string, { version: string; ours?: boolean }][] =>
            random.below(3) === 0
              ? []
              : [[name, { version: random.below(2) === 0 ? oldRelease : newRelease, ours: name === published }]],
          ),
        ),
        ...(random.below(2) === 0 ? { userData: stub22 } : {}),
      });
      const before = new Map(c.store.templates);
      const { steps } = await plan(c);
      assert.deepEqual([c.client.writes, [...c.store.templates]], [[], [...before]], 'a plan changes nothing');
      moved += steps.length;
      assert.equal(await disagreement(c, names, steps), undefined);
    });
  }
});

test('two sets with one stub in one pass: both are pointed, neither fails for the other', async () => {
  const names = ['wk-a', 'wk-b', 'wk-c', 'wk-d'];
  const sets = names.map((name) => machineSet(name, { template: 'gone' }));
  const c = fakeCluster({ sets, templates: { [computed]: { version: newRelease } }, userData: stub22 });
  await c.pass();
  assert.deepEqual(
    names.map((name) => c.last(name)?.kind),
    names.map(() => 'current'),
  );
});

test('the control: a pass over another world than the planned one is noticed', async () => {
  for (const [change, words] of [
    [
      (c: FakeCluster) =>
        c.edit.set('wk-a', (set) => ({ ...set, metadata: { ...set.metadata, annotations: optedOut } })),
      /^wk-a is on/,
    ],
    [
      (c: FakeCluster) => void c.store.templates.set(published, { version: newRelease, ours: true }),
      /^0 imports, 1 planned$/,
    ],
  ] as const) {
    const c = fakeCluster();
    const { steps } = await plan(c);
    change(c);
    assert.match((await disagreement(c, ['wk-a'], steps)) ?? '', words);
  }
});

const optedOut = {
  'capacity.cluster-autoscaler.kubernetes.io/labels': 'kubernetes.io/arch=amd64',
  'drydock.dev/boot-image': 'Disabled',
};
