import { randomBytes } from 'node:crypto';
import {
  ClusterVersion,
  ConfigMap,
  Infrastructure,
  MachineConfiguration,
  type MachineSet,
  Namespace,
  Secret,
} from '@drydock/api';
import { emptyOldStub, goldenName, goldenNamespace } from '@drydock/boot-images';
import { type Client, statusWriter } from '@drydock/kube';
import { type Authority, createAuthority } from '@drydock/sandbox';

/** Namespace of machine sets, their secrets and their BootImages. */
export const machineApi = 'openshift-machine-api';
/** Names that the installer chose for the cluster. */
export const infrastructureName = 'voyage-4qxl2';
/** The tag that the installer attaches to everything of the cluster. */
export const clusterTag: { readonly category: string; readonly name: string } = {
  category: `openshift-${infrastructureName}`,
  name: infrastructureName,
};
/** What Infrastructure calls the vCenter. */
/** The owner of all templates of the cluster. */
export const clusterID = '5f4dcc3b-5aa7-4d6a-9b0e-2f6a1c7d8e91';
export const serverName = 'vcenter.voyage.example';
/** Name of the template that the installer made in each folder. */
export const installerTemplate: string = `${infrastructureName}-rhcos-fd1`;
/** Release of that template. */
export const oldRelease = '9.6.20260512-0';
/** Where the credentials are. */
export const credentials = { namespace: 'kube-system', name: 'vsphere-creds' } as const;

/** The one failure domain: sets differ in their folders alone, which are not part of it. */
export const place = {
  datacenter: 'DC0',
  computeCluster: '/DC0/host/DC0_C0',
  datastore: '/DC0/datastore/LocalDS_0',
  networks: ['VM Network'],
  resourcePool: '/DC0/host/DC0_C0/Resources',
} as const;

/** The image of a release, as the golden ConfigMap names it. */
export interface Image {
  readonly release: string;
  readonly location: string;
  readonly sha256: string;
  /** The artifact of the stream that carries it; default `vmware`. */
  readonly artifact?: string;
}

/** What a machine set is made of. */
export interface SetSpec {
  readonly name: string;
  /** Inventory path. */
  readonly folder: string;
  readonly userData?: string;
  /** Name of a MachinePool that owns it. */
  readonly owner?: string;
}

/** Base64 as Secrets have it. */
export const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** What a cluster is on, and what its release names. */
export interface ClusterSpec {
  /** Of Infrastructure. */
  readonly platformSpec: Readonly<Record<string, unknown>> & { readonly type: string };
  /** Besides its type. */
  readonly platformStatus?: Readonly<Record<string, unknown>>;
  /** Data of the golden ConfigMap. */
  readonly golden: Readonly<Record<string, string>>;
}

/** Creates the objects of a small cluster on any platform, without credentials and machine sets. */
export async function createPlatform(client: Client, spec: ClusterSpec): Promise<void> {
  for (const name of [machineApi, goldenNamespace, 'drydock']) await client.create(Namespace, { metadata: { name } });
  const { platformSpec, platformStatus } = spec;
  const { type } = platformSpec;
  await client.create(Infrastructure, { metadata: { name: 'cluster' }, spec: { platformSpec } } as Infrastructure);
  const infrastructure = {
    infrastructureName,
    platform: type,
    platformStatus: { type, ...platformStatus },
    controlPlaneTopology: 'HighlyAvailable',
    infrastructureTopology: 'HighlyAvailable',
    etcdDiscoveryDomain: '',
    apiServerURL: 'https://api.voyage.example:6443',
    apiServerInternalURI: 'https://api-int.voyage.example:6443',
  };
  await statusWriter({ client, resource: Infrastructure }).write({ name: 'cluster' }, () => infrastructure as never);
  await client.create(ClusterVersion, {
    metadata: { name: 'version' },
    spec: { clusterID },
  });
  const at = new Date().toISOString();
  const desired = { version: '4.21.0', image: 'registry.example/release@4.21.0' };
  const version = {
    desired,
    observedGeneration: 1,
    versionHash: '',
    availableUpdates: null,
    history: [{ ...desired, state: 'Completed', startedTime: at, completionTime: at, verified: true }],
  };
  await statusWriter({ client, resource: ClusterVersion }).write({ name: 'version' }, () => version as never);
  await client.create(MachineConfiguration, {
    metadata: { name: 'cluster' },
    spec: { managementState: 'Managed' },
  } as MachineConfiguration);
  await client.create(ConfigMap, {
    metadata: { namespace: 'kube-system', name: 'root-ca' },
    data: { 'ca.crt': machineConfigAuthority.certificate },
  });
  await client.create(Secret, userData('worker-user-data', '3.4.0'));
  await client.create(Secret, userData('worker-user-data-2019', '2.2.0'));
  await client.create(Secret, emptyOldStub('worker-user-data-2019'));
  await client.create(ConfigMap, { metadata: { namespace: goldenNamespace, name: goldenName }, data: spec.golden });
}

