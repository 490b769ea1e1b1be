import {
  BootImage,
  BootImagePolicy,
  ClusterVersion,
  ConfigMap,
  ControlPlaneMachineSet,
  Deployment,
  Infrastructure,
  Machine,
  MachineConfiguration,
  type MachineManager,
  MachineSet,
  Secret,
} from '@drydock/api';
import { upstreamController } from '../decide/coexistence.ts';
import { cloudConfigKey } from '../observe/cloud-config.ts';
import { type PassOutcome, runPass } from '../pass/pass.ts';
import { createPassState, type PassPorts, type PassState } from '../pass/pass-state.ts';
import type { Platform } from '../platform.ts';
import { recorded } from '../skew/record.ts';
import { type ConditionLike, upsertConditions } from '../status/conditions.ts';
import type { SetOutcome } from '../status/subject.ts';
import { emptyOldStub } from '../user-data/old-stub.ts';
import type { Workspace } from '../vsphere/failure-domain.ts';
import { vspherePlatform } from '../vsphere/platform.ts';
import type { PassCause } from '../wakes/causes.ts';
import { type FakeClient, fakeClient } from './fake-client.ts';
import { type FakeStore, type FakeTemplate, fakeStore } from './fake-store.ts';

/** Release that fake sets stand on, and the one that the stream asks for. */
export const oldRelease = '9.6.20260512-0';
/** See {@link oldRelease}. */
export const newRelease = '9.8.20260802-0';
/** The installer's name for the fake failure domain. */
export const computed: string = 'c1-abcde-rhcos-fd1';
/** The name under which the fake store publishes the new release. */
export const published: string = `${computed}-${newRelease}-0123abcd`;
/** A stub of spec 2.2. */
export const stub22: string = JSON.stringify({
  ignition: {
    config: { append: [{ source: 'https://api-int.c1:22623/config/worker', verification: {} }] },
    security: {
      tls: { certificateAuthorities: [{ source: 'data:text/plain;charset=utf-8;base64,QQ==', verification: {} }] },
    },
    timeouts: {},
    version: '2.2.0',
  },
  networkd: {},
  passwd: {},
  storage: {},
  systemd: {},
});

/** When fake clusters begin. */
const BEGIN = Date.UTC(2026, 7, 2);

const amd64 = { 'capacity.cluster-autoscaler.kubernetes.io/labels': 'kubernetes.io/arch=amd64' };

/** A cluster with one failure domain, the passes over it, and all that they did. */
export interface FakeCluster {
  readonly client: FakeClient;
  readonly store: FakeStore;
  readonly state: PassState;
  readonly events: string[];
  /** `absent` for each look that found no template, `vcenter bytes` for each upload. */
  readonly counted: string[];
  /** Sets about which it was asked who else changed their image. */
  readonly asked: string[];
  /** `step seconds` of each measured step. */
  readonly steps: string[];
  readonly warnings: string[];
  readonly outcomes: Map<string, SetOutcome[]>;
  /** Every write of conditions. */
  readonly conditionWrites: (readonly ConditionLike[])[];
  readonly ports: PassPorts;
  readonly machines: Machine[];
  clock: number;
  /** How far the clock on the operator's wall is ahead of that (ms). */
  ahead: number;
  /** Feature gate ManagedBootImagesCPMS is off. */
  gated: boolean;
  /** Unless told otherwise, an event that concerns every set. */
  readonly pass: (cause?: Partial<PassCause>) => Promise<PassOutcome>;
  /** A pass that only a timer woke. */
  readonly timer: () => Promise<PassOutcome>;
  readonly condition: (type: 'Progressing' | 'Degraded') => ConditionLike | undefined;
  readonly template: (set: string) => unknown;
  readonly last: (set: string) => SetOutcome | undefined;
  readonly edit: {
    readonly mc: (change: (mc: MachineConfiguration) => MachineConfiguration) => void;
    readonly set: (name: string, change: (set: MachineSet) => MachineSet) => void;
  };
}

/** What a fake cluster is made of. */
export interface FakeClusterOptions {
  readonly publication?: 'pointer' | 'swap';
  readonly sets?: readonly MachineSet[];
  readonly templates?: Readonly<Record<string, FakeTemplate>>;
  readonly managers?: readonly MachineManager[];
  readonly stream?: string;
  readonly userData?: string;
  readonly collectAfterMs?: number;
  readonly locate?: (location: string) => string;
  /** In place of vSphere. */
  readonly platform?: Platform;
  /** Type and what else there is of it; default vSphere with one failure domain. */
  readonly infrastructure?: Infrastructure;
}

