import { randomBytes } from 'node:crypto';
import {
  ClusterVersion,
  ConfigMap,
  Infrastructure,
  MachineConfiguration,
  MachineSet,
  Namespace,
  Secret,
} from '@drydock/api';
import { emptyOldStub } from '@drydock/boot-images';
import type { Client } from '@drydock/kube';
import { createAuthority } from '@drydock/sandbox';
import { places } from './inventory.ts';

/** The namespaces and names of OpenShift that the demo uses. */
export const machineApi = 'openshift-machine-api';
export const configOperator = 'openshift-machine-config-operator';
/** metadata of the cluster that the demo plays. */
export const infrastructureName = 'harbour-7k2xp';
export const clusterId = '5f4dcc3b-5aa7-4d6a-9b0e-2f6a1c7d8e90';

/** An image of a release: what the golden ConfigMap says of it. */
export interface DemoImage {
  readonly release: string;
  readonly version: string;
  readonly location: string;
  readonly sha256: string;
}

/** The four machine sets: two share a failure domain, one is in the second, one belongs to something else. */
export const machineSets: readonly {
  readonly name: string;
  readonly domain: 'fd1' | 'fd2';
  readonly userData: string;
  readonly owner?: string;
}[] = [
  { name: 'worker-a', domain: 'fd1', userData: 'worker-user-data' },
  { name: 'worker-b', domain: 'fd1', userData: 'worker-user-data-2019' },
  { name: 'worker-c', domain: 'fd2', userData: 'worker-user-data' },
  { name: 'worker-owned', domain: 'fd1', userData: 'worker-user-data', owner: 'legacy-pool' },
];

/** Creates the objects of a small OpenShift cluster on vSphere whose release is `image`. */
export async function createCluster(
  client: Client,
  vcenter: { readonly server: string; readonly user: string; readonly password: string },
  image: DemoImage,
): Promise<void> {
  await createNamespaces(client);
  await client.create(Infrastructure, {
    metadata: { name: 'cluster' },
    spec: {
      platformSpec: {
        type: 'VSphere',
        vsphere: {
          vcenters: [{ server: vcenter.server, datacenters: [places.fd1.datacenter] }],
          failureDomains: (['fd1', 'fd2'] as const).map((name) => ({
            name,
            region: 'harbour',
            zone: name,
            server: vcenter.server,
            topology: {
              datacenter: places[name].datacenter,
              computeCluster: places[name].computeCluster,
              datastore: places[name].datastore,
              networks: [places[name].network],
              folder: places[name].folder,
              resourcePool: places[name].resourcePool,
            },
          })),
        },
      },
    },
  } as Infrastructure);
  await standOn(client, infrastructureName, { type: 'VSphere', vsphere: {} });
  await createVersion(client, image.version);
  await client.create(Secret, {
    metadata: { namespace: 'kube-system', name: 'vsphere-creds' },
    data: {
      [`${vcenter.server}.username`]: base64(vcenter.user),
      [`${vcenter.server}.password`]: base64(vcenter.password),
    },
  });
  await client.create(Secret, {
    metadata: { namespace: 'drydock', name: 'drydock-mark-key' },
    data: { key: base64(randomBytes(32).toString('hex')) },
  });
  await client.create(ConfigMap, {
    metadata: { namespace: 'kube-system', name: 'cluster-config-v1' },
    data: { 'install-config': 'platform:\n  vsphere:\n    diskType: thin\n' },
  });
  await client.create(Secret, userData('worker-user-data', '3.4.0'));
  await client.create(Secret, userData('worker-user-data-2019', '2.2.0'));
  for (const name of ['worker-user-data', 'worker-user-data-2019']) await client.create(Secret, emptyOldStub(name));
  await client.create(ConfigMap, {
    metadata: { namespace: configOperator, name: 'coreos-bootimages' },
    data: golden(image),
  });
  for (const set of machineSets) await client.create(MachineSet, machineSet(set, vcenter.server));
}

/** The namespaces of everything else. */
export async function createNamespaces(client: Client): Promise<void> {
  for (const name of [machineApi, configOperator, 'kube-system', 'drydock'])
    await ensure(client.create(Namespace, { metadata: { name } }));
}

/** What Infrastructure says from now on of where the cluster is. */
export async function standOn(
  client: Client,
  infrastructure: string,
  platformStatus: Readonly<Record<string, unknown>> & { readonly type?: string },
): Promise<void> {
  await status(client, Infrastructure, 'cluster', {
    ...{ infrastructureName: infrastructure, platform: platformStatus.type, platformStatus },
    ...{ controlPlaneTopology: 'HighlyAvailable', infrastructureTopology: 'HighlyAvailable', etcdDiscoveryDomain: '' },
    apiServerURL: 'https://api.harbour.example:6443',
    apiServerInternalURI: 'https://api-int.harbour.example:6443',
  });
}

/** Signs the certificate of machine-config-server, which nobody runs here. */
const authority = createAuthority('machine-config-server');

