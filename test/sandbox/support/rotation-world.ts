import { randomBytes } from 'node:crypto';
import { globSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  BootImage,
  BootImagePolicy,
  type BootImageStatus,
  bootImageName,
  type CustomResourceDefinition,
  type MachineSetShortKind,
  Namespace,
  Secret,
} from '@drydock/api';
import {
  apiVersionOf,
  type Client,
  createClient,
  isAlreadyExists,
  type KubeClient,
  type KubeObject,
  loadKubeconfig,
  type Resource,
} from '@drydock/kube';
import {
  build,
  connectSwitchboard,
  crdFolder,
  type Switchboard,
  scratchFolder,
  startSandbox,
  type VCenterSandbox,
} from '@drydock/sandbox';
import { writeTestOva } from '@drydock/templates/testing';
import { parse } from 'yaml';
import { type ApiGate, openApiGate } from './api-gate.ts';
import { serveFolder } from './mirror.ts';
import { type Process, startProcess } from './operator-process.ts';
import { apply, manifestsOf } from './rbac-manifests.ts';
import { eventually } from './voyage.ts';
import { base64 } from './voyage-cluster.ts';

/** An object of Cluster API. */
export interface CapiObject extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
}

const kind = (
  group: string,
  version: string,
  name: string,
  scope: 'Namespaced' | 'Cluster' = 'Namespaced',
): Resource<CapiObject> => ({
  ...{ group, version, kind: name, plural: `${name.toLowerCase()}s`, scope },
});
/** Versions of Cluster API's contract. */
export type Contract = 'v1beta1' | 'v1beta2';
const vsphere = (name: string, scope?: 'Cluster'): Resource<CapiObject> =>
  kind('infrastructure.cluster.x-k8s.io', 'v1beta1', name, scope);

/** The kinds of the tests. */
export type CapiKinds = Readonly<
  Record<
    'cluster' | 'clusterClass' | 'deployment' | 'set' | 'controlPlane' | 'template' | 'machine',
    Resource<CapiObject>
  >
>;

/** The kinds in a version of the contract. */
export function capiKinds(contract: Contract): CapiKinds {
  const core = (name: string): Resource<CapiObject> => kind('cluster.x-k8s.io', contract, name);
  return {
    cluster: core('Cluster'),
    clusterClass: { ...core('ClusterClass'), plural: 'clusterclasses' },
    deployment: core('MachineDeployment'),
    set: core('MachineSet'),
    controlPlane: kind('controlplane.cluster.x-k8s.io', contract, 'KubeadmControlPlane'),
    template: vsphere('VSphereMachineTemplate'),
    machine: vsphere('VSphereMachine'),
  };
}

/** The kinds in the newest one. */
export const capi: CapiKinds = capiKinds('v1beta2');

/** A reference to an infrastructure object of the team, as the contract has it. */
export function infrastructureRef(
  contract: Contract,
  { group, version, kind: of }: Resource<CapiObject>,
  name: string,
): Readonly<Record<string, string>> {
  return contract === 'v1beta2'
    ? { apiGroup: group, kind: of, name }
    : { apiVersion: `${group}/${version}`, kind: of, name, namespace: team };
}

/** Namespace of the workload cluster. */
export const team = 'team-a';
/** What VSphereClusters call the vCenter. */
const server = 'vc.example';
/** Folder of images and machines. */
export const imageFolder = '/DC0/vm/kubernetes';

/** An image of the catalogue. */
export interface CatalogueImage {
  readonly version: string;
  readonly url: string;
  readonly sha256: string;
  /** What the operator calls it. */
  readonly release: string;
}

