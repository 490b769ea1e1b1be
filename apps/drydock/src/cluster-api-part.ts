import { setTimeout as sleep } from 'node:timers/promises';
import { Namespace } from '@drydock/api';
import {
  CLUSTER_API,
  type ClusterApiRole,
  type ClusterApiRoleOptions,
  clusterApiRole,
  type ServedKinds,
  servedKinds,
} from '@drydock/boot-images';
import type { KubeClient, Service } from '@drydock/kube';
import { passwordVersion } from '@drydock/vm-watch';
import type { Credentials } from '@drydock/vsphere';
import type { Logger } from 'pino';

/** Which of the two worlds of machines are served. */
export interface Worlds {
  /** OpenShift's; also where neither is there yet. */
  readonly openshift: boolean;
  readonly clusterApi: ServedKinds | undefined;
  readonly fingerprint: string | undefined;
}

/** Asks what is served. Where that cannot be told, it is taken for OpenShift's, whose watches wait until it is there. */
export async function worldsOf(client: Pick<KubeClient, 'raw'>, log: Pick<Logger, 'warn'>): Promise<Worlds> {
  try {
    const served = await servedKinds(client);
    const there = served.of(CLUSTER_API, 'Cluster') !== undefined;
    return {
      openshift: served.openshift || !there,
      clusterApi: there ? served : undefined,
      fingerprint: served.fingerprint,
    };
  } catch (error) {
    log.warn({ err: error }, 'what the API server serves cannot be told: Cluster API is not looked after');
    return { openshift: true, clusterApi: undefined, fingerprint: undefined };
  }
}

/** What runs for Cluster API. */
export interface ClusterApiPart {
  /** Undefined where it is not served. */
  readonly clusterApi:
    | {
        readonly role: ClusterApiRole;
        /** Of its servers alone. */
        readonly credentials: (server: string) => Promise<Credentials | undefined>;
      }
    | undefined;
  /** Ends the process when another world is there: whoever runs it starts it anew, for that one. */
  readonly watch: Service;
}

/** What {@link clusterApiPart} needs besides. */
export interface ClusterApiPartOptions extends Omit<ClusterApiRoleOptions, 'served' | 'owner'> {
  readonly log: Logger;
}

/** How often (ms) it is asked what is served. */
const LOOK_MS = 60_000;

/** Wires boot images of Cluster API, where it is served. */
export async function clusterApiPart(found: Worlds, options: ClusterApiPartOptions): Promise<ClusterApiPart> {
  const { client, log, metrics, ...more } = options;
  const watch: Service = {
    name: 'worlds',
    run: async (signal) => {
      while (!signal.aborted) {
        await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return;
        const { fingerprint } = await servedKinds(client, { signal }).catch(() => ({ fingerprint: undefined }));
        if (fingerprint === undefined || fingerprint === found.fingerprint) continue;
        throw new Error(
          'the API server serves other kinds of machines than when this process began: it ends, to begin anew with these',
        );
      }
    },
  };
  if (found.clusterApi === undefined) return { clusterApi: undefined, watch };
  const { metadata } = await client.get(Namespace, { name: 'kube-system' });
  const role = clusterApiRole({
    ...{ ...more, client, log, metrics, served: found.clusterApi, owner: metadata.uid ?? '' },
  });
  // It watches all namespaces, those of OpenShift's sets among them.
  metrics.images(role.told);
  return {
    clusterApi: {
      role,
      credentials: async (server) => {
        const identity = await role.identity(server);
        if (identity === undefined) return undefined;
        const { user, password, secret } = identity;
        const { namespace = '', name } = secret.metadata;
        return { user, password, version: passwordVersion(secret, `${namespace}/${name}`) };
      },
    },
    watch,
  };
}
