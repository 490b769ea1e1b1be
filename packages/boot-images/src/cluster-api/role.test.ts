import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { BootImage, BootImagePolicy } from '@drydock/api';
import { until } from '@drydock/kube/testing';
import { putPolicy, runCapiRole, saidOfDeployment } from '../testing/capi-role.ts';
import { capiCluster, capiKind, capiObject, machineDeployment, templateRef } from '../testing/capi-world.ts';
import { namedTemplates } from './collection.ts';
import type { ClusterApiObject } from './kinds.ts';
import { imageNeeds, waysBackBy } from './records.ts';
import { rotatedSet } from './set.ts';

const imagePaths = [
  { group: 'infrastructure.cluster.x-k8s.io', kind: 'MetalMachineTemplate', path: '/spec/template/spec/disk/image' },
];
const catalogue = (image: string) => [{ version: 'v1.34.2', image }];

function world(count: number) {
  const cluster = capiCluster();
  const put = (one: ClusterApiObject): void =>
    cluster.put(capiKind(one.kind ?? ''), { namespace: 'ns', name: one.metadata.name }, one);
  put(capiObject('Cluster', 'c1', {}));
  const names = Array.from({ length: count }, (_, index) => `set-${String(index).padStart(4, '0')}`);
  for (const name of names) {
    put(capiObject('MetalMachineTemplate', name, { template: { spec: { disk: { image: 'old' }, name } } }));
    const infrastructureRef = templateRef(name, 'MetalMachineTemplate');
    put(machineDeployment(name, name, { infrastructureRef }));
  }
  return { cluster, names, put };
}

test('KEEP-8b a process that has lost its Lease writes nothing of sets of Cluster API, not even how they stand', async () => {
  const { cluster } = world(1);
  putPolicy(cluster, { image: { catalogue: catalogue('new') }, clusterAPI: { imagePaths } });
  let asked = 0;
  const assertHeld = (): void => {
    asked += 1;
    throw new Error('the lease is not held');
  };
  const written: string[] = [];
  cluster.subscribe(({ resource }) => written.push(resource));
  await using role = await runCapiRole(cluster, {
    leader: { identity: 'us', holderIsLive: () => true, assertHeld },
  });
  await until('it has tried, and again', () => asked >= 2);
  assert.deepEqual(role.writes, []);
  assert.deepEqual(
    written.filter((resource) => resource.startsWith('bootimages.')),
    [],
  );
});

test('OWN-18 sets that wait for their turn are begun when it comes, each by itself, and not before', async () => {
  const { cluster, names } = world(12);
  putPolicy(cluster, { image: { catalogue: catalogue('new') }, pace: { setsAtATime: 1 }, clusterAPI: { imagePaths } });
  await using role = await runCapiRole(cluster);
  await until('all sets are current', () =>
    names.every((name) => saidOfDeployment(cluster, name)?.phase === 'Current'),
  );
  const patched = role.writes.filter((write) => write.startsWith('patch machinedeployments'));
  assert.deepEqual(
    patched,
    names.map((name) => `patch machinedeployments ns/${name}`),
  );
});