/** A management cluster without OpenShift, with one workload cluster on a simulated vCenter, and the operator as a process. */
export interface RotationWorld extends AsyncDisposable {
  readonly sandbox: VCenterSandbox;
  readonly client: KubeClient;
  readonly switchboard: Switchboard;
  readonly gate: ApiGate;
  /** An image of Kubernetes v1.34.2 that no other call made. */
  image(): Promise<CatalogueImage>;
  /** Puts it into the catalogue of the one policy, in place of what was there. */
  catalogue(image: CatalogueImage): Promise<void>;
  /** A template of a person, and a deployment that names it. */
  deployment(name: string, options?: DeploymentOptions & { readonly cpus?: number }): Promise<void>;
  /** Name of the template that a deployment names. */
  reference(name: string): Promise<string>;
  template(name: string): Promise<CapiObject>;
  /** `spec.template.spec` of the template that a deployment names. */
  machineSpec(name: string): Promise<Readonly<Record<string, unknown>>>;
  /** Waits until the BootImage of a set is so; `kind` is its own in the name of a BootImage, by default that of deployments. */
  status(
    name: string,
    what: string,
    wanted: (status: BootImageStatus) => boolean,
    kind?: MachineSetShortKind,
  ): Promise<BootImageStatus>;
  current(name: string, image: CatalogueImage, kind?: MachineSetShortKind): Promise<BootImageStatus>;
  /** Starts the operator, where it does not run. */
  start(): void;
  /** Ends it without any clean-up. */
  kill(): Promise<void>;
  /** What the operator logged so far. */
  log(): Promise<string>;
  /** How vCenters are reached, for commands. */
  readonly flags: readonly string[];
}

/** Upstream's definitions as they were when no newer version of the contract was served; the folder of them. */
async function definitionsOf(contract: Contract, files: string): Promise<string> {
  if (contract === 'v1beta2') return 'cluster-api-sets';
  await build({ servers: [], crds: ['cluster-api-sets'] });
  const folder = join(files, 'definitions');
  await mkdir(folder);
  for (const file of globSync(join(crdFolder('cluster-api-sets'), '*.yaml'))) {
    const crd = parse(await readFile(file, 'utf8')) as CustomResourceDefinition;
    const versions = crd.spec.versions.flatMap((one) => (one.name === contract ? [{ ...one, storage: true }] : []));
    await writeFile(join(folder, basename(file)), JSON.stringify({ ...crd, spec: { ...crd.spec, versions } }));
  }
  return folder;
}

