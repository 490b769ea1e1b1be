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
import { at } from '../observe/json.ts';
import type { SetOutcome } from '../status/subject.ts';
import { runCapiRole } from '../testing/capi-role.ts';
import { capiCluster, capiKind, capiObject, machineDeployment, templateRef } from '../testing/capi-world.ts';
import { decideRotation } from './decide.ts';
import { imageIn, imageName, specWithImage } from './image-leaf.ts';
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

function withAzure(): ConfigMap {
  const of = ({ marketplace }: typeof aro) => {
    const { thirdPartyImage: _, ...image } = marketplace;
    return image;
  };
  const unpaid = { hyperVGen1: { ...of(aro), sku: 'aro_419' }, hyperVGen2: of(aro) };
  const azure = { 'no-purchase-plan': unpaid, ocp: { hyperVGen2: of(paid) } };
  const x86_64 = {
    ...{ artifacts: { azure: { release: RELEASE } }, images: {} },
    'rhel-coreos-extensions': { marketplace: { azure } },
  };
  return { ...golden(), data: { stream: JSON.stringify({ stream: 'rhcos', architectures: { x86_64 } }) } };
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
      infrastructure: () =>
        ({ status: { infrastructureName: 'c1', platformStatus: { aws: { region: 'eu-west-1' } } } }) as Infrastructure,
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
  /** What the template makes. */
  readonly machine?: object;
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
      template: {
        ...capiObject('VSphereMachineTemplate', 'worker', { template: { spec: scene.machine ?? {} } }),
        kind: template,
      },
      beside: () => undefined,
    },
    otherAuthority: otherAuthority(set, openshift(scene).world),
  };
  const look = decideRotation(seen, wish);
  if (look.kind !== 'look') return look;
  return decideRotation(seen, wish, { image: look.image.kind === 'named' ? look.image.image : 'there' });
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
  const file = golden();
  const disk = file.data?.['stream']?.replace('https://mirror.example', 'file:///etc') ?? '';
  assert.equal(outcome({ golden: { ...file, data: { stream: disk } } }).reason, 'ReleaseNotOffered');
});

test('OWN-18 a catalogue for sets of the cluster itself is asked for the release of the cluster, whatever version a set names; what it lacks is told', () => {
  const entry = (version: string) => ({ version, url: 'https://images.example/x.ova', sha256: 'cd'.repeat(32) });
  const by = (...versions: readonly string[]) => ({ policy: { image: { catalogue: versions.map(entry) } } });
  for (const set of [{}, { version: undefined }]) {
    assert.equal(wanted({ ...by(RELEASE, 'v1.34.2'), set }), `v${RELEASE}-cdcdcdcd`);
    const { reason, message, nextStep } = outcome({ ...by('v1.34.2'), set }) as { nextStep?: string } & SetOutcome & {
        readonly reason: string;
        readonly message: string;
      };
    assert.equal(reason, 'NotInCatalogue');
    assert.match(
      message,
      /^machineset openshift-cluster-api\/worker makes machines of the cluster itself, whose release asks for 9\.8\.20260802-0; the catalogue of bootimagepolicy p has no image of 9\.8\.20260802-0 for amd64; it has v1\.34\.2$/,
    );
    assert.match(nextStep ?? '', /add an entry with version 9\.8\.20260802-0/);
  }
  const pinned = { policy: { image: { release: 'v1.34.2', catalogue: [entry('v1.34.2')] } } };
  assert.equal(wanted(pinned), 'v1.34.2-cdcdcdcd', 'a policy that names a release means that one');
  assert.equal(outcome({ ...by(RELEASE), upgrading: true }).reason, 'ClusterNotStable');
  assert.equal(outcome({ ...by(RELEASE), golden: undefined }).reason, 'StreamInvalid');
});

const marketplace = (publisher: string, offer: string, sku: string, version: string, thirdPartyImage: boolean) => ({
  marketplace: { publisher, offer, sku, version, thirdPartyImage },
});
const aro = marketplace('azureopenshift', 'aro4', '419-v2', '419.94.20250101', false);
const paid = marketplace('redhat', 'rh-ocp-worker', 'rh-ocp-worker', '4.18.2025031114', true);
const uploaded =
  '/subscriptions/s/resourceGroups/c1-rg/providers/Microsoft.Compute/galleries/gallery_c1/images/c1-gen2/versions/latest';

test('OWN-18 on Azure a policy without an image means the image of the release: of the same kind and generation, also in place of what an installer uploaded; what no release names is left alone', () => {
  const azure = (machine: object, policy: BootImagePolicySpec | undefined = {}): RotationStep =>
    decide({ golden: withAzure(), template: 'AzureMachineTemplate', machine, ...(policy && { policy }) } as Scene);
  const image = (machine: object): unknown => {
    const step = azure(machine);
    assert.ok(step.kind === 'clone', JSON.stringify(step));
    assert.equal(step.facts.target, RELEASE);
    return at(step.template.spec, ['template', 'spec', 'image']);
  };
  const before = (one: typeof aro) => ({ image: { marketplace: { ...one.marketplace, version: '1.0.0' } } });
  assert.deepEqual(image(before(aro)), aro);
  assert.deepEqual(image(before(paid)), paid);
  assert.deepEqual(image({ image: { id: uploaded } }), aro);
  const first = { ...aro.marketplace, sku: 'aro_418' };
  assert.deepEqual(image({ image: { marketplace: first } }), {
    marketplace: { ...first, sku: 'aro_419', version: aro.marketplace.version },
  });
  const told = (machine: object): readonly unknown[] => {
    const step = azure(machine);
    assert.ok(step.kind === 'settled' && 'reason' in step.outcome, JSON.stringify(step));
    return [step.outcome.kind, step.outcome.reason, step.outcome.target];
  };
  assert.deepEqual(told({ image: { id: '/subscriptions/s/own' } }), ['skip', 'CustomImage', RELEASE]);
  assert.deepEqual(told({ image: { marketplace: { publisher: 'Canonical', offer: 'u', sku: 's', version: '1' } } }), [
    'skip',
    'CustomImage',
    RELEASE,
  ]);
  assert.deepEqual(told({ ...before(aro), securityProfile: { securityType: 'TrustedLaunch' } }), [
    'skip',
    'SecurityType',
    RELEASE,
  ]);
  const current = azure({ image: aro });
  assert.ok(current.kind === 'settled' && current.outcome.kind === 'current', JSON.stringify(current));
});

test('OWN-18 an image of a marketplace goes into a template as an object and comes back as the same text; people see its URN', () => {
  const leaf = { path: ['spec', 'template', 'spec', 'image'], platform: 'azure' } as const;
  const template = capiObject('AWSMachineTemplate', 'w', { template: { spec: { image: paid, vmSize: 'd' } } });
  const text = imageIn(template, leaf) ?? '';
  const back = specWithImage(
    { ...template, spec: { template: { spec: { image: { id: 'x' }, vmSize: 'd' } } } },
    leaf,
    text,
  );
  assert.deepEqual(back, template.spec);
  assert.equal(imageName(text), 'redhat:rh-ocp-worker:rh-ocp-worker:4.18.2025031114');
  assert.equal(imageName('/subscriptions/s/own'), '/subscriptions/s/own');
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