/** Creates the objects of a small cluster on vSphere, without machine sets. */
export async function createCluster(
  client: Client,
  login: { readonly user: string; readonly password: string },
  image: Image,
): Promise<void> {
  await createPlatform(client, {
    platformSpec: {
      type: 'VSphere',
      vsphere: {
        vcenters: [{ server: serverName, datacenters: [place.datacenter] }],
        failureDomains: [{ name: 'fd1', region: 'r', zone: 'z', server: serverName, topology: place }],
      },
    },
    platformStatus: { vsphere: {} },
    golden: golden(image),
  });
  await client.create(Secret, {
    metadata: credentials,
    data: { [`${serverName}.username`]: base64(login.user), [`${serverName}.password`]: base64(login.password) },
  });
  await client.create(Secret, {
    metadata: { namespace: 'drydock', name: 'drydock-mark-key' },
    data: { current: base64('k1'), k1: base64(randomBytes(32).toString('hex')) },
  });
  await client.create(ConfigMap, {
    metadata: { namespace: 'kube-system', name: 'cluster-config-v1' },
    data: { 'install-config': 'platform:\n  vsphere:\n    diskType: thin\n' },
  });
}

/** The data of the golden ConfigMap whose stream has one image. */
export function golden({ release, location, sha256, artifact = 'vmware' }: Image): Readonly<Record<string, string>> {
  const artifacts = { [artifact]: { release, formats: { ova: { disk: { location, sha256 } } } } };
  const metadata = { 'last-modified': '2026-11-01T00:00:00Z' };
  const architectures = { x86_64: { artifacts, images: {} } };
  return {
    releaseVersion: '4.21.0',
    stream: JSON.stringify({ stream: 'rhcos-voyage', metadata, architectures }),
  };
}

/** A machine set that starts from the installer's template. */
export function machineSet({ name, folder, userData: secret = 'worker-user-data', owner }: SetSpec): MachineSet {
  const labels = { 'machine.openshift.io/cluster-api-machineset': name };
  const { datacenter, datastore, resourcePool } = place;
  const value = {
    apiVersion: 'machine.openshift.io/v1beta1',
    kind: 'VSphereMachineProviderSpec',
    template: installerTemplate,
    numCPUs: 4,
    network: { devices: [{ networkName: 'VM Network' }] },
    userDataSecret: { name: secret },
    workspace: { server: serverName, datacenter, folder, datastore, resourcePool },
  };
  const uid = '0d9c1d6e-0000-4000-8000-000000000001';
  const ownerReferences =
    owner === undefined ? [] : [{ apiVersion: 'example.com/v1', kind: 'MachinePool', name: owner, uid }];
  return {
    metadata: {
      namespace: machineApi,
      name,
      annotations: { 'capacity.cluster-autoscaler.kubernetes.io/labels': 'kubernetes.io/arch=amd64' },
      ownerReferences,
    },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { providerSpec: { value } } },
    },
  };
}

/** Signs the certificate of machine-config-server, which nobody runs here. */
export const machineConfigAuthority: Authority = createAuthority('machine-config-server');

/** A bundle as stubs have it. */
export function dataUrl(pem: string): string {
  return `data:text/plain;charset=utf-8;base64,${base64(pem)}`;
}

/** A pointer configuration that machines start from, in the spec of its time. */
export function userData(name: string, version: '2.2.0' | '3.4.0'): Secret {
  const source = 'https://api-int.voyage.example:22623/config/worker';
  const stub = {
    ignition: {
      config: version === '2.2.0' ? { append: [{ source, verification: {} }] } : { merge: [{ source }] },
      security: { tls: { certificateAuthorities: [{ source: dataUrl(machineConfigAuthority.certificate) }] } },
      version,
    },
  };
  return { metadata: { namespace: machineApi, name }, data: { userData: base64(JSON.stringify(stub)) } };
}