/** Starts everything but the operator. */
export async function startRotationWorld(contract: Contract = 'v1beta2'): Promise<RotationWorld> {
  await using starting = new AsyncDisposableStack();
  const kinds = capiKinds(contract);
  const files = starting.use(scratchFolder()).path;
  const definitions = await definitionsOf(contract, files);
  const crds = [definitions, 'cluster-api-vsphere', join(import.meta.dirname, '../../../api/crds')];
  const sandbox = starting.use(await startSandbox({ vcenter: true, crds }));
  const mirror = starting.use(await serveFolder(files));
  const client = starting.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  const switchboard = connectSwitchboard(sandbox.vcenter.switchboard);
  await switchboard.createFolder(imageFolder);
  await createWorkloadCluster(contract, client, sandbox.vcenter);
  const gate = starting.use(await openApiGate(sandbox));
  const kubeconfig = join(sandbox.directory, 'rotation.kubeconfig');
  await writeFile(kubeconfig, asAccount(gate.kubeconfig), { mode: 0o600 });
  const flags = ['--vcenter-url', `${server}=${sandbox.vcenter.url}`, '--vcenter-ca', sandbox.vcenter.ca];
  let running: Process | undefined;
  starting.defer(() => running?.[Symbol.asyncDispose]());
  const resources = starting.move();
  let images = 0;
  const reference: RotationWorld['reference'] = async (name) => {
    const { spec } = await client.get(kinds.deployment, { namespace: team, name });
    const template = spec?.['template'] as { readonly spec: { readonly infrastructureRef: { readonly name: string } } };
    return template.spec.infrastructureRef.name;
  };
  const template: RotationWorld['template'] = (name) => client.get(kinds.template, { namespace: team, name });
  const status: RotationWorld['status'] = (name, what, wanted, short = 'capi-md') => {
    let seen: BootImageStatus | undefined;
    const key = { namespace: team, name: bootImageName(short, name) };
    return eventually(
      `${name}: ${what}`,
      async () => {
        seen = (await client.get(BootImage, key).catch(() => undefined))?.status;
        return seen !== undefined && wanted(seen) ? seen : undefined;
      },
      () => seen,
    );
  };
  return {
    ...{ sandbox, client, switchboard, gate, reference, template, status, flags },
    image: async () => {
      images += 1;
      const name = `kube-${images}.ova`;
      const { sha256 } = await writeTestOva(join(files, name), { version: `v1.34.2-${images}`, diskBytes: 2 ** 20 });
      return { version: 'v1.34.2', url: mirror.url(name), sha256, release: `v1.34.2-${sha256.slice(0, 8)}` };
    },
    catalogue: async ({ version, url, sha256 }) => {
      const spec = { image: { catalogue: [{ version, url, sha256 }] } };
      await client.mergePatch(BootImagePolicy, { name: 'kubernetes' }, { spec });
    },
    deployment: async (name, { cpus = 2, ...options } = {}) => {
      await client.create(kinds.template, machineTemplate(name, cpus));
      await client.create(kinds.deployment, deploymentOf(contract, name, options));
    },
    machineSpec: async (name) => {
      const { spec = {} } = await template(await reference(name));
      return (spec['template'] as { readonly spec: Readonly<Record<string, unknown>> }).spec;
    },
    current: (name, { release }, short) =>
      status(name, `current at ${release}`, ({ phase, current }) => phase === 'Current' && current === release, short),
    start: () => {
      running ??= startProcess(
        join(import.meta.dirname, '../../../apps/drydock/bin/drydock.js'),
        [
          ...['operator', '--kubeconfig', kubeconfig, '--port', '0', '--cache-dir', join(files, 'cache')],
          ...['--lease-namespace', 'drydock', '--identity', 'rotation', ...flags],
        ],
        { sandbox: sandbox.directory, log: join(sandbox.directory, 'rotation.log') },
      );
    },
    log: () => readFile(join(sandbox.directory, 'rotation.log'), 'utf8'),
    kill: async () => {
      const ending = running;
      running = undefined;
      await ending?.crash();
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** A template of a person. */
export function machineTemplate(name: string, cpus: number): CapiObject {
  return {
    metadata: { name, namespace: team },
    spec: {
      template: {
        spec: {
          template: 'by-hand',
          numCPUs: cpus,
          datacenter: 'DC0',
          network: { devices: [{ networkName: 'VM Network', dhcp4: true }] },
        },
      },
    },
  };
}

interface DeploymentOptions {
  /** Default OnDelete. */
  readonly strategy?: string;
  /** Default 2. */
  readonly replicas?: number;
  /** Default c1. */
  readonly cluster?: string;
  /** Its own; by default none. */
  readonly labels?: Readonly<Record<string, string>>;
}

function deploymentOf(contract: Contract, name: string, options: DeploymentOptions): CapiObject {
  const { strategy = 'OnDelete', replicas = 2, cluster: clusterName = 'c1', labels: own = {} } = options;
  const rollout =
    contract === 'v1beta2' ? { rollout: { strategy: { type: strategy } } } : { strategy: { type: strategy } };
  const labels = { 'cluster.x-k8s.io/cluster-name': clusterName, 'cluster.x-k8s.io/deployment-name': name };
  return {
    metadata: { name, namespace: team, labels: own },
    spec: {
      ...{ ...rollout, clusterName, replicas, selector: { matchLabels: labels } },
      template: {
        metadata: { labels },
        spec: {
          ...{ clusterName, version: 'v1.34.2', failureDomain: 'zone-a', bootstrap: { dataSecretName: 'none' } },
          infrastructureRef: infrastructureRef(contract, capi.template, name),
        },
      },
    },
  };
}

async function createWorkloadCluster(
  contract: Contract,
  client: KubeClient,
  { user, password }: VCenterSandbox['vcenter'],
): Promise<void> {
  for (const name of [team, 'drydock']) await client.create(Namespace, { metadata: { name } });
  const data = { username: base64(user), password: base64(password) };
  await client.create(Secret, { metadata: { namespace: team, name: 'login' }, data });
  await client.create(Secret, {
    metadata: { namespace: 'drydock', name: 'drydock-mark-key' },
    data: { current: base64('k1'), k1: base64(randomBytes(32).toString('hex')) },
  });
  const provider = vsphere('VSphereCluster');
  await client.create(provider, {
    metadata: { namespace: team, name: 'c1' },
    spec: { server, identityRef: { kind: 'Secret', name: 'login' }, controlPlaneEndpoint: { host: 'c1', port: 6443 } },
  });
  const tag = (name: string, type: string): object => ({ name, type, tagCategory: `k8s-${name}` });
  await client.create(vsphere('VSphereFailureDomain', 'Cluster'), {
    metadata: { name: 'fd-a' },
    spec: {
      ...{ region: tag('region', 'Datacenter'), zone: tag('zone', 'ComputeCluster') },
      topology: {
        ...{ datacenter: 'DC0', computeCluster: '/DC0/host/DC0_C0', datastore: '/DC0/datastore/LocalDS_0' },
        networks: ['VM Network'],
      },
    },
  });
  await client.create(vsphere('VSphereDeploymentZone', 'Cluster'), {
    metadata: { name: 'zone-a' },
    spec: {
      ...{ server, failureDomain: 'fd-a' },
      placementConstraint: { resourcePool: '/DC0/host/DC0_C0/Resources', folder: imageFolder },
    },
  });
  await client.create(capiKinds(contract).cluster, {
    metadata: { namespace: team, name: 'c1' },
    spec: {
      infrastructureRef: infrastructureRef(contract, provider, 'c1'),
      controlPlaneEndpoint: { host: 'c1', port: 6443 },
    },
  });
  await client.create(BootImagePolicy, { metadata: { name: 'kubernetes' }, spec: {} });
  await apply(client, manifestsOf('cluster-api'));
  // As docs/cluster-api.md has it: the one Secret by its name.
  const rights = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { namespace: team, name: 'drydock-logins' } };
  const rule = { apiGroups: [''], resources: ['secrets'], resourceNames: ['login'], verbs: ['get'] };
  await apply(client, [
    { ...rights, kind: 'Role', rules: [rule] },
    {
      ...{ ...rights, kind: 'RoleBinding', roleRef: { kind: 'Role', name: 'drydock-logins' } },
      subjects: [{ kind: 'ServiceAccount', namespace: 'drydock', name: 'drydock-boot-images' }],
    },
  ]);
}

/** The kubeconfig of the gate for the ServiceAccount of boot images: whatever its roles do not say it may not do. */
function asAccount(kubeconfig: string): string {
  const { users, ...rest } = JSON.parse(kubeconfig) as { readonly users: readonly { readonly user: object }[] };
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:drydock', 'system:authenticated'];
  const as = { as: 'system:serviceaccount:drydock:drydock-boot-images', 'as-groups': groups };
  return JSON.stringify({ ...rest, users: users.map((one) => ({ ...one, user: { ...one.user, ...as } })) });
}

/**
 * What Cluster API's controllers make of a deployment, in one go: a revision for the template that it names, and machines of that template where there are none. It stands in for them.
 */
export async function rollOut(client: Client, name: string): Promise<void> {
  const { metadata, spec } = await client.get(capi.deployment, { namespace: team, name });
  const template = spec?.['template'] as { readonly spec: { readonly infrastructureRef: { readonly name: string } } };
  const from = template.spec.infrastructureRef.name;
  const owner = {
    apiVersion: apiVersionOf(capi.deployment),
    kind: capi.deployment.kind,
    name,
    uid: metadata.uid ?? '',
    controller: true,
  };
  const made: readonly (readonly [Resource<CapiObject>, CapiObject])[] = [
    [
      capi.set,
      {
        metadata: { namespace: team, name: `${from}-revision`, ownerReferences: [owner] },
        spec: { clusterName: 'c1', replicas: 0, selector: spec?.['selector'], template },
      },
    ],
    [
      capi.machine,
      {
        metadata: {
          ...{ namespace: team, name: `${from}-machine` },
          annotations: {
            'cluster.x-k8s.io/cloned-from-name': from,
            'cluster.x-k8s.io/cloned-from-groupkind': `${capi.template.kind}.${capi.template.group}`,
          },
        },
        spec: { template: 'any', network: { devices: [] } },
      },
    ],
  ];
  for (const [resource, object] of made)
    await client.create(resource, object).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
}
