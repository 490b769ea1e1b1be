import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BootImagePolicySpec } from '@drydock/api';
import type { SetOutcome } from '../status/subject.ts';
import { capiObject, machineDeployment, templateRef, vsphereTemplate } from '../testing/capi-world.ts';
import { decideRotation } from './decide.ts';
import type { ClusterApiObject } from './kinds.ts';
import { withSiblings } from './observe.ts';
import type { ImageThere, Rotation, RotationStep } from './rotation.ts';
import { type RotatedKind, rotatedSet } from './set.ts';
import { wishFor } from './wish.ts';

const OVA = { version: 'v1.34.2', url: 'https://images.example/x.ova', sha256: 'ab'.repeat(32) };
const TARGET = 'v1.34.2-abababab';

interface Scene {
  readonly set?: ClusterApiObject;
  readonly kind?: RotatedKind;
  readonly policy?: BootImagePolicySpec | false;
  readonly cluster?: ClusterApiObject;
  readonly clusterClass?: ClusterApiObject;
  readonly template?: ClusterApiObject | false;
  readonly there?: ImageThere;
  readonly more?: Partial<Rotation>;
  readonly siblings?: readonly ClusterApiObject[];
}

function decide(scene: Scene): RotationStep {
  const { set = machineDeployment('worker', 'worker'), kind = 'MachineDeployment', policy = {}, template } = scene;
  const found = template === false ? undefined : (template ?? vsphereTemplate('worker', 'old', 2));
  const seen: Rotation = {
    ...{ set: rotatedSet(kind, set), siblings: (scene.siblings ?? []).map((one) => rotatedSet(kind, one)) },
    ...{ cluster: scene.cluster ?? capiObject('Cluster', 'c1', {}), clusterClass: scene.clusterClass, template: found },
    ...{ beside: () => undefined, remediated: [], otherAuthority: undefined, ...scene.more },
  };
  const policies =
    policy === false ? [] : [{ metadata: { name: 'p' }, spec: { image: { catalogue: [OVA] }, ...policy } }];
  const wish = wishFor(seen.set, { policies, image: undefined, now: new Date('2026-01-01T00:00:00Z') });
  return decideRotation(seen, wish, scene.there ?? { image: 'published' });
}

function outcome(scene: Scene): Extract<SetOutcome, { readonly kind: 'skip' | 'failed' | 'waiting' }> {
  const step = decide(scene);
  assert.equal(step.kind, 'settled', JSON.stringify(step));
  assert.ok(step.kind === 'settled' && step.outcome.kind !== 'current' && step.outcome.kind !== 'step');
  return step.outcome;
}

const rolling = machineDeployment('worker', 'worker', { strategy: { type: 'RollingUpdate' }, replicas: 12 });

test('rolling every node is never a surprise: 12 nodes stay, and the command that allows it is named', () => {
  const { kind, reason, message, nextStep, target } = outcome({ set: rolling });
  assert.deepEqual([kind, reason, target], ['skip', 'RolloutNotAllowed', TARGET]);
  assert.match(message, /would roll 12 nodes of machinedeployment ns\/worker/);
  assert.equal(
    nextStep,
    `kubectl patch bootimagepolicy p --type merge -p '{"spec":{"clusterAPI":{"rollout":"Allow"}}}'`,
  );
  assert.equal(decide({ set: rolling, policy: { clusterAPI: { rollout: 'Allow' } } }).kind, 'clone');
  // One that says nothing of its strategy rolls, too; one OnDelete, and sets that replace nothing, are pointed at it.
  const silent = machineDeployment('worker', 'worker', { strategy: {} });
  assert.equal(outcome({ set: silent }).reason, 'RolloutNotAllowed');
  assert.equal(decide({}).kind, 'clone');
  assert.equal(decide({ set: { ...rolling, kind: 'MachineSet' }, kind: 'MachineSet' }).kind, 'clone');
});

test('OWN-18 a policy that wants a canary, which is not made of machines of Cluster API: nothing is patched, and the reason says so', () => {
  const { kind, reason, message, nextStep } = outcome({ policy: { canary: { mode: 'Machine' } } });
  assert.deepEqual([kind, reason], ['failed', 'CanaryUnsupported']);
  assert.match(
    `${message}; ${nextStep}`,
    /bootimagepolicy p wants a canary .*; give machinedeployment ns\/worker a policy without/,
  );
  assert.equal(decide({ policy: { canary: { mode: 'None' } } }).kind, 'clone');
});

