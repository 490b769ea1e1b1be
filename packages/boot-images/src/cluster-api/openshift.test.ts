import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BootImage,
  BootImagePolicy,
  type BootImagePolicySpec,
  bootImageName,
  type ClusterVersion,
  ConfigMap,
  type Deployment,
  type Infrastructure,
  MachineSet,
} from '@drydock/api';
import { createCache, type KubeObject } from '@drydock/kube';
import { until } from '@drydock/kube/testing';
import { exemptionOf } from '../decide/decide.ts';
import type { SetOutcome } from '../status/subject.ts';
import { runCapiRole } from '../testing/capi-role.ts';
import { capiCluster, capiKind, capiObject, machineDeployment, templateRef } from '../testing/capi-world.ts';
import { decideRotation } from './decide.ts';
import type { ClusterApiObject } from './kinds.ts';
import { clusterApiNamespace, type OpenShift, otherAuthority, releaseImages } from './openshift.ts';
import type { RotationStep } from './rotation.ts';
import { type RotatedKind, rotatedSet } from './set.ts';
import { wishFor } from './wish.ts';

const RELEASE = '9.8.20260802-0';
const OVA = { location: 'https://mirror.example/rhcos.ova', sha256: 'ab'.repeat(32) };
const GCP = { project: 'rhcos-cloud', name: 'rhcos-98', release: RELEASE };