/** A machine set of the fake failure domain. */
export function machineSet(
  name: string,
  value: Readonly<Record<string, unknown>> = {},
  metadata: Partial<MachineSet['metadata']> = {},
): MachineSet {
  return {
    metadata: { name, namespace: 'openshift-machine-api', annotations: amd64, ...metadata },
    spec: {
      template: {
        spec: {
          providerSpec: {
            value: {
              template: computed,
              workspace,
              userDataSecret: { name: 'worker-user-data' },
              unknownField: { kept: 1 },
              ...value,
            },
          },
        },
      },
    },
  };
}

/** The workspace of the fake failure domain. */
export const workspace: Workspace = {
  server: 'vc1',
  datacenter: 'dc1',
  datastore: '/dc1/datastore/ds1',
  resourcePool: '/dc1/host/c/Resources',
  folder: '/dc1/vm/c1',
  vmGroup: '',
};

/** The golden stream. */
export const stream: string = JSON.stringify({
  stream: 'rhcos-4.22',
  architectures: {
    x86_64: {
      artifacts: {
        vmware: {
          release: newRelease,
          formats: { ova: { disk: { location: 'https://example/rhcos.ova', sha256: 'AB' } } },
        },
      },
    },
    aarch64: { artifacts: {} },
  },
});

/** The manager list with one entry, by default for machine sets. */
export function managed(
  mode: string,
  selector?: object,
  resource: MachineManager['resource'] = 'machinesets',
): readonly MachineManager[] {
  const partial =
    mode === 'Partial' ? { partial: selector === undefined ? {} : { machineResourceSelector: selector } } : {};
  return [{ resource, apiGroup: 'machine.openshift.io', selection: { mode, ...partial } }];
}