test('both contract versions are read: v1beta2 has rollout and apiGroup, control planes another place of the reference', () => {
  const ref = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'VSphereMachineTemplate', name: 'worker' };
  const beta2 = (strategy: string): ClusterApiObject =>
    capiObject('MachineDeployment', 'worker', {
      ...{ clusterName: 'c1', replicas: 3, rollout: { strategy: { type: strategy } } },
      template: { spec: { clusterName: 'c1', version: 'v1.34.2', infrastructureRef: ref } },
    });
  assert.equal(decide({ set: beta2('OnDelete') }).kind, 'clone');
  assert.match(outcome({ set: beta2('RollingUpdate') }).message, /3 nodes/);
  const plane = (machineTemplate: object): ClusterApiObject =>
    capiObject(
      'KubeadmControlPlane',
      'cp',
      { version: 'v1.34.2', replicas: 3, machineTemplate },
      { labels: { 'cluster.x-k8s.io/cluster-name': 'c1' } },
    );
  for (const [machineTemplate, path] of [
    [{ infrastructureRef: templateRef('worker') }, 'spec.machineTemplate.infrastructureRef'],
    [{ spec: { infrastructureRef: ref } }, 'spec.machineTemplate.spec.infrastructureRef'],
  ] as const) {
    const set = plane(machineTemplate);
    assert.equal(rotatedSet('KubeadmControlPlane', set).referencePath.join('.'), path);
    assert.equal(outcome({ set, kind: 'KubeadmControlPlane' }).reason, 'RolloutNotAllowed');
  }
});

test('KEEP-C: a set of Cluster API that a person or a policy has opted out is left alone, whatever else holds for it', () => {
  const set = machineDeployment('worker', 'worker');
  const annotations = { 'drydock.dev/boot-image': 'Disabled', 'drydock.dev/boot-image-reason': 'ours to change' };
  for (const [scene, says] of [
    [{ set: { ...set, metadata: { ...set.metadata, annotations } } }, /by annotation .*: ours to change/],
    [{ policy: { optOut: { reason: 'the fair' } } }, /by bootimagepolicy p: the fair/],
  ] as const) {
    const { kind, reason, message } = outcome(scene);
    assert.deepEqual([kind, reason], ['skip', 'OptedOut']);
    assert.match(message, says);
  }
});

test('paused clusters and sets, running rollouts and remediation wait', () => {
  const allow = { clusterAPI: { rollout: 'Allow' } } as const;
  const waits = (scene: Scene): string => {
    const { kind, reason } = outcome({ set: rolling, policy: allow, ...scene });
    assert.equal(kind, 'waiting');
    return reason;
  };
  assert.equal(waits({ cluster: capiObject('Cluster', 'c1', { paused: true }) }), 'Paused');
  assert.equal(
    waits({ cluster: capiObject('Cluster', 'c1', {}, { annotations: { 'cluster.x-k8s.io/paused': '' } }) }),
    'Paused',
  );
  assert.equal(waits({ set: { ...rolling, spec: { ...rolling.spec, paused: true } } }), 'Paused');
  assert.equal(waits({ set: { ...rolling, status: { replicas: 12, updatedReplicas: 3 } } }), 'RolloutRunning');
  assert.equal(waits({ set: { ...rolling, status: { replicas: 12, upToDateReplicas: 3 } } }), 'RolloutRunning');
  const condition = { type: 'Remediating', status: 'True' };
  assert.equal(waits({ set: { ...rolling, status: { v1beta2: { conditions: [condition] } } } }), 'RolloutRunning');
  assert.equal(waits({ more: { remediated: ['worker-1'] } }), 'Remediating');
  assert.equal(waits({ policy: { ...allow, hold: { reason: 'freeze' } } }), 'Held');
  // What waits for people to delete machines is not running.
  const onDelete = machineDeployment('worker', 'worker');
  assert.equal(decide({ set: { ...onDelete, status: { replicas: 2, updatedReplicas: 0 } } }).kind, 'clone');
});

