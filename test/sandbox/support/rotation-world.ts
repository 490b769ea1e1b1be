import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BootImage, BootImagePolicy, type BootImageStatus, bootImageName, Namespace, Secret } from '@drydock/api';
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
  connectSwitchboard,
  type Switchboard,
  scratchFolder,
  startSandbox,
  type VCenterSandbox,
} from '@drydock/sandbox';
import { writeTestOva } from '@drydock/templates/testing';
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
const core = (name: string): Resource<CapiObject> => kind('cluster.x-k8s.io', 'v1beta2', name);
const vsphere = (name: string, scope?: 'Cluster'): Resource<CapiObject> =>
  kind('infrastructure.cluster.x-k8s.io', 'v1beta1', name, scope);

/** The kinds of the tests. */
export const capi: Readonly<Record<'cluster' | 'deployment' | 'set' | 'template' | 'machine', Resource<CapiObject>>> = {
  cluster: core('Cluster'),
  deployment: core('MachineDeployment'),
  set: core('MachineSet'),
  template: vsphere('VSphereMachineTemplate'),
  machine: vsphere('VSphereMachine'),
};

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
  deployment(
    name: string,
    options?: { readonly strategy?: string; readonly replicas?: number; readonly cpus?: number },
  ): Promise<void>;
  /** Name of the template that a deployment names. */
  reference(name: string): Promise<string>;
  template(name: string): Promise<CapiObject>;
  /** `spec.template.spec` of the template that a deployment names. */
  machineSpec(name: string): Promise<Readonly<Record<string, unknown>>>;
  /** Waits until the BootImage of a deployment is so. */
  status(name: string, what: string, wanted: (status: BootImageStatus) => boolean): Promise<BootImageStatus>;
  current(name: string, image: CatalogueImage): Promise<BootImageStatus>;
  /** Starts the operator, where it does not run. */
  start(): void;
  /** Ends it without any clean-up. */
  kill(): Promise<void>;
  /** What the operator logged so far. */
  log(): Promise<string>;
  /** How vCenters are reached, for commands. */
  readonly flags: readonly string[];
}

/** Starts everything but the operator. */
export async function startRotationWorld(): Promise<RotationWorld> {
  await using starting = new AsyncDisposableStack();
  const crds = ['cluster-api-sets', 'cluster-api-vsphere', join(import.meta.dirname, '../../../api/crds')];
  const sandbox = starting.use(await startSandbox({ vcenter: true, crds }));
  const files = starting.use(scratchFolder()).path;
  const mirror = starting.use(await serveFolder(files));
  const client = starting.use(createClient(await loadKubeconfig({ kubeconfig: sandbox.kubeconfig })));
  const switchboard = connectSwitchboard(sandbox.vcenter.switchboard);
  await switchboard.createFolder(imageFolder);
  await createWorkloadCluster(client, sandbox.vcenter);
  const gate = starting.use(await openApiGate(sandbox));
  const kubeconfig = join(sandbox.directory, 'rotation.kubeconfig');
  await writeFile(kubeconfig, asAccount(gate.kubeconfig), { mode: 0o600 });
  const flags = ['--vcenter-url', `${server}=${sandbox.vcenter.url}`, '--vcenter-ca', sandbox.vcenter.ca];
  let running: Process | undefined;
  starting.defer(() => running?.[Symbol.asyncDispose]());
  const resources = starting.move();
  let images = 0;
  const reference: RotationWorld['reference'] = async (name) => {
    const { spec } = await client.get(capi.deployment, { namespace: team, name });
    const template = spec?.['template'] as { readonly spec: { readonly infrastructureRef: { readonly name: string } } };
    return template.spec.infrastructureRef.name;
  };
  const template: RotationWorld['template'] = (name) => client.get(capi.template, { namespace: team, name });
  const status: RotationWorld['status'] = (name, what, wanted) => {
    let seen: BootImageStatus | undefined;
    const key = { namespace: team, name: bootImageName('capi-md', name) };
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
    deployment: async (name, { strategy = 'OnDelete', replicas = 2, cpus = 2 } = {}) => {
      await client.create(capi.template, machineTemplate(name, cpus));
      await client.create(capi.deployment, deploymentOf(name, strategy, replicas));
    },
    machineSpec: async (name) => {
      const { spec = {} } = await template(await reference(name));
      return (spec['template'] as { readonly spec: Readonly<Record<string, unknown>> }).spec;
    },
    current: (name, { release }) =>
      status(name, `current at ${release}`, ({ phase, current }) => phase === 'Current' && current === release),
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

function deploymentOf(name: string, strategy: string, replicas: number): CapiObject {
  const { group: apiGroup, kind: of } = capi.template;
  const labels = { 'cluster.x-k8s.io/cluster-name': 'c1', 'cluster.x-k8s.io/deployment-name': name };
  return {
    metadata: { name, namespace: team },
    spec: {
      ...{ clusterName: 'c1', replicas, rollout: { strategy: { type: strategy } }, selector: { matchLabels: labels } },
      template: {
        metadata: { labels },
        spec: {
          ...{ clusterName: 'c1', version: 'v1.34.2', failureDomain: 'zone-a', bootstrap: { dataSecretName: 'none' } },
          infrastructureRef: { apiGroup, kind: of, name },
        },
      },
    },
  };
}

async function createWorkloadCluster(client: KubeClient, { user, password }: VCenterSandbox['vcenter']): Promise<void> {
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
  const { group: apiGroup, kind: of } = provider;
  await client.create(capi.cluster, {
    metadata: { namespace: team, name: 'c1' },
    spec: { infrastructureRef: { apiGroup, kind: of, name: 'c1' }, controlPlaneEndpoint: { host: 'c1', port: 6443 } },
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
