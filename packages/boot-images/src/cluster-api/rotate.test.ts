import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../observe/json.ts';
import type { SetOutcome } from '../status/subject.ts';
import { capiCluster, capiKind, capiObject, machineDeployment, vsphereTemplate } from '../testing/capi-world.ts';
import type { ClusterApiObject } from './kinds.ts';
import { type RotationPorts, rotate } from './rotate.ts';
import { rotatedSet } from './set.ts';

interface Scene {
  readonly ports: RotationPorts;
  readonly writes: string[];
  readonly outcomes: SetOutcome[];
  readonly peek: (kind: string, name: string) => ClusterApiObject | undefined;
}

/** One set, and an image that is there. */
function scene(objects: readonly ClusterApiObject[], classVariable?: string): Scene {
  const cluster = capiCluster();
  const peek: Scene['peek'] = (kind, name) => cluster.peek(capiKind(kind), { namespace: 'ns', name });
  for (const one of objects) cluster.put(capiKind(one.kind ?? ''), { namespace: 'ns', name: one.metadata.name }, one);
  const writes: string[] = [];
  cluster.onCall = ({ verb, resource }, phase, { mutates }) => {
    if (mutates && phase === 'before') writes.push(`${verb} ${resource.split('.')[0]}`);
  };
  const outcomes: SetOutcome[] = [];
  const ports: RotationPorts = {
    ...{ client: cluster.client(), resourceOf: (_: string, kind: string) => capiKind(kind) },
    reader: {
      get: async ({ kind, name }) => peek(kind, name),
      seen: ({ kind, name }) => peek(kind, name),
      ...{ ofTopology: () => [], machines: () => [], otherAuthority: () => undefined },
    },
    images: {
      look: async () => ({ image: 'new' }),
      foresee: () => assert.fail('it is there'),
      publish: () => assert.fail('it is there'),
    },
    wish: () => ({
      image: () => ({ kind: 'named', release: 'new', image: 'new' }),
      ...{ rollout: true, imagePaths: [], classVariable, policy: 'bootimagepolicy p' },
    }),
    report: async (_, outcome) => void outcomes.push(outcome),
    tried: () => assert.fail('no canary is wanted'),
    event: () => undefined,
  };
  return { ports, writes, outcomes, peek };
}

const name = { kind: 'MachineDeployment', namespace: 'ns', name: 'worker' } as const;

test('a rotation is two writes besides its status, and one that is done is none', async () => {
  const { ports, writes, outcomes } = scene([
    capiObject('Cluster', 'c1', {}),
    vsphereTemplate('worker', 'old', 2),
    machineDeployment('worker', 'worker'),
  ]);
  await rotate(name, ports);
  assert.deepEqual(writes, ['create vspheremachinetemplates', 'patch machinedeployments']);
  await rotate(name, ports);
  assert.equal(writes.length, 2);
  assert.deepEqual(
    outcomes.map(({ kind, ...of }) => [kind, 'by' in of ? of.by : undefined]),
    [
      ['current', 'release'],
      ['current', undefined],
    ],
  );
});

const objects = [
  capiObject('Cluster', 'c1', {}),
  vsphereTemplate('worker', 'old', 2),
  machineDeployment('worker', 'worker'),
];
const referenceOf = ({ peek }: Scene): string =>
  rotatedSet('MachineDeployment', peek('MachineDeployment', 'worker') ?? assert.fail('it is there')).reference?.name ??
  '';

test('OWN-18 a process that does not lead any more writes nothing of a rotation', async () => {
  const { ports, writes } = scene(objects);
  const mayWrite = (): void => {
    throw new Error('somebody else leads');
  };
  await assert.rejects(rotate(name, { ...ports, mayWrite }), /somebody else leads/);
  assert.deepEqual(writes, []);
});

test('KEEP-C: a rotation acts on what the server says now, not on what the watch showed last', async () => {
  const { ports, writes, outcomes, peek } = scene(objects);
  const paused = capiObject('Cluster', 'c1', { paused: true });
  const reader: RotationPorts['reader'] = {
    ...ports.reader,
    get: async ({ kind, name }) => (kind === 'Cluster' ? paused : peek(kind, name)),
  };
  await rotate(name, { ...ports, reader });
  assert.deepEqual(writes, [], 'not even a copy of the template');
  const last = outcomes.at(-1);
  assert.deepEqual([last?.kind, last?.kind === 'waiting' && last.reason], ['waiting', 'Paused']);
});

