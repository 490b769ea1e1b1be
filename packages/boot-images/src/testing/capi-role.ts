import { BootImage, BootImagePolicy, type BootImagePolicySpec, bootImageName } from '@drydock/api';
import { type KubeClient, kubeMetrics } from '@drydock/kube';
import type { ClusterCall, MemoryCluster, MemoryKubeClient } from '@drydock/kube/testing';
import { type ClusterApiRole, type ClusterApiRoleOptions, clusterApiRole } from '../cluster-api/role.ts';
import { bootImageMetrics } from '../metrics.ts';
import { type PolicyWorld, policyStatuses } from '../policy/policy-statuses.ts';
import type { ImageStore } from '../vsphere/options.ts';
import { CAPI_KINDS } from './capi-world.ts';
import { fakeStore } from './fake-store.ts';

/** The role for Cluster API, running on a cluster in memory. Disposal ends it. */
export interface RunningCapiRole extends AsyncDisposable {
  readonly role: ClusterApiRole;
  /** What it changed, `patch machinedeployments ns/worker`, Events left out. */
  readonly writes: readonly string[];
  /** Looks at every cluster again, as time would. */
  readonly collect: () => void;
}

/** Options of {@link runCapiRole}. */
export type CapiRoleOptions = Partial<
  Pick<ClusterApiRoleOptions, 'now' | 'elapsed' | 'retain' | 'graceMs' | 'leader' | 'log' | 'openshift'>
> & {
  /** Worlds of machines beside it, as far as policies select their sets. */
  readonly others?: readonly PolicyWorld[];
  /** Which verbs on which resources are granted; default all. */
  readonly may?: (verb: string, resource: string) => boolean;
  /** Templates of the vCenters. */
  readonly store?: ImageStore;
};

const noWord = (): void => undefined;
const silent = { debug: noWord, info: noWord, warn: noWord, error: noWord, child: () => silent } as never;

/** The role as a plan has it: nothing of it runs by itself. Disposal ends its watches. */
export async function idleCapiRole(
  cluster: MemoryCluster,
  options: CapiRoleOptions = {},
): Promise<Omit<RunningCapiRole, 'collect'>> {
  const { role, writes } = await wired(cluster, options);
  await Promise.all(Object.values(role.caches).map(({ synced }) => synced));
  return {
    ...{ role, writes },
    [Symbol.asyncDispose]: async () => {
      for (const cache of Object.values(role.caches)) await cache[Symbol.asyncDispose]();
    },
  };
}

/** Runs it as the operator does. Images are named, as on clouds: nothing is imported. */
export async function runCapiRole(cluster: MemoryCluster, options: CapiRoleOptions = {}): Promise<RunningCapiRole> {
  const { others = [] } = options;
  const { role, writes, client } = await wired(cluster, options);
  const ends = new AbortController();
  const metrics = kubeMetrics();
  const controllers = [...role.controllers, policyStatuses([role.policies, ...others], { client })];
  const running = controllers.map((one) => one.run({ log: silent, metrics, signal: ends.signal }));
  await Promise.all(Object.values(role.caches).map(({ synced }) => synced));
  return {
    role,
    writes,
    collect: () => {
      const [collection] = role.controllers.filter(({ name }) => name.endsWith('collect'));
      collection?.enqueue({ namespace: 'ns', name: 'c1' });
    },
    [Symbol.asyncDispose]: async () => {
      ends.abort();
      await Promise.all(running);
      for (const cache of Object.values(role.caches)) await cache[Symbol.asyncDispose]();
    },
  };
}

async function wired(
  cluster: MemoryCluster,
  options: CapiRoleOptions,
): Promise<{ readonly role: ClusterApiRole; readonly writes: string[]; readonly client: KubeClient }> {
  const own = cluster.client();
  const client = asked(own, (verb, resource) => options.may?.(verb, resource) !== false);
  const writes: string[] = [];
  cluster.onCall = (call, phase, { mutates, client: by }) => {
    // Neither is of a set.
    if (/^(?:events|bootimagepolicies)/.test(call.resource)) return;
    if (by === own && mutates && phase === 'after') writes.push(textOf(call));
  };
  const { log = silent, others: _others, may: _may, ...more } = options;
  const role = clusterApiRole({
    ...{ client, log, owner: 'cluster-uid', store: fakeStore(), metrics: bootImageMetrics() },
    served: { of: (_, kind) => CAPI_KINDS[kind], openshift: false, fingerprint: '' },
    leader: { identity: 'us', holderIsLive: () => true, assertHeld: () => undefined },
    ...more,
  });
  return { role, writes, client };
}

/** A policy that selects all sets. */
export function putPolicy(cluster: MemoryCluster, spec: BootImagePolicySpec, generation = 1): void {
  const key = { name: 'gold' };
  cluster.put(BootImagePolicy, key, { metadata: { ...key, generation }, spec });
}

/** What the role says of a deployment. */
export function saidOfDeployment(cluster: MemoryCluster, name: string): BootImage['status'] {
  return cluster.peek(BootImage, { namespace: 'ns', name: bootImageName('capi-md', name) })?.status;
}

function textOf({ verb, resource, key }: ClusterCall): string {
  return `${verb} ${resource.split('.')[0]} ${key === undefined ? '' : `${key.namespace}/${key.name}`}`;
}

/** A client that is also told what it may do. */
function asked(client: MemoryKubeClient, may: (verb: string, resource: string) => boolean): KubeClient {
  return {
    ...client,
    raw: async (request, call) => {
      if (!request.path.endsWith('/selfsubjectaccessreviews')) return client.raw(request, call);
      const { spec } = request.body as {
        readonly spec: { readonly resourceAttributes: Readonly<Record<string, string>> };
      };
      const { verb = '', resource = '' } = spec.resourceAttributes;
      return { status: { allowed: may(verb, resource) } };
    },
  };
}