test('OWN-18 without OpenShift a policy says whether it can be followed and how many sets it selects; with it, those of both worlds', async () => {
  const { cluster, put } = world(2);
  const accepted = (): readonly unknown[] => {
    const { conditions = [], selected } = cluster.peek(BootImagePolicy, { name: 'gold' })?.status ?? {};
    const [{ status, reason } = {}] = conditions.filter(({ type }) => type === 'Accepted');
    return [selected, status, reason];
  };
  const told = (...wanted: readonly unknown[]): Promise<unknown> =>
    until(`the policy says ${wanted.join(', ')}`, () => isDeepStrictEqual(accepted(), wanted));
  putPolicy(cluster, { image: { catalogue: catalogue('old') }, clusterAPI: { imagePaths } });
  await using stack = new AsyncDisposableStack();
  const alone = stack.use(await runCapiRole(cluster));
  await told(2, 'True', 'Accepted');
  put(machineDeployment('third', 'set-0000'));
  await told(3, 'True', 'Accepted');
  putPolicy(cluster, { windows: [{ schedule: '0 0 30 2 *', duration: '1h' }] }, 2);
  await told(3, 'False', 'WindowNeverOpens');
  await alone[Symbol.asyncDispose]();
  const { policies } = alone.role;
  const one = { kind: 'MachineSet', labels: {} };
  const refused = async () => ({ reason: 'CanaryNotPermitted', message: 'that world may not' });
  const other = { ...policies, watches: () => [], subjects: async () => [one], refused };
  putPolicy(cluster, { kinds: ['MachineDeployment'] }, 3);
  stack.use(await runCapiRole(cluster, { others: [other] }));
  await told(3, 'True', 'Accepted');
  putPolicy(cluster, {}, 4);
  await told(4, 'False', 'CanaryNotPermitted');
});

test('OWN-18 a pinned BootImage of a set of Cluster API outlives it, holds the next set of that name, and goes when it is lifted; one that lapses is taken off when it does', async () => {
  const { cluster, put } = world(1);
  putPolicy(cluster, { image: { catalogue: catalogue('new') }, clusterAPI: { imagePaths } });
  await using _role = await runCapiRole(cluster);
  const key = { namespace: 'ns', name: 'capi-md-set-0000' };
  const image = (): BootImage | undefined => cluster.peek(BootImage, key);
  const patch = (pin: object | null): Promise<unknown> =>
    cluster.client().mergePatch(BootImage, key, { spec: { pin } } as never);
  const is = (what: string, wanted: () => boolean): Promise<unknown> => until(what, wanted);
  await is('it has the image', () => image()?.status?.current === 'new');
  assert.equal(image()?.metadata.ownerReferences?.length, 1);
  await patch({ image: 'old', release: 'old', reason: 'r', by: 'b' });
  await is('it is pinned, and nobody owns it', () => {
    const { metadata, status } = image() ?? {};
    return status?.reason === 'Pinned' && status.current === 'old' && metadata?.ownerReferences === undefined;
  });
  const set = { namespace: 'ns', name: 'set-0000' };
  const live = cluster.peek(capiKind('MachineDeployment'), set);
  cluster.put(capiKind('MachineDeployment'), set, undefined);
  put({
    ...machineDeployment('other', 'set-0000', { infrastructureRef: templateRef('set-0000', 'MetalMachineTemplate') }),
  });
  await is('another set was looked at since', () => saidOfDeployment(cluster, 'other')?.current === 'new');
  assert.equal(image()?.spec?.pin?.image, 'old', 'it is there without its set');
  assert.ok(live !== undefined);
  put(
    machineDeployment('set-0000', 'set-0000', { infrastructureRef: templateRef('set-0000', 'MetalMachineTemplate') }),
  );
  await is(
    'the set of that name obeys it',
    () => image()?.status?.reason === 'Pinned' && image()?.status?.current === 'old',
  );
  await patch({ image: 'old', release: 'old', reason: 'r', by: 'b', until: new Date(Date.now() + 1500).toISOString() });
  await is('it has lapsed: the set has what its policy wants, and owns it again', () => {
    const { metadata, spec, status } = image() ?? {};
    return spec?.pin === undefined && status?.current === 'new' && metadata?.ownerReferences?.length === 1;
  });
});

test('OWN-18 the BootImage of a set that is gone goes with its pin', async () => {
  const { cluster } = world(1);
  putPolicy(cluster, { image: { catalogue: catalogue('new') }, clusterAPI: { imagePaths } });
  await using _role = await runCapiRole(cluster);
  const key = { namespace: 'ns', name: 'capi-md-set-0000' };
  const image = (): BootImage | undefined => cluster.peek(BootImage, key);
  await until('it has the image', () => image()?.status?.current === 'new');
  await cluster.client().mergePatch(BootImage, key, { spec: { pin: { image: 'old' } } });
  await until('nobody owns it', () => image()?.metadata.ownerReferences === undefined);
  cluster.put(capiKind('MachineDeployment'), { namespace: 'ns', name: 'set-0000' }, undefined);
  await cluster.client().mergePatch(BootImage, key, { spec: { pin: null } } as never);
  await until('it is gone', () => image() === undefined);
});

