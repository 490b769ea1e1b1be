import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CustomResourceDefinition, Secret } from '@drydock/api';
import {
  apiVersionOf,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeClient,
  type Resource,
  statusWriter,
} from '@drydock/kube';
import { build, type RunningNeighbour, startNeighbour } from '@drydock/sandbox';
import {
  type CapiObject,
  capi,
  machineTemplate,
  type RotationWorld,
  team,
} from '../../sandbox/support/rotation-world.ts';
import { base64 } from '../../sandbox/support/voyage-cluster.ts';
import { leadTo } from './vcenter-proxy.ts';

/** Cluster API's managers, beside each other. */
export interface ClusterApi extends AsyncDisposable {
  readonly managers: readonly RunningNeighbour[];
  /** The ends of their logs, for a test that failed. */
  readonly log: () => string;
}

const CLUSTER_NAME = 'cluster.x-k8s.io/cluster-name';
const secretType = 'cluster.x-k8s.io/secret';

/** Gives a world what Cluster API wants of it, and starts its core manager and its vSphere provider. The workload cluster is the management cluster. */
export async function startClusterApi({ sandbox, client }: RotationWorld): Promise<ClusterApi> {
  await using starting = new AsyncDisposableStack();
  await build({ servers: [], crds: ['cluster-api-managers'] });
  await sandbox.installCrds(['cluster-api-managers']);
  await speakContracts(client);
  await furnish(client, readFileSync(sandbox.kubeconfig, 'utf8'));
  const proxy = starting.use(await leadTo(sandbox.vcenter.url));
  const { kubeconfig, directory } = sandbox;
  const { user, password } = sandbox.vcenter;
  const login = join(directory, 'provider-login.yaml');
  await writeFile(login, JSON.stringify({ username: user, password }), { mode: 0o600 });
  const env = {
    ...proxy.env,
    POD_NAMESPACE: team,
    POD_NAME: 'manager',
    POD_UID: '5f4dcc3b-5aa7-4d6a-9b0e-2f6a1c7d8e92',
  };
  const managers = [
    starting.use(await startNeighbour('cluster-api', { kubeconfig, env })),
    starting.use(
      await startNeighbour('cluster-api-provider-vsphere', { kubeconfig, env, flags: ['--credentials-file', login] }),
    ),
  ];
  const resources = starting.move();
  return {
    managers,
    log: () => managers.map((one) => `${one.name}:\n${one.log().slice(-4000)}`).join('\n'),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Which versions of the contract a kind speaks is said by labels, which the kustomizations of a release add. */
async function speakContracts(client: KubeClient): Promise<void> {
  const all = await Array.fromAsync(client.list(CustomResourceDefinition));
  for (const { metadata, spec } of all) {
    if (!spec.group.endsWith('cluster.x-k8s.io')) continue;
    const versions = spec.versions.map(({ name }) => name).filter((name) => name === 'v1beta1' || name === 'v1beta2');
    const labels = Object.fromEntries(versions.map((name) => [`cluster.x-k8s.io/${name}`, name]));
    await client.mergePatch(CustomResourceDefinition, { name: metadata.name }, { metadata: { labels } });
  }
}

async function furnish(client: KubeClient, kubeconfig: string): Promise<void> {
  const labels = { [CLUSTER_NAME]: 'c1' };
  await client.create(Secret, {
    ...{ metadata: { namespace: team, name: 'c1-kubeconfig', labels }, type: secretType },
    data: { value: base64(kubeconfig) },
  } as Secret);
  await client.create(Secret, {
    ...{ metadata: { namespace: team, name: 'none', labels }, type: secretType },
    data: { value: base64('#cloud-config\n'), format: base64('cloud-config') },
  } as Secret);
  const provider = { ...capi.template, kind: 'VSphereCluster', plural: 'vsphereclusters' };
  await client.mergePatch(provider, { namespace: team, name: 'c1' }, { spec: { disableClusterModule: true } });
  // No control plane is made by anybody: it is there.
  const at = new Date().toISOString();
  const initialized = { type: 'ControlPlaneInitialized', status: 'True', reason: 'Initialized', message: '' };
  const key = { namespace: team, name: 'c1' };
  await statusWriter({ client, resource: capi.cluster }).write(key, (live) => ({
    ...(live as { readonly status?: object }).status,
    initialization: { controlPlaneInitialized: true },
    conditions: [{ ...initialized, lastTransitionTime: at }],
  }));
}

/** A deployment with all that webhooks would add, and a template of a person. */
export async function createFleet(
  client: KubeClient,
  name: string,
  {
    replicas,
    strategy,
    config,
  }: {
    readonly replicas: number;
    readonly strategy: 'RollingUpdate' | 'OnDelete';
    /** A KubeadmConfigTemplate; default: bootstrap data in a Secret. */
    readonly config?: string;
  },
): Promise<CapiObject> {
  await client.create(capi.template, machineTemplate(name, 2));
  const { group: apiGroup, kind } = capi.template;
  const labels = { [CLUSTER_NAME]: 'c1', 'cluster.x-k8s.io/deployment-name': name };
  const rollingUpdate = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
  const bootstrap =
    config === undefined
      ? { dataSecretName: 'none' }
      : { configRef: { apiGroup: configs.template.group, kind: configs.template.kind, name: config } };
  const deployment: CapiObject = {
    apiVersion: apiVersionOf(capi.deployment),
    kind: capi.deployment.kind,
    metadata: { name, namespace: team, labels },
    spec: {
      ...{ clusterName: 'c1', replicas, selector: { matchLabels: labels } },
      rollout: { strategy: { type: strategy, ...(strategy === 'RollingUpdate' ? rollingUpdate : {}) } },
      template: {
        metadata: { labels },
        spec: {
          ...{ clusterName: 'c1', version: 'v1.34.2', failureDomain: 'zone-a', bootstrap },
          infrastructureRef: { apiGroup, kind, name },
        },
      },
    },
  };
  await client.create(capi.deployment, deployment);
  return deployment;
}

const bootstrapKind = (kind: string): Resource<CapiObject> => ({
  ...{ group: 'bootstrap.cluster.x-k8s.io', version: 'v1beta2', kind },
  ...{ plural: `${kind.toLowerCase()}s`, scope: 'Namespaced' },
});

/** What kubeadm needs, and templates of it. */
export const configs: Readonly<Record<'config' | 'template', Resource<CapiObject>>> = {
  config: bootstrapKind('KubeadmConfig'),
  template: bootstrapKind('KubeadmConfigTemplate'),
};

/** Machines of Cluster API. */
export const machines: Resource<CapiObject> = { ...capi.cluster, kind: 'Machine', plural: 'machines' };

/** Stands in for the provider of bootstrap data: whoever asks for some gets some. Disposal ends it. */
export function startBootstrap(client: KubeClient): AsyncDisposable {
  const ends = new AbortController();
  const give = async ({ metadata: { name } }: CapiObject): Promise<void> => {
    const data = { value: base64('#cloud-config\n'), format: base64('cloud-config') };
    const metadata = { namespace: team, name, labels: { [CLUSTER_NAME]: 'c1' } };
    await client.create(Secret, { metadata, type: secretType, data } as Secret).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
    const live = await client.get(configs.config, { namespace: team, name });
    const status = { dataSecretName: name, initialization: { dataSecretCreated: true } };
    await client.replaceStatus(configs.config, { ...live, status } as CapiObject);
  };
  const running = (async () => {
    while (!ends.signal.aborted) {
      const all = await Array.fromAsync(client.list(configs.config, { namespace: team }));
      for (const one of all)
        if ((one as { readonly status?: { readonly dataSecretName?: string } }).status?.dataSecretName === undefined)
          await give(one).catch((error: unknown) => {
            if (!isNotFound(error) && !isConflict(error)) throw error;
          });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      ends.abort();
      await running;
    },
  };
}