test('OWN-18 no set is pointed at a copy that is being deleted: it gets one under the next name', async () => {
  const first = scene(objects);
  await rotate(name, first.ports);
  const copy = first.peek('VSphereMachineTemplate', referenceOf(first)) ?? assert.fail('it was made');
  const going = {
    ...copy,
    metadata: { ...copy.metadata, deletionTimestamp: '2026-08-02T00:00:00Z', finalizers: ['x/y'] },
  };
  const next = scene([...objects, going]);
  await rotate(name, next.ports);
  assert.notEqual(referenceOf(next), copy.metadata.name);
  assert.equal(next.peek('VSphereMachineTemplate', referenceOf(next))?.metadata.deletionTimestamp, undefined);
  assert.equal(next.outcomes.at(-1)?.kind, 'current');
});

for (const [where, topology, path] of [
  ['of the cluster', { variables: [{ name: 'imageName', value: 'old' }] }, ['variables']],
  ['of the cluster, where none is set', {}, ['variables']],
  [
    'of the set',
    {
      workers: {
        machineDeployments: [{ name: 'md0', variables: { overrides: [{ name: 'imageName', value: 'old' }] } }],
      },
    },
    undefined,
  ],
] as const)
  test(`what a ClusterClass makes gets its image by the variable ${where} that the policy names, and by nothing else`, async () => {
    const set = machineDeployment('worker', 'worker');
    const labels = { 'topology.cluster.x-k8s.io/owned': '', 'topology.cluster.x-k8s.io/deployment-name': 'md0' };
    const { ports, writes, outcomes, peek } = scene(
      [
        capiObject('Cluster', 'c1', { topology: { class: 'class', version: 'v1.34.2', ...topology } }),
        capiObject('ClusterClass', 'class', {
          variables: [{ name: 'imageName', schema: { openAPIV3Schema: { type: 'string' } } }],
        }),
        vsphereTemplate('worker', 'old', 2),
        { ...set, metadata: { ...set.metadata, labels } },
      ],
      'imageName',
    );
    await rotate(name, ports);
    assert.deepEqual(writes, ['patch clusters']);
    const spec = at(peek('Cluster', 'c1')?.spec, ['topology']);
    const wanted = [{ name: 'imageName', value: 'new' }];
    const machineDeployments = [{ name: 'md0', variables: { overrides: wanted } }];
    const rest = { class: 'class', version: 'v1.34.2' };
    assert.deepEqual(
      spec,
      path === undefined ? { ...rest, workers: { machineDeployments } } : { ...rest, variables: wanted },
    );
    assert.equal(rotatedSet('MachineDeployment', peek('MachineDeployment', 'worker') ?? set).reference?.name, 'worker');
    assert.equal(outcomes.at(-1)?.kind, 'waiting');
  });

test('OWN-18 a window that closes, or a hold, while an image is made: the upload may end, and no template is copied and no set pointed at it', async () => {
  const { ports, writes, outcomes } = scene([
    capiObject('Cluster', 'c1', {}),
    vsphereTemplate('worker', 'old', 2),
    machineDeployment('worker', 'worker'),
  ]);
  let made = false;
  const closed = { reason: 'WindowClosed', brief: 'closed', message: 'no window is open' };
  await rotate(name, {
    ...ports,
    images: {
      ...ports.images,
      look: async () => ({ image: made ? 'new' : undefined }),
      publish: async () => {
        made = true;
      },
    },
    wish: (set) => ({ ...ports.wish(set), ...(made ? { waits: closed } : {}) }),
  });
  assert.deepEqual([made, writes, outcomes.at(-1)?.kind], [true, [], 'waiting']);
  await rotate(name, { ...ports, images: { ...ports.images, look: async () => ({ image: 'new' }) } });
  assert.deepEqual(writes, ['create vspheremachinetemplates', 'patch machinedeployments'], 'when it opens');
});
