import {
  ClusterVersion,
  ConfigMap,
  FeatureGate,
  Infrastructure,
  type MachineSet,
  Namespace,
  Secret,
} from '@drydock/api';
import { type KubeClient, type KubeObject, type Resource, statusWriter } from '@drydock/kube';
import {
  type RunningNeighbour,
  type Sandbox,
  type Switchboard,
  startNeighbour,
  type VCenterSandbox,
  withoutRealServers,
} from '@drydock/sandbox';
import { base64, machineApi, machineSet, place, serverName } from '../../sandbox/support/voyage-cluster.ts';
import { leadTo } from './vcenter-proxy.ts';

/** Why its tests are skipped; false where they are wanted. */
export const skipNeighbours: string | false =
  process.env['DRYDOCK_NEIGHBOURS'] === '1' || process.env['DRYDOCK_SOAK'] !== undefined
    ? withoutRealServers('programs of upstream run on kube-apiserver')
    : 'needs real programs of upstream, which take minutes to build: set DRYDOCK_NEIGHBOURS=1';

/** The login of the vCenter for machines. */
const loginSecret = 'vsphere-cloud-credentials';

const Dns: Resource<KubeObject & { readonly spec: object }> = {
  ...{ group: 'config.openshift.io', version: 'v1', kind: 'DNS', plural: 'dnses', scope: 'Cluster' },
};

/** Controllers of upstream's Machine API, beside each other. */
export interface MachineApi extends AsyncDisposable {
  readonly controllers: readonly RunningNeighbour[];
  /** The ends of their logs, for a test that failed. */
  readonly log: () => string;
}

/** Gives a voyage what Machine API wants of a cluster, and starts its controllers: of machine sets, of vSphere machines, and of their nodes. */
export async function startMachineApi(sandbox: VCenterSandbox, client: KubeClient): Promise<MachineApi> {
  await using starting = new AsyncDisposableStack();
  await furnish(sandbox, client);
  const proxy = starting.use(await leadTo(sandbox.vcenter.url));
  const { kubeconfig } = sandbox;
  const { desired } = (await client.get(ClusterVersion, { name: 'version' })).status ?? {};
  const env = { ...proxy.env, RELEASE_VERSION: desired?.version ?? '' };
  const flags = ['--namespace', machineApi];
  const controllers: RunningNeighbour[] = [];
  for (const name of ['machine-api-vsphere', 'machine-api-machineset', 'machine-api-nodelink'] as const)
    controllers.push(starting.use(await startNeighbour(name, { kubeconfig, flags, env })));
  const resources = starting.move();
  return {
    controllers,
    log: () => controllers.map((one) => `${one.name}:\n${one.log().slice(-3000)}`).join('\n'),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function furnish(sandbox: Sandbox & Pick<VCenterSandbox, 'vcenter'>, client: KubeClient): Promise<void> {
  const { user, password } = sandbox.vcenter;
  await sandbox.installCrds(['machine-api-controllers']);
  await client.create(Dns, { metadata: { name: 'cluster' }, spec: { baseDomain: 'voyage.example' } });
  await client.mergePatch(Infrastructure, { name: 'cluster' }, {
    spec: { cloudConfig: { name: 'cloud-provider-config', key: 'config' } },
  } as object);
  await client.create(Namespace, { metadata: { name: 'openshift-config' } });
  // As the installer writes it.
  const config = [
    ...['[Global]', 'secret-name = "vsphere-creds"', 'secret-namespace = "kube-system"', 'insecure-flag = "1"', ''],
    ...[
      `[VirtualCenter "${serverName}"]`,
      'port = "443"',
      'insecure-flag = "1"',
      `datacenters = "${place.datacenter}"`,
    ],
  ].join('\n');
  await client.create(ConfigMap, {
    metadata: { namespace: 'openshift-config', name: 'cloud-provider-config' },
    data: { config },
  });
  await client.create(Secret, {
    metadata: { namespace: machineApi, name: loginSecret },
    data: { [`${serverName}.username`]: base64(user), [`${serverName}.password`]: base64(password) },
  });
  await client.create(FeatureGate, { metadata: { name: 'cluster' }, spec: {} } as FeatureGate);
  const { history = [] } = (await client.get(ClusterVersion, { name: 'version' })).status ?? {};
  const featureGates = history.map(({ version }) => ({
    version,
    enabled: [],
    disabled: [{ name: 'VSphereStaticIPs' }],
  }));
  await statusWriter({ client, resource: FeatureGate }).write({ name: 'cluster' }, () => ({ featureGates }) as never);
}

/** A machine set whose machines the controllers can make. */
export function workingSet(name: string, folder: string, replicas: number): MachineSet {
  const made = machineSet({ name, folder });
  const labels = { ...made.spec?.selector?.matchLabels, 'machine.openshift.io/cluster-api-cluster': 'c1' };
  const { providerSpec } = made.spec?.template?.spec ?? {};
  const value = {
    ...{ ...providerSpec?.value, credentialsSecret: { name: loginSecret } },
    ...{ memoryMiB: 1024, diskGiB: 16, numCoresPerSocket: 1 },
  };
  const template = { metadata: { labels }, spec: { providerSpec: { value } } };
  return { ...made, spec: { ...made.spec, replicas, template } } as MachineSet;
}

/** A template from which machines can be made: it has a disk. */
export async function createTemplate(
  switchboard: Switchboard,
  at: { readonly folder: string; readonly name: string; readonly productVersion?: string },
): Promise<void> {
  await switchboard.createFolder(at.folder);
  await switchboard.createVm({ ...at, cluster: place.computeCluster, disks: 1, template: true });
}