/** ClusterVersion at a release, MachineConfiguration, and the authority that new machines trust. */
export async function createVersion(client: Client, version: string): Promise<void> {
  await client.create(ConfigMap, {
    metadata: { namespace: configOperator, name: 'machine-config-server-ca' },
    data: { 'ca-bundle.crt': authority.certificate },
  });
  await client.create(ClusterVersion, { metadata: { name: 'version' }, spec: { clusterID: clusterId } });
  await completeUpdate(client, version);
  await client.create(MachineConfiguration, {
    metadata: { name: 'cluster' },
    spec: { managementState: 'Managed' },
  } as MachineConfiguration);
}

/** A release arrives: the golden ConfigMap gets its image, as the payload's manifests would bring it. */
export async function publishRelease(client: Client, image: DemoImage): Promise<void> {
  await client.mergePatch(ConfigMap, { namespace: configOperator, name: 'coreos-bootimages' }, { data: golden(image) });
  await completeUpdate(client, image.version);
}

/** What each machine set names as its template. */
export async function templatesOf(client: Client): Promise<ReadonlyMap<string, string>> {
  const sets = await Array.fromAsync(client.list(MachineSet, { namespace: machineApi }));
  return new Map(
    sets.map((set) => [set.metadata.name, String(set.spec?.template?.spec?.providerSpec?.value?.['template'])]),
  );
}

async function completeUpdate(client: Client, version: string): Promise<void> {
  const now = new Date().toISOString();
  const release = { version, image: `registry.example/release@${version}` };
  await status(client, ClusterVersion, 'version', {
    desired: release,
    observedGeneration: 1,
    versionHash: '',
    availableUpdates: null,
    history: [{ ...release, state: 'Completed', startedTime: now, completionTime: now, verified: true }],
  });
}

async function status<T extends Infrastructure | ClusterVersion>(
  client: Client,
  resource: Parameters<typeof client.get<T>>[0],
  name: string,
  value: unknown,
): Promise<void> {
  const current = await client.get(resource, { name });
  await client.replaceStatus(resource, { ...current, status: value } as T);
}

async function ensure(created: Promise<unknown>): Promise<void> {
  await created.catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== 'AlreadyExists') throw error;
  });
}

function golden(image: DemoImage): Readonly<Record<string, string>> {
  return {
    releaseVersion: image.version,
    stream: JSON.stringify({
      stream: 'rhcos-demo',
      metadata: { 'last-modified': '2026-11-01T00:00:00Z' },
      architectures: {
        x86_64: {
          artifacts: {
            vmware: {
              release: image.release,
              formats: { ova: { disk: { location: image.location, sha256: image.sha256 } } },
            },
          },
          images: {},
        },
      },
    }),
  };
}

/** The stub of machines, of either specification. */
export function userData(name: string, version: '2.2.0' | '3.4.0'): Secret {
  const source = 'https://api-int.harbour.example:22623/config/worker';
  const bundle = base64(authority.certificate);
  const stub = {
    ignition: {
      config: version === '2.2.0' ? { append: [{ source, verification: {} }] } : { merge: [{ source }] },
      security: { tls: { certificateAuthorities: [{ source: `data:text/plain;charset=utf-8;base64,${bundle}` }] } },
      version,
    },
  };
  return {
    metadata: { namespace: machineApi, name },
    data: { userData: base64(JSON.stringify(stub)), disableTemplating: base64('true') },
  };
}

function machineSet(set: (typeof machineSets)[number], server: string): MachineSet {
  const place = places[set.domain];
  const labels = { 'machine.openshift.io/cluster-api-machineset': set.name };
  return {
    metadata: {
      namespace: machineApi,
      name: set.name,
      annotations: { 'capacity.cluster-autoscaler.kubernetes.io/labels': 'kubernetes.io/arch=amd64' },
      ...(set.owner === undefined
        ? {}
        : {
            ownerReferences: [
              {
                apiVersion: 'example.com/v1',
                kind: 'MachinePool',
                name: set.owner,
                uid: '0d9c1d6e-0000-4000-8000-000000000001',
              },
            ],
          }),
    },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels: { ...labels, 'machine.openshift.io/cluster-api-cluster': infrastructureName } },
        spec: {
          providerSpec: {
            value: {
              apiVersion: 'machine.openshift.io/v1beta1',
              kind: 'VSphereMachineProviderSpec',
              template: `${infrastructureName}-rhcos-${set.domain}`,
              numCPUs: 4,
              memoryMiB: 16384,
              diskGiB: 120,
              network: { devices: [{ networkName: place.network }] },
              userDataSecret: { name: set.userData },
              credentialsSecret: { name: 'vsphere-cloud-credentials' },
              workspace: {
                server,
                datacenter: place.datacenter,
                folder: place.folder,
                datastore: place.datastore,
                resourcePool: place.resourcePool,
              },
            },
          },
        },
      },
    },
  };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