test('only the image leaf is changed in the clone, whose name is the base and eight digits of its content', () => {
  const template = {
    ...vsphereTemplate('worker', 'old', 2),
    metadata: {
      ...{ name: 'worker', namespace: 'ns', uid: 'u', resourceVersion: '7' },
      labels: { 'cluster.x-k8s.io/cluster-name': 'c1', 'app.kubernetes.io/instance': 'argo' },
      annotations: { 'argocd.argoproj.io/tracking-id': 'x', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
      ownerReferences: [{ apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Cluster', name: 'c1', uid: 'c' }],
    },
  };
  const step = decide({ template });
  assert.ok(step.kind === 'clone');
  const { metadata, spec } = step.template;
  assert.match(metadata.name, /^worker-[0-9a-f]{8}$/);
  assert.deepEqual(spec, { template: { spec: { template: 'published', numCPUs: 2, server: 'vc1' } } });
  assert.deepEqual(metadata.labels, {
    'cluster.x-k8s.io/cluster-name': 'c1',
    'app.kubernetes.io/managed-by': 'drydock',
  });
  assert.deepEqual(Object.keys(metadata.annotations ?? {}), [
    'drydock.dev/rotated-from',
    'drydock.dev/boot-image-release',
  ]);
  assert.deepEqual(metadata.ownerReferences, template.metadata.ownerReferences);
  // The next one has the same base, whatever it was made of.
  const next = decide({ template: step.template, there: { image: 'later' } });
  assert.ok(next.kind === 'clone');
  assert.match(next.template.metadata.name, /^worker-[0-9a-f]{8}$/);
  assert.notEqual(next.template.metadata.name, metadata.name);
});

test('a clone that is there is pointed at, guarded; one that was about to be collected is kept first; what only bears its name is passed by', () => {
  const step = decide({});
  assert.ok(step.kind === 'clone');
  const clone = step.template;
  const { name } = clone.metadata;
  const beside = (found: ClusterApiObject) => ({
    more: { beside: (one: string) => (one === name ? found : undefined) },
  });
  const point = decide(beside({ ...clone, spec: { ...clone.spec, defaulted: true } }));
  assert.ok(point.kind === 'point');
  assert.deepEqual([point.from, point.to], ['worker', name]);
  const annotations = { ...clone.metadata.annotations, 'drydock.dev/retired-since': '2026-01-01T00:00:00Z' };
  assert.equal(decide(beside({ ...clone, metadata: { ...clone.metadata, annotations } })).kind, 'keep');
  const other = decide(beside({ ...vsphereTemplate(name, 'published', 4) }));
  assert.ok(other.kind === 'clone' && other.template.metadata.name !== name);
  // Not all of it is: a copy that somebody made with kubectl is his to change, and to delete.
  const copied = decide(beside({ ...clone, metadata: { ...clone.metadata, labels: {} } }));
  assert.ok(copied.kind === 'clone' && copied.template.metadata.name !== name);
});

test('unknown kinds of infrastructure need a path from a policy, and a wrong path changes nothing', () => {
  const group = 'infrastructure.cluster.x-k8s.io';
  const set = machineDeployment('worker', 'worker', {
    infrastructureRef: { ...templateRef('worker'), kind: 'FooMachineTemplate' },
  });
  const template = {
    apiVersion: `${group}/v1`,
    kind: 'FooMachineTemplate',
    metadata: { name: 'worker' },
    spec: { template: { spec: { image: 'old', sizes: [1] } } },
  };
  const unknown = outcome({ set, template });
  assert.equal(unknown.reason, 'UnknownInfrastructure');
  assert.match(unknown.nextStep ?? '', /kind: FooMachineTemplate, path: \/spec/);
  const withPath = (path: string): BootImagePolicySpec => ({
    image: { catalogue: [{ version: 'v1.34.2', image: 'new' }] },
    clusterAPI: { imagePaths: [{ group, kind: 'FooMachineTemplate', path }] },
  });
  const step = decide({ set, template, policy: withPath('/spec/template/spec/image') });
  assert.ok(step.kind === 'clone');
  assert.deepEqual(step.template.spec, { template: { spec: { image: 'published', sizes: [1] } } });
  for (const path of ['/metadata/name', '/spec/template/spec/sizes/0', '/spec//x', '/spec/template/spec/sizes'])
    assert.equal(outcome({ set, template, policy: withPath(path) }).reason, 'ImagePathInvalid', path);
  const pool = machineDeployment('worker', 'worker', {
    infrastructureRef: { ...templateRef('worker'), kind: 'AWSMachinePool' },
  });
  assert.equal(outcome({ set: pool }).reason, 'NotATemplate');
});

test('catalogues with missing, ambiguous or unusable entries are told with what to do, and nothing is taken in their place', () => {
  const told = (catalogue: readonly object[]): string => {
    const { reason, nextStep } = outcome({ policy: { image: { catalogue: catalogue as [] } } });
    assert.ok(nextStep !== undefined);
    return reason;
  };
  assert.equal(told([{ ...OVA, version: 'v1.33.0' }]), 'NotInCatalogue');
  assert.equal(told([OVA, { ...OVA, sha256: 'cd'.repeat(32) }]), 'CatalogueAmbiguous');
  assert.equal(told([{ ...OVA, url: 'file:///etc/passwd' }]), 'CatalogueUnusable');
  assert.equal(told([{ ...OVA, sha256: 'ab' }]), 'CatalogueUnusable');
  assert.equal(told([{ version: 'v1.34.2', contentLibraryItem: 'lib/x' }]), 'CatalogueUnusable');
  const item = [{ version: 'v1.34.2', contentLibraryItem: 'lib/x', sha256: OVA.sha256 }];
  assert.equal(decide({ policy: { image: { catalogue: item } } }).kind, 'clone', 'OWN-18 an item of a content library');
  assert.equal(told([{ ...OVA, architecture: 'arm64' }]), 'NotInCatalogue');
  assert.equal(decide({ policy: { image: { catalogue: [{ ...OVA, version: '1.34.2' }] } } }).kind, 'clone');
  assert.equal(outcome({ policy: false }).reason, 'NoPolicy');
  assert.equal(outcome({ template: false }).reason, 'TemplateMissing');
});

const classOf = (type: string): ClusterApiObject =>
  capiObject('ClusterClass', 'class', {
    variables: [{ name: 'imageName', schema: { openAPIV3Schema: { type } } }],
    patches: [
      {
        definitions: [
          {
            selector: { kind: 'VSphereMachineTemplate' },
            jsonPatches: [
              { op: 'replace', path: '/spec/template/spec/template', valueFrom: { variable: 'imageName' } },
            ],
          },
        ],
      },
    ],
  });
const topology = (variables: readonly object[]): ClusterApiObject =>
  capiObject('Cluster', 'c1', { topology: { class: 'class', version: 'v1.34.2', variables } });
const byClass = (name: string, more: object = {}): ClusterApiObject => {
  const set = machineDeployment(name, 'worker', { ...more });
  return { ...set, metadata: { ...set.metadata, labels: { 'topology.cluster.x-k8s.io/owned': '' } } };
};

test('what a ClusterClass makes is left to its variable, which is named, and changed only where the policy names it', () => {
  const cluster = topology([{ name: 'imageName', value: 'old' }]);
  const scene = { set: byClass('worker'), cluster, clusterClass: classOf('string') };
  const named = outcome(scene);
  assert.deepEqual([named.kind, named.reason], ['skip', 'ManagedByClusterClass']);
  assert.match(named.message, /variable imageName of cluster ns\/c1/);
  assert.match(named.nextStep ?? '', /classVariable: imageName/);
  const plain = outcome({ ...scene, clusterClass: capiObject('ClusterClass', 'class', {}) });
  assert.match(plain.message, /a template of ClusterClass class/);
  const policy = { clusterAPI: { classVariable: 'imageName' } };
  const step = decide({ ...scene, policy });
  assert.ok(step.kind === 'variable');
  assert.deepEqual(
    [step.variable, step.value, step.place.value],
    ['imageName', 'published', '/spec/topology/variables/0/value'],
  );
  for (const [clusterClass, variable] of [
    [classOf('object'), 'imageName'],
    [classOf('string'), 'other'],
    [undefined, 'imageName'],
  ] as const) {
    const wrong = outcome({
      ...scene,
      ...(clusterClass === undefined ? { clusterClass: undefined } : { clusterClass }),
      policy: { clusterAPI: { classVariable: variable } },
    } as Scene);
    assert.deepEqual([wrong.kind, wrong.reason], ['failed', 'ClassVariableInvalid']);
  }
  assert.equal(
    outcome({ ...scene, policy, cluster: topology([{ name: 'imageName', value: { a: 1 } }]) }).reason,
    'ClassVariableInvalid',
  );
  const followed = outcome({ ...scene, policy, cluster: topology([{ name: 'imageName', value: 'published' }]) });
  assert.deepEqual([followed.kind, followed.reason], ['waiting', 'TopologyPending']);
});

test('in both worlds at once, a set that Machine API manages says so', () => {
  const told = outcome({ more: { otherAuthority: 'machineset openshift-machine-api/worker' } });
  assert.deepEqual([told.kind, told.reason], ['skip', 'OtherAuthority']);
  assert.match(told.message, /follows machineset openshift-machine-api\/worker/);
});

test('a variable that serves several sets counts the nodes of all, and waits for all', () => {
  const cluster = topology([{ name: 'imageName', value: 'old' }]);
  const policy = { clusterAPI: { classVariable: 'imageName' } };
  const scene = { set: byClass('worker'), cluster, clusterClass: classOf('string'), policy };
  const rolls = byClass('other', { strategy: { type: 'RollingUpdate' }, replicas: 5 });
  assert.match(outcome({ ...scene, siblings: [rolls] }).message, /5 nodes of machinedeployment ns\/other/);
  assert.equal(outcome({ ...scene, siblings: [byClass('other', { version: 'v1.33.0' })] }).reason, 'UpgradeRunning');
});

test('KEEP-C: a variable that serves several sets is not changed while machines of any of them are being replaced', () => {
  const cluster = topology([{ name: 'imageName', value: 'old' }]);
  const policy = { clusterAPI: { classVariable: 'imageName', rollout: 'Allow' } } as const;
  const scene = { set: byClass('worker'), cluster, clusterClass: classOf('string'), policy };
  const busy = byClass('other', { strategy: { type: 'RollingUpdate' }, replicas: 5 });
  const { kind, reason, message } = outcome({
    ...scene,
    siblings: [byClass('idle'), { ...busy, status: { replicas: 5, updatedReplicas: 3 } }],
  });
  assert.deepEqual([kind, reason], ['waiting', 'RolloutRunning']);
  assert.match(message, /^machinedeployment ns\/other: /);
  const done = { ...busy, status: { replicas: 5, updatedReplicas: 5 } };
  assert.equal(decide({ ...scene, siblings: [byClass('idle'), done] }).kind, 'variable');
});

test('OWN-18 sets that share a ClusterClass variable: what the cluster says of them is read once, however many ask', () => {
  const reads = (count: number): number => {
    let entries = 0;
    const names = Array.from({ length: count }, (_, at) => `w${at}`);
    const machineDeployments = names.map((name) => ({
      get name() {
        entries += 1;
        return name;
      },
    }));
    const cluster = {
      metadata: { name: 'c1', namespace: 'ns' },
      spec: { topology: { workers: { machineDeployments } } },
    };
    const sets = names.map((name) => {
      const live = machineDeployment(name, name);
      const labels = { 'topology.cluster.x-k8s.io/owned': '', 'topology.cluster.x-k8s.io/deployment-name': name };
      return rotatedSet('MachineDeployment', { ...live, metadata: { ...live.metadata, labels } });
    });
    for (const set of sets) {
      const seen = {
        ...{ set, siblings: [], cluster, clusterClass: undefined, template: undefined },
        beside: () => undefined,
        remediated: [],
        otherAuthority: undefined,
      };
      assert.equal(withSiblings(seen, 'imageName', { ofTopology: () => sets }).siblings.length, count - 1);
    }
    return entries;
  };
  const few = reads(10);
  assert.ok(few > 0 && reads(100) === few * 10, `${few} reads for 10 sets, ${reads(100)} for 100`);
});