function golden(release = RELEASE): ConfigMap {
  const formats = { ova: { disk: OVA } };
  const x86_64 = {
    artifacts: { vmware: { release, formats }, aws: { release }, gcp: { release } },
    images: { aws: { regions: { 'eu-west-1': { release, image: 'ami-new' } } }, gcp: GCP },
  };
  const stream = JSON.stringify({ stream: 'rhcos', architectures: { x86_64 } });
  return { metadata: { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' }, data: { stream } };
}

interface Cluster {
  readonly golden?: ConfigMap | undefined;
  readonly upstream?: boolean;
  readonly upgrading?: boolean;
  readonly managers?: readonly object[];
  readonly namesake?: MachineSet;
}

function openshift(cluster: Cluster): OpenShift {
  const state = cluster.upgrading === true ? 'Partial' : 'Completed';
  return {
    world: {
      machineSet: () => cluster.namesake,
      machineConfiguration: () =>
        ({ metadata: {}, status: { managedBootImagesStatus: { machineManagers: cluster.managers ?? [] } } }) as never,
      clusterVersion: () => ({ metadata: { name: 'version' }, status: { history: [{ state }] } }) as ClusterVersion,
      infrastructure: () => ({ status: { platformStatus: { aws: { region: 'eu-west-1' } } } }) as Infrastructure,
      golden: () => ('golden' in cluster ? cluster.golden : golden()),
      upstream: () => (cluster.upstream === true ? ({ metadata: {} } as Deployment) : undefined),
    },
  };
}

interface Scene extends Cluster {
  readonly kind?: RotatedKind;
  readonly template?: string;
  readonly namespace?: string;
  readonly set?: Readonly<Record<string, unknown>>;
  readonly policy?: BootImagePolicySpec;
}

function decide({ kind = 'MachineSet', template = 'VSphereMachineTemplate', policy, ...scene }: Scene): RotationStep {
  const { namespace = clusterApiNamespace } = scene;
  const made = machineDeployment('worker', 'worker', {
    infrastructureRef: templateRef('worker', template),
    ...scene.set,
  });
  const set = rotatedSet(kind, { ...made, kind, metadata: { ...made.metadata, namespace } });
  const policies = policy === undefined ? [] : [{ metadata: { name: 'p' }, spec: policy }];
  const release = releaseImages(openshift(scene));
  const wish = wishFor(set, { policies, image: undefined, now: new Date('2026-01-01T00:00:00Z'), release });
  const seen = {
    ...{ set, siblings: [], cluster: capiObject('Cluster', 'c1', {}), clusterClass: undefined, remediated: [] },
    ...{
      template: { ...capiObject('VSphereMachineTemplate', 'worker', { template: { spec: {} } }), kind: template },
      beside: () => undefined,
    },
    otherAuthority: otherAuthority(set, openshift(scene).world),
  };
  const look = decideRotation(seen, wish);
  return look.kind === 'look' ? decideRotation(seen, wish, { image: 'there' }) : look;
}

function wanted(scene: Scene): unknown {
  const step = decide(scene);
  return step.kind === 'clone' ? step.facts.target : step;
}

function outcome(scene: Scene): Extract<SetOutcome, { readonly kind: 'skip' | 'failed' | 'waiting' }> {
  const step = decide(scene);
  assert.ok(step.kind === 'settled' && /skip|failed|waiting/.test(step.outcome.kind), JSON.stringify(step));
  return step.outcome as never;
}

test("OWN-18 in OpenShift without a policy its own sets of Cluster API follow the cluster's release, nobody else's do, and no node is rolled", () => {
  assert.equal(wanted({}), RELEASE);
  assert.equal(wanted({ kind: 'MachineDeployment' }), RELEASE);
  const rolling = { kind: 'MachineDeployment', set: { strategy: { type: 'RollingUpdate' }, replicas: 12 } } as const;
  assert.equal(outcome(rolling).reason, 'RolloutNotAllowed');
  assert.match(outcome(rolling).message, /would roll 12 nodes/);
  const foreign = outcome({ namespace: 'team-a' });
  assert.deepEqual([foreign.kind, foreign.reason], ['skip', 'NoPolicy']);
  const cloud = outcome({ template: 'AWSMachineTemplate' });
  assert.deepEqual([cloud.kind, cloud.reason], ['skip', 'NoPolicy']);
});

test("OWN-18 a policy without an image means the cluster's release, on clouds too; another release than that one, and an image that it does not name, are told", () => {
  const policy = {};
  assert.equal(wanted({ policy }), RELEASE);
  for (const template of ['AWSMachineTemplate', 'GCPMachineTemplate'])
    assert.equal(wanted({ policy, template }), RELEASE);
  assert.equal(wanted({ policy: { image: { release: RELEASE } } }), RELEASE);
  assert.equal(outcome({ policy: { image: { release: '9.4' } } }).reason, 'ReleaseNotOffered');
  assert.equal(outcome({ policy, template: 'AzureMachineTemplate' } as Scene).reason, 'ReleaseNotOffered');
  assert.equal(outcome({ policy, namespace: 'team-a' }).reason, 'NotInCatalogue');
  const version = 'v1.34.2';
  const catalogue = [{ version, url: 'https://images.example/x.ova', sha256: 'cd'.repeat(32) }];
  assert.equal(wanted({ policy: { image: { catalogue } } }), `${version}-cdcdcdcd`);
  const file = golden();
  const disk = file.data?.['stream']?.replace('https://mirror.example', 'file:///etc') ?? '';
  assert.equal(outcome({ golden: { ...file, data: { stream: disk } } }).reason, 'ReleaseNotOffered');
});

test('OWN-18 beside an upstream controller nothing is done without a policy, nor what that controller is told to manage; an upgrade is waited for; a stream that cannot be read is told', () => {
  assert.deepEqual([outcome({ upstream: true }).reason, outcome({ upstream: true }).kind], ['LeftToUpstream', 'skip']);
  assert.equal(wanted({ upstream: true, policy: {} }), RELEASE);
  const managers = [{ apiGroup: 'cluster.x-k8s.io', resource: 'machinesets', selection: { mode: 'All' } }];
  assert.equal(outcome({ upstream: true, policy: {}, managers }).reason, 'LeftToUpstream');
  const none = [{ ...managers[0], selection: { mode: 'None' } }];
  assert.equal(wanted({ upstream: true, policy: {}, managers: none }), RELEASE);
  assert.deepEqual(
    [outcome({ upgrading: true }).kind, outcome({ upgrading: true }).reason],
    ['waiting', 'ClusterNotStable'],
  );
  assert.equal(outcome({ golden: undefined }).reason, 'StreamInvalid');
  const broken = { ...golden(), data: { stream: '{' } };
  assert.deepEqual([outcome({ golden: broken }).kind, outcome({ golden: broken }).reason], ['failed', 'StreamInvalid']);
});

test('OWN-18 both worlds at once: of a set and its namesake at most one is moved, exactly one while no authority moves, and the other says who', () => {
  const apis = [undefined, 'MachineAPI', 'ClusterAPI', 'Migrating'];
  const told: string[] = [];
  for (const asked of apis.slice(0, 3))
    for (const is of apis) {
      const namesake = {
        metadata: { namespace: 'openshift-machine-api', name: 'worker' },
        spec: asked === undefined ? {} : { authoritativeAPI: asked },
        status: is === undefined ? {} : { authoritativeAPI: is },
      } as MachineSet;
      const machineApi = exemptionOf(namesake as never);
      const step = decide({ namesake });
      const clusterApi = step.kind === 'settled' && step.outcome.kind === 'skip' ? step.outcome : undefined;
      const acting = [machineApi, clusterApi].filter((one) => one === undefined).length;
      const settled = is === undefined || is === (asked ?? 'MachineAPI');
      assert.equal(acting, settled ? 1 : 0, `asked for ${asked}, is ${is}: ${acting} act`);
      for (const one of [machineApi, clusterApi]) if (one !== undefined) told.push(one.reason);
      if (clusterApi !== undefined) assert.match(clusterApi.message, /machineset openshift-machine-api\/worker/);
    }
  assert.deepEqual([...new Set(told)], ['OtherAuthority']);
  const namesake = { metadata: { name: 'worker' }, spec: {} } as MachineSet;
  assert.equal(
    outcome({ namesake, namespace: 'team-a' }).reason,
    'NoPolicy',
    'a namesake of another cluster is nobody',
  );
});

test('OWN-18 when the release changes, or an authority comes, the sets that wait for it are looked at', async () => {
  const cluster = capiCluster({
    resources: [MachineSet, ConfigMap],
    namespaces: ['openshift-machine-api', 'openshift-machine-config-operator', clusterApiNamespace],
  });
  const at = (kind: string, name: string) => [capiKind(kind), { namespace: clusterApiNamespace, name }] as const;
  const put = (one: ClusterApiObject): void =>
    cluster.put(...at(one.kind ?? '', one.metadata.name), {
      ...one,
      metadata: { ...one.metadata, namespace: clusterApiNamespace },
    });
  put(capiObject('Cluster', 'c1', {}));
  put(capiObject('AWSMachineTemplate', 'worker', { template: { spec: { ami: { id: 'ami-old' } } } }));
  const infrastructureRef = { ...templateRef('worker', 'AWSMachineTemplate'), namespace: clusterApiNamespace };
  const made = machineDeployment('worker', 'worker', { infrastructureRef });
  put({ ...made, apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'MachineSet' });
  cluster.put(BootImagePolicy, { name: 'p' }, { metadata: { name: 'p' }, spec: {} });
  const namesake = { namespace: 'openshift-machine-api', name: 'worker' };
  const byAuthority = (api: string): MachineSet => ({ metadata: namesake, spec: { authoritativeAPI: api } }) as never;
  cluster.put(MachineSet, namesake, byAuthority('MachineAPI'));
  const configKey = { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' };
  cluster.put(ConfigMap, configKey, golden('9.8'));
  const client = cluster.client();
  await using machineSets = createCache({ client, resource: MachineSet });
  await using config = createCache({ client, resource: ConfigMap });
  await Promise.all([machineSets.synced, config.synced]);
  const { world } = openshift({});
  const watched = { machineSets, others: [config as never as ReturnType<typeof createCache<KubeObject>>] };
  await using running = await runCapiRole(cluster, {
    openshift: {
      world: { ...world, machineSet: (key) => machineSets.get(key), golden: () => config.get(configKey) },
      watched,
    },
  });
  const image = () =>
    cluster.peek(BootImage, { namespace: clusterApiNamespace, name: bootImageName('capi-ms', 'worker') });
  await until('Machine API has it', () => image()?.status?.reason === 'OtherAuthority');
  cluster.put(MachineSet, namesake, byAuthority('ClusterAPI'));
  await until('it has the image', () => image()?.status?.phase === 'Current' && image()?.status?.target === '9.8');
  const planned = async () => (await running.role.plan()).map(({ target, rest }) => [target, rest?.step]);
  assert.deepEqual(await planned(), [['9.8', 'none']], 'a plan says what is done');
  cluster.put(ConfigMap, configKey, golden('9.9'));
  await until('it has the next release', () => image()?.status?.target === '9.9');
});