test('OWN-18 a process that does not lead any more takes off no pin that has lapsed; once it leads again it does', async () => {
  const cluster = capiCluster();
  const key = { namespace: 'ns', name: 'capi-md-gone' };
  const pin = { image: 'old', until: new Date(Date.now() - 1000).toISOString() };
  // Of a set that is gone nobody but the keeper of pins writes.
  const machineSet = { apiGroup: 'cluster.x-k8s.io', kind: 'MachineDeployment', name: 'gone' };
  cluster.put(BootImage, key, { metadata: key, spec: { machineSet, pin } });
  const pinned = (): boolean => cluster.peek(BootImage, key)?.spec?.pin !== undefined;
  let leads = false;
  let asked = 0;
  const assertHeld = (): void => {
    asked += 1;
    if (!leads) throw new Error('somebody else leads');
  };
  await using _role = await runCapiRole(cluster, { leader: { identity: 'us', holderIsLive: () => true, assertHeld } });
  await until('it was looked at', () => asked > 0 || !pinned());
  assert.ok(pinned());
  leads = true;
  await until('the pin is taken off', () => !pinned());
});

test('OWN-18 copies of kinds that a policy names are collected as those of known kinds: not while a set, a machine or a history needs them', async () => {
  const { cluster, put } = world(1);
  const templates = (): readonly string[] =>
    Object.keys(cluster.snapshot()).filter((id) => id.startsWith('metalmachinetemplates.'));
  const spec = (image: string) => ({ image: { catalogue: catalogue(image) }, clusterAPI: { imagePaths } });
  let now = Date.now();
  putPolicy(cluster, spec('one'));
  await using role = await runCapiRole(cluster, { now: () => new Date(now), retain: 0, graceMs: 1000 });
  const made: string[] = [];
  for (const [index, image] of ['one', 'two', 'three'].entries()) {
    if (index > 0) putPolicy(cluster, spec(image), index + 1);
    await until(`the set has ${image}`, () => saidOfDeployment(cluster, 'set-0000')?.current === image);
    const live = cluster.peek(capiKind('MachineDeployment'), { namespace: 'ns', name: 'set-0000' });
    made.push(rotatedSet('MachineDeployment', live ?? assert.fail('the set is gone')).reference?.name ?? '');
  }
  const [first, second, third] = made;
  put(
    capiObject(
      'MetalMachine',
      'machine',
      {},
      {
        annotations: {
          'cluster.x-k8s.io/cloned-from-name': second ?? '',
          'cluster.x-k8s.io/cloned-from-groupkind': 'MetalMachineTemplate.infrastructure.cluster.x-k8s.io',
        },
      },
    ),
  );
  const gone = (name: string | undefined): boolean => !templates().some((id) => id.endsWith(`/${name}`));
  const later = async (done: () => boolean): Promise<void> => {
    await until('what is not needed goes', () => {
      now += 2000;
      role.collect();
      return done();
    });
  };
  await later(() => gone(first));
  assert.deepEqual([gone(second), gone(third), gone('set-0000')], [false, false, false]);
  // Once the machine is gone, too.
  cluster.put(capiKind('MetalMachine'), { namespace: 'ns', name: 'machine' }, undefined);
  await later(() => gone(second));
  assert.deepEqual([gone(third), gone('set-0000')], [false, false], 'what a set names, and what a person made');
});