/** Puts a cluster together. Unless told otherwise: set wk-a on the old release, everything managed, nothing in flight. */
export function fakeCluster(options: FakeClusterOptions = {}): FakeCluster {
  let made: FakeCluster | undefined;
  const client = fakeClient(() => new Date(made?.clock ?? BEGIN));
  const store = fakeStore(options.templates ?? { [computed]: { version: oldRelease } });
  const api = 'openshift-machine-api';
  client.put(MachineConfiguration, {
    metadata: { name: 'cluster', generation: 1 },
    status: { observedGeneration: 1, managedBootImagesStatus: { machineManagers: options.managers ?? managed('All') } },
  });
  client.put(ClusterVersion, {
    metadata: { name: 'version' },
    spec: { clusterID: 'cluster-uid' },
    status: { history: [{ state: 'Completed', version: '4.22.0' }] },
  });
  client.put(Infrastructure, options.infrastructure ?? infrastructure());
  client.put(ConfigMap, {
    metadata: { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' },
    data: { stream: options.stream ?? stream },
  });
  client.put(ConfigMap, {
    metadata: { namespace: 'kube-system', name: 'cluster-config-v1' },
    data: { 'install-config': 'platform:\n  vsphere:\n    diskType: thin\n' },
  });
  client.put(Secret, {
    metadata: { namespace: 'kube-system', name: 'vsphere-creds' },
    data: { 'vc1.username': 'dQ==', 'vc1.password': 'cA==' },
  });
  const userData = options.userData ?? JSON.stringify({ ignition: { version: '3.4.0' } });
  client.put(Secret, {
    metadata: { namespace: api, name: 'worker-user-data' },
    data: { userData: Buffer.from(userData).toString('base64') },
  });
  for (const secret of ['worker-user-data', 'master-user-data']) client.put(Secret, emptyOldStub(secret));
  for (const set of options.sets ?? [machineSet('wk-a')]) client.put(MachineSet, set);

  const now = (): Date => new Date(cluster.clock + cluster.ahead);
  const events: string[] = [];
  const outcomes = new Map<string, SetOutcome[]>();
  const conditionWrites: (readonly ConditionLike[])[] = [];
  const machines: Machine[] = [];
  const counted: string[] = [];
  const asked: string[] = [];
  const steps: string[] = [];
  const warnings: string[] = [];
  const vsphere = vspherePlatform({
    store,
    ...(options.publication === undefined ? {} : { publication: options.publication }),
    ...(options.locate === undefined ? {} : { locate: options.locate }),
    holder: 'me',
    holderIsLive: (holder) => holder === 'me',
    metrics: {
      templateAbsent: () => void counted.push('absent'),
      templateSwapped: (seconds) => void counted.push(`absent for ${seconds} s`),
      uploaded: (vcenter, bytes) => void counted.push(`${vcenter} ${bytes}`),
      downloaded: () => undefined,
    },
  });
  const platform = options.platform ?? vsphere;
  const ports: PassPorts = {
    world: {
      machineConfiguration: () => client.peek(MachineConfiguration, { name: 'cluster' }),
      clusterVersion: () => client.peek(ClusterVersion, { name: 'version' }),
      infrastructure: () => client.peek(Infrastructure, { name: 'cluster' }),
      golden: () =>
        client.peek(ConfigMap, { namespace: 'openshift-machine-config-operator', name: 'coreos-bootimages' }),
      installConfig: () => client.peek(ConfigMap, { namespace: 'kube-system', name: 'cluster-config-v1' }),
      upstream: () => client.peek(Deployment, upstreamController),
      machineSets: () => client.cluster.list(MachineSet),
      machineSet: (key) => client.peek(MachineSet, key),
      machines: () => [...machines, ...client.cluster.list(Machine)],
      controlPlaneMachineSets: () => client.cluster.list(ControlPlaneMachineSet),
      controlPlanesGated: () => cluster.gated,
      bootImage: (key) => client.peek(BootImage, key),
      bootImages: () => client.cluster.list(BootImage),
      pinnedImages: () => client.cluster.list(BootImage).filter(({ spec }) => spec?.pin !== undefined),
      bootImagePolicies: () => client.cluster.list(BootImagePolicy),
      cloudConfig: () => client.peek(ConfigMap, cloudConfigKey),
      secret: (namespace, name) => client.peek(Secret, { namespace, name }),
    },
    client,
    platforms: new Map([[platform.type, platform]]),
    writeConditions: async (wanted, ended) => {
      conditionWrites.push(wanted);
      const mc = client.peek(MachineConfiguration, { name: 'cluster' });
      if (mc === undefined) return;
      const conditions = upsertConditions(mc.status?.conditions, wanted, now());
      const record = mc.status?.bootImageSkewEnforcementStatus;
      const after = ended === undefined ? record : recorded(record, ended);
      const skew = after === undefined ? {} : { bootImageSkewEnforcementStatus: after };
      client.put(MachineConfiguration, { ...mc, status: { ...mc.status, conditions: conditions as [], ...skew } });
    },
    report: async (set, outcome) => {
      const { name } = set.metadata;
      outcomes.set(name, [...(outcomes.get(name) ?? []), outcome]);
    },
    event: (set, reason, note) => void events.push(`${set.metadata.name} ${reason} ${note}`),
    warn: (message) => void warnings.push(message),
    foreignWriter: async (set) => {
      asked.push(set.metadata.name);
      return 'somebody';
    },
    refused: (set) => void counted.push(`refused ${set.metadata.name}`),
    step: (step, seconds) => void steps.push(`${step} ${seconds}`),
    now,
    elapsed: () => cluster.clock,
    architecture: 'x86_64',
    concurrency: 1,
    progressMs: 0,
    collectAfterMs: options.collectAfterMs ?? 60_000,
  };
  const cluster: FakeCluster = {
    client,
    store,
    state: createPassState(new Date(0)),
    events,
    counted,
    asked,
    steps,
    warnings,
    outcomes,
    conditionWrites,
    ports,
    machines,
    clock: BEGIN,
    ahead: 0,
    gated: false,
    pass: (cause = {}) => runPass(ports, cluster.state, { reason: 'Test', touched: 'all', ...cause }),
    timer: () => cluster.pass({ touched: new Set() }),
    condition: (type) =>
      client
        .peek(MachineConfiguration, { name: 'cluster' })
        ?.status?.conditions?.find((c) => c.type === `BootImageUpdate${type}`),
    template: (set) =>
      client.peek(MachineSet, { namespace: api, name: set })?.spec?.template?.spec?.providerSpec?.value?.['template'],
    last: (set) => outcomes.get(set)?.at(-1),
    edit: {
      mc: (change) =>
        client.put(
          MachineConfiguration,
          change(client.peek(MachineConfiguration, { name: 'cluster' }) ?? { metadata: { name: 'cluster' } }),
        ),
      set: (name, change) =>
        client.put(MachineSet, change(client.peek(MachineSet, { namespace: api, name }) ?? machineSet(name))),
    },
  };
  made = cluster;
  return cluster;
}

/** Infrastructure with one failure domain of vCenter vc1. */
export function infrastructure(
  change: (spec: NonNullable<Infrastructure['spec']>) => Infrastructure['spec'] = (spec) => spec,
): Infrastructure {
  const spec = change({
    platformSpec: {
      type: 'VSphere',
      vsphere: {
        vcenters: [{ server: 'vc1', datacenters: ['dc1'] }],
        failureDomains: [
          {
            name: 'fd1',
            region: 'r',
            zone: 'z',
            server: 'vc1',
            topology: {
              datacenter: 'dc1',
              computeCluster: '/dc1/host/c',
              datastore: '/dc1/datastore/ds1',
              resourcePool: '/dc1/host/c/Resources',
              networks: ['n1'],
              template: '/dc1/vm/c1-abcde/c1-abcde-rhcos-fd1',
            },
          },
        ],
      },
    },
  });
  return {
    metadata: { name: 'cluster' },
    ...(spec === undefined ? {} : { spec }),
    status: { infrastructureName: 'c1-abcde', platformStatus: { type: 'VSphere' } },
  };
}
