import {
  type ClusterConfig,
  createClient,
  type KubeClient,
  type KubeMetrics,
  type TransportOptions,
} from '@drydock/kube';
import type { Account, ReleaseRoleOptions } from '@drydock/release';
import { configAt } from './release/api-servers.ts';

/** Clients in the name of accounts, each made once. */
export interface AccountClients extends AsyncDisposable {
  readonly of: ReleaseRoleOptions['clientFor'];
  /** Of one API server by itself; undefined: its certificate would not be looked at, so that anybody could take its place. */
  readonly at: ReleaseRoleOptions['clientAt'];
}

/** What {@link accountClients} needs besides the cluster. */
export interface AccountClientsOptions {
  readonly metrics: Pick<KubeMetrics, 'request'>;
  readonly now: () => number;
  /** Default: kube's own. */
  readonly create?: typeof createClient;
}

/** How a client that applies is connected: the nodes of an installation all write at once, and each write waits for the disk of etcd. */
export const FOR_MANY_WRITES: Pick<TransportOptions, 'connections' | 'http2'> = { connections: 32, http2: true };

/** ms after which a client that nobody asked for is closed: longer than a pass may take, and than it is until the next one, whose watches it has. */
const UNUSED = 900_000;

/** Makes them as they are asked for. How many accounts others name closes nothing that somebody works with. */
export function accountClients(
  config: ClusterConfig,
  { metrics, now, create = createClient }: AccountClientsOptions,
): AccountClients {
  const clients = new Map<string, { readonly client: KubeClient; asked: number }>();
  const closeUnused = (): void => {
    for (const [key, { client, asked }] of clients) {
      if (now() - asked <= UNUSED) continue;
      clients.delete(key);
      void client[Symbol.asyncDispose]();
    }
  };
  const clientOf = ({ namespace, name }: Account, where: Partial<ClusterConfig>): KubeClient => {
    const user = `system:serviceaccount:${namespace}:${name}`;
    const key = `${user} ${where.server ?? ''}`;
    const found = clients.get(key) ?? {
      client: create(
        { ...config, ...where, impersonate: { user } },
        { ...FOR_MANY_WRITES, onRequest: (metric) => metrics.request(metric) },
      ),
      asked: now(),
    };
    found.asked = now();
    clients.set(key, found);
    closeUnused();
    return found.client;
  };
  return {
    of: (account) => clientOf(account, {}),
    at: config.insecureSkipTlsVerify === true ? undefined : (account, server) => clientOf(account, configAt(server)),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...clients.values()].map(({ client }) => client[Symbol.asyncDispose]()));
    },
  };
}