test('OWN-18 of a kind that a policy names nothing is collected where nobody can tell what its machines need', () => {
  const group = 'infrastructure.cluster.x-k8s.io';
  const names = (served: readonly string[], path = { group, kind: 'MetalMachineTemplate' }): readonly string[] =>
    namedTemplates([path], [capiKind('AWSMachineTemplate')], {
      of: (_, kind) => (served.includes(kind) ? capiKind(kind) : undefined),
    }).map(({ kind }) => kind);
  assert.deepEqual(names(['MetalMachineTemplate', 'MetalMachine']), ['MetalMachineTemplate']);
  assert.deepEqual(names(['MetalMachineTemplate']), []);
  assert.deepEqual(names(['MetalMachine']), []);
  const known = { group, kind: 'AWSMachineTemplate' };
  assert.deepEqual(names(['AWSMachineTemplate', 'MetalMachine'], known), [], 'it is collected already');
  assert.deepEqual(names(['MetalMachine'], { group, kind: 'MetalMachine' }), [], 'and a machine is no template');
});

test('OWN-18 a copy of which nobody says any more where it names its image stays: a history may need it', () => {
  const labels = { 'app.kubernetes.io/managed-by': 'drydock' };
  const annotations = { 'drydock.dev/rotated-from': 'worker' };
  const spec = { template: { spec: { disk: { image: 'old' } } } };
  const copy = capiObject('MetalMachineTemplate', 'worker-0123abcd', spec, { labels, annotations });
  const image = { metadata: { name: 'capi-md-w', namespace: 'ns' }, status: { history: [{ id: '1', image: 'old' }] } };
  const needs = (paths: typeof imagePaths, images = [image]) => waysBackBy(() => images, 2, paths)(copy);
  assert.match(needs([]) ?? '', /whoever says where MetalMachineTemplate names its image/);
  assert.equal(needs(imagePaths), 'the history of bootimage capi-md-w');
  assert.equal(needs(imagePaths, []), undefined);
});

test('OWN-18 the way back of a set of Cluster API counts images, not entries: one that was used twice does not push out another', () => {
  const labels = { 'app.kubernetes.io/managed-by': 'drydock' };
  const annotations = { 'drydock.dev/rotated-from': 'worker' };
  const until = '2026-01-01T00:00:00Z';
  const history = [
    { id: '6', image: 'r' },
    { id: '5', image: 'q', until },
    { id: '4', image: 'r', until },
    { id: '2', image: 'q', until },
    { id: '1', image: 'p', until },
    { id: '0', image: 'o', until },
  ];
  const image = { metadata: { name: 'capi-md-w', namespace: 'ns' }, status: { history } };
  const kept = (keep: number): readonly string[] =>
    ['r', 'q', 'p', 'o'].filter((name) => {
      const copy = capiObject(
        'MetalMachineTemplate',
        'c',
        { template: { spec: { disk: { image: name } } } },
        { labels, annotations },
      );
      const [byCopy, byName] = [
        waysBackBy(() => [image], keep, imagePaths)(copy),
        imageNeeds(() => [image], keep)(name),
      ];
      assert.equal(byCopy === undefined, byName === undefined, 'copies and images are needed by one rule');
      return byName !== undefined;
    });
  assert.deepEqual(
    [kept(1), kept(2), kept(3)],
    [
      ['r', 'q'],
      ['r', 'q', 'p'],
      ['r', 'q', 'p', 'o'],
    ],
  );
});

test('OWN-18 the first rotation of a set of which nothing was said yet: its history has the image that it comes from', async () => {
  const { cluster } = world(1);
  putPolicy(cluster, { image: { catalogue: catalogue('new') }, clusterAPI: { imagePaths } });
  await using _ = await runCapiRole(cluster);
  await until('the set is current', () => saidOfDeployment(cluster, 'set-0000')?.phase === 'Current');
  const { history = [] } = saidOfDeployment(cluster, 'set-0000') ?? {};
  assert.deepEqual(
    history.map(({ image, by, until: ended, revertable }) => [image, by, ended === undefined, revertable]),
    [
      ['new', 'release', true, undefined],
      ['old', 'found', false, true],
    ],
  );
});
