import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BootImage,
  BootImagePolicy,
  type BootImagePolicySpec,
  bootImageName,
  Infrastructure,
  MachineSet,
  Secret,
} from '@drydock/api';
import { referenceIndex } from '../observe/references.ts';
import {
  computed,
  fakeCluster,
  infrastructure,
  machineSet,
  newRelease,
  oldRelease,
  published,
  workspace,
} from '../testing/fake-cluster.ts';
import { controlPlane } from '../testing/fake-control-plane.ts';
import { runPass } from './pass.ts';

test('what nobody needs is collected only after a quiet time, and a fresh pointer counts as a reference', async () => {
  const c = fakeCluster({
    templates: { [computed]: { version: oldRelease }, stale: { version: oldRelease, ours: true } },
  });
  assert.deepEqual(await c.pass(), { after: 60_000 });
  assert.deepEqual(c.store.removed, []);
  c.clock += 61_000;
  c.machines.push({ metadata: { name: 'm' }, spec: { providerSpec: { value: { template: 'stale' } } } });
  await c.timer();
  assert.deepEqual(c.store.removed, []);
  c.machines.length = 0;
  await c.timer();
  assert.deepEqual(c.store.removed, ['stale']);
  assert.ok(c.store.templates.has(published));
});

test('OWN-5 a reference that comes while a platform looks at its machines counts: each answer is of the moment', async () => {
  const c = fakeCluster({ templates: { stale: { version: oldRelease, ours: true } } });
  await c.pass();
  c.clock += 61_000;
  const answers: (string | undefined)[] = [];
  c.store.collect = async (_place, _cluster, { referenced }) => {
    answers.push(referenced('stale'));
    await Promise.resolve();
    c.machines.push({ metadata: { name: 'm' }, spec: { providerSpec: { value: { template: 'stale' } } } });
    answers.push(referenced('stale'));
    return [];
  };
  await c.timer();
  assert.deepEqual(answers, [undefined, 'machine m']);
});

test('KEEP-C: a pin that comes while a platform looks at its machines keeps its image: each answer is of the moment', async () => {
  const c = fakeCluster({ templates: { stale: { version: oldRelease, ours: true } } });
  await c.pass();
  c.clock += 61_000;
  const stale = { name: 'stale', release: oldRelease, digest: '', stableName: undefined };
  const answers: (string | undefined)[] = [];
  c.store.collect = async (_place, _cluster, { needed, keep = 0 }) => {
    const ask = (): string | undefined => needed?.(stale, keep);
    answers.push(ask());
    await Promise.resolve();
    c.client.put(BootImage, {
      metadata: { namespace: 'openshift-machine-api', name: bootImageName('ms', 'wk-a') },
      spec: { pin: { release: oldRelease, image: 'stale' } },
    });
    answers.push(ask());
    return [];
  };
  await c.timer();
  assert.deepEqual(answers, [undefined, 'ms-wk-a is pinned to it']);
});

test('the image of a set that is gone is not kept for it', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a'), machineSet('wk-b', { template: 'elsewhere' })] });
  await c.pass();
  assert.ok(c.store.templates.has(published));
  for (const name of ['wk-a', 'wk-b']) c.client.objects.delete(`machinesets openshift-machine-api/${name}`);
  c.client.put(MachineSet, machineSet('wk-c', { template: computed }));
  c.store.templates.set(computed, { version: newRelease });
  c.clock += 61_000;
  await c.timer();
  assert.deepEqual(c.store.removed, [published]);
});

test('references: sets, machines without a VM, failure domains; what is not known keeps everything', () => {
  const machine = (name: string, template: string, more: object): object => ({
    metadata: { name },
    spec: { providerSpec: { value: { template } }, ...more },
  });
  const machines = [machine('new', 'b', {}), machine('old', 'c', { providerID: 'vsphere://1' })] as never[];
  const sources = {
    machineSets: [machineSet('wk-a', { template: '/dc1/vm/f/a' })],
    machines,
    controlPlaneMachineSets: [],
    infrastructure: infrastructure(),
  };
  const lookup = referenceIndex(sources);
  assert.deepEqual(['a', 'b', 'c'].map(lookup), ['machineset wk-a', 'machine new', undefined]);
  assert.equal(referenceIndex({ ...sources, machines: undefined })('c'), 'unknown');
});

