import { Namespace } from '@drydock/api';
import {
  bootImageMetrics,
  CLUSTER_API,
  clusterApiRole,
  identityOf,
  type Pin,
  type PlannedRotation,
  servedKinds,
  serverOf,
  type World,
} from '@drydock/boot-images';
import type { KubeClient } from '@drydock/kube';
import { templateStore } from '@drydock/templates';
import { passwordVersion } from '@drydock/vm-watch';
import { loginBudget } from '@drydock/vsphere';
import { pino } from 'pino';
import { UsageError } from '../exit.ts';
import { storeDuring } from '../image-store.ts';
import { loginFile } from '../login-file.ts';
import { readClusterLogins } from '../login-notes.ts';
import { markKeySecret, readMarkKeys } from '../mark-keys.ts';
import type { VCenterFlags } from '../vcenter-flags.ts';
import { connector, vcenters } from '../vcenters.ts';
import type { ImagesTold } from './image-flags.ts';

/** Sets of Cluster API and what would be done about them. Disposal ends watches and logs out. */
export interface Rotations extends AsyncDisposable {
  /** A UID that lasts as long as the cluster. */
  readonly cluster: string;
  /** Of all sets, or of those that are named, as `capi-md/worker` or `team-a/capi-md/worker`. `pin`: as if they had it. Throws `UsageError` for a name that no set has. */
  readonly plan: (
    names: readonly string[],
    options: { readonly namespace?: string | undefined; readonly pin?: Pin },
  ) => Promise<readonly PlannedRotation[]>;
}

/** What {@link rotationsOf} needs. */
export interface RotationsOptions {
  readonly client: KubeClient;
  readonly flags: VCenterFlags;
  readonly images: ImagesTold;
  /** Where Machine API is served, too, its sets. */
  readonly world: Pick<World, 'machineSets'>;
  readonly retain: number;
  readonly warn: (message: string) => void;
  readonly signal: AbortSignal;
}

/** How long (ms) watches may take to know all sets: whoever may not read them waits for ever. */
const PATIENCE_MS = 60_000;

/** Watches the sets of Cluster API for as long as somebody looks at them; undefined where they are not served. Nothing is ever written. */
export async function rotationsOf(options: RotationsOptions): Promise<Rotations | undefined> {
  const { client, flags, images, world, retain, warn, signal } = options;
  const served = await servedKinds(client, { signal });
  if (served.of(CLUSTER_API, 'Cluster') === undefined) return undefined;
  const log = pino(
    { level: 'warn' },
    { write: (line) => warn((JSON.parse(line) as { readonly msg?: string }).msg ?? '') },
  );
  const { metadata } = await client.get(Namespace, { name: 'kube-system' }, { signal });
  const owner = metadata.uid ?? '';
  await using opening = new AsyncDisposableStack();
  const budget = loginBudget({
    ...{ notes: loginFile(), others: readClusterLogins(client, images.leaseNamespace), attempts: 1, log },
  });
  const reach = await connector(flags, log, budget);
  const { vsphereProviderNamespace: providerNamespace } = images;
  const servers = opening.use(
    vcenters({
      connect: (server, credentials) => reach(serverOf(server), credentials),
      secret: () => undefined,
      credentials: async (server) => {
        const identity = await identityOf(server, { client, served, providerNamespace });
        if (identity === undefined) return undefined;
        const { user, password, secret } = identity;
        const { namespace = '', name } = secret.metadata;
        return { user, password, version: passwordVersion(secret, `${namespace}/${name}`) };
      },
      metrics: { vcenterCall: () => undefined, vcenterSessions: () => undefined },
    }),
  );
  const keys = await readMarkKeys(client, markKeySecret(images.markKeySecret), { signal }).catch(() => undefined);
  const store = opening.use(
    templateStore({
      ...{ vcenters: servers.of, cacheDir: images.cacheDir },
      ...(keys === undefined ? {} : { markKeys: async () => keys.keys }),
      cluster: {
        recorded: (operation, instanceUuid) => role.records.recorded(operation, instanceUuid),
        refers: (name) => role.records.refers(name),
        retired: (name) => role.records.retired(name),
      },
    }),
  );
  const leader = { identity: '', holderIsLive: () => true, assertHeld: refuse };
  const role = clusterApiRole({
    ...{ client, served, owner, store: storeDuring(store, servers), leader, log, metrics: bootImageMetrics(), retain },
    ...{ locate: images.locate, providerNamespace },
    machineApi: (name) => {
      const set = world.machineSets().find((one) => one.metadata.name === name);
      const { authoritativeAPI = 'MachineAPI' } = (set?.spec ?? {}) as { readonly authoritativeAPI?: string };
      return set === undefined || authoritativeAPI === 'ClusterAPI'
        ? undefined
        : `machineset ${set.metadata.namespace}/${name}`;
    },
  });
  for (const cache of Object.values(role.caches)) opening.use(cache);
  const resources = opening.move();
  return {
    cluster: owner,
    plan: async (names, { namespace, pin }) => {
      const ids = names.map((name) => nameOf(name, namespace));
      const means = (id: string): boolean => ids.length === 0 || ids.some((name) => isNamed(id, name));
      const patience = AbortSignal.timeout(PATIENCE_MS);
      const both = AbortSignal.any([signal, patience]);
      const found = await role
        .plan({ sets: means, signal: both, ...(pin === undefined ? {} : { pin }) })
        .catch((error: unknown) => {
          if (signal.aborted || !patience.aborted) throw error;
          throw new Error(`the sets of Cluster API were not known within ${PATIENCE_MS / 1000} s`, { cause: error });
        });
      const missing = ids.find((name) => !found.some(({ set }) => isNamed(set, name)));
      if (missing !== undefined) throw new UsageError(`there is no set ${missing} of Cluster API`);
      return found;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** A name with its namespace, where that is known. */
function nameOf(name: string, namespace: string | undefined): string {
  return namespace === undefined || name.split('/').length > 2 ? name : `${namespace}/${name}`;
}

function isNamed(id: string, name: string): boolean {
  return id === name || id.endsWith(`/${name}`);
}

function refuse(): never {
  throw new Error('a plan is no reason to write');
}