test('KEEP-C: templates that the control plane or a failure domain names are kept, and all are where anything that can name one is not known', () => {
  const sources = {
    machineSets: [],
    machines: [],
    controlPlaneMachineSets: [controlPlane(machineSet('like', { template: '/dc1/vm/f/masters' }))],
    infrastructure: infrastructure(),
  };
  const lookup = referenceIndex(sources);
  assert.deepEqual(['masters', computed, 'stale'].map(lookup), [
    'controlplanemachineset cluster',
    'failure domain fd1',
    undefined,
  ]);
  for (const missing of Object.keys(sources))
    assert.equal(referenceIndex({ ...sources, [missing]: undefined })('stale'), 'unknown', missing);
});

test('KEEP-C: while the watch does not show yet that a machine set was moved, the image that it was moved to is kept', async () => {
  const c = fakeCluster();
  const before = c.ports.world.machineSets();
  await c.pass();
  assert.equal(c.template('wk-a'), published);
  const behind = { ...c.ports.world, machineSets: () => before, machineSet: () => before[0] };
  c.clock += 61_000;
  await runPass({ ...c.ports, world: behind }, c.state, { reason: 'Test', touched: 'all' });
  assert.ok(c.store.calls.includes('collect vc1'));
  assert.deepEqual(c.store.removed, []);
  assert.ok(c.store.templates.has(published));
});

test('KEEP-C: of machine sets that share a folder the one whose policy keeps the most templates decides', async () => {
  const c = fakeCluster({ sets: [machineSet('wk-a'), machineSet('wk-b', {}, { labels: { careful: '' } })] });
  const policy = (name: string, spec: BootImagePolicySpec): void =>
    c.client.put(BootImagePolicy, { metadata: { name, generation: 1 }, spec });
  policy('gold', { retention: { keep: 1 } });
  policy('careful', { retention: { keep: 7 }, priority: 1, selector: { matchLabels: { careful: '' } } });
  const kept: (number | undefined)[] = [];
  const { collect } = c.store;
  c.store.collect = (place, cluster, options) => {
    kept.push(options.keep);
    return collect(place, cluster, options);
  };
  await c.pass();
  c.clock += 61_000;
  await c.timer();
  assert.deepEqual(kept, [7]);
});

test('a vCenter that cannot be reached, and a failure domain that is not complete, do not stop the collection elsewhere', async () => {
  const stale = { version: oldRelease, ours: true };
  const c = fakeCluster({
    templates: { [computed]: { version: newRelease }, stale },
    sets: ['vc1', 'vc2', 'vc3'].map((server) => machineSet(server, { workspace: { ...workspace, server } })),
  });
  const domain = infrastructure().spec?.platformSpec?.vsphere?.failureDomains?.[0] ?? assert.fail();
  c.client.put(
    Infrastructure,
    infrastructure(() => ({
      platformSpec: {
        vsphere: {
          vcenters: ['vc1', 'vc2', 'vc3'].map((server) => ({ server })),
          failureDomains: [
            { ...domain, server: 'vc1' },
            { ...domain, server: 'vc2', topology: { ...domain.topology, networks: [] } },
            { ...domain, server: 'vc3' },
          ],
        },
      },
    })),
  );
  const text = Buffer.from('x').toString('base64');
  const data = Object.fromEntries(
    ['vc1', 'vc2', 'vc3'].flatMap((server) => [`${server}.username`, `${server}.password`].map((key) => [key, text])),
  );
  c.client.put(Secret, { metadata: { namespace: 'kube-system', name: 'vsphere-creds' }, data });
  const { collect } = c.store;
  const tried: string[] = [];
  c.store.collect = async (placement, ...rest) => {
    tried.push(placement.server);
    if (placement.server === 'vc1') throw new Error('vc1 is unreachable');
    return collect(placement, ...rest);
  };
  await c.pass();
  assert.deepEqual(tried, ['vc1', 'vc3']);
  assert.deepEqual([c.store.removed, c.warnings.at(-1)], [['stale'], 'unneeded images could not be collected']);
  assert.ok(c.events.includes('vc1 GarbageCollected stale: nobody uses it'));
});
