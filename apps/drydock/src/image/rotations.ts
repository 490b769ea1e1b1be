import { Namespace } from '@drydock/api';
import {
  bootImageMetrics,
  type CarriedOut,
  type CarryOutHooks,
  CLUSTER_API,
  type ClusterPlan,
  type ClusterStep,
  carryOutRotations,
  clusterApiRole,
  collectRotations,
  foreseeRotationCollections,
  identityOf,
  type Pin,
  type PlannedRotation,
  servedKinds,
  serverOf,
  type World,
  withRotations,
} from '@drydock/boot-images';
import type { KubeClient, Leader } from '@drydock/kube';
import { templateStore } from '@drydock/templates';
import { passwordVersion } from '@drydock/vm-watch';
import { type LoginBudget, loginBudget } from '@drydock/vsphere';
import { pino } from 'pino';
import { UsageError } from '../exit.ts';
import { storeDuring } from '../image-store.ts';
import { loginFile } from '../login-file.ts';
import { readClusterLogins } from '../login-notes.ts';
import { markKeySecret, readMarkKeys } from '../mark-keys.ts';
import { clusterLedger, readClusterLedger } from '../ownership-ledger.ts';
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
  /** What nothing needs any more, but for what these steps use. */
  readonly collections: (
    planned: readonly ClusterStep[],
  ) => Promise<Awaited<ReturnType<typeof foreseeRotationCollections>>>;
  /** Does exactly what is left of the part of a plan that is about them; needs the leader of the options. */
  readonly carryOut: (
    plan: ClusterPlan,
    options: { readonly hooks: CarryOutHooks; readonly signal: AbortSignal },
  ) => Promise<CarriedOut>;
}

/** What {@link rotationsOf} needs. */
export interface RotationsOptions {
  readonly client: KubeClient;
  readonly flags: VCenterFlags;
  readonly images: ImagesTold;
  /** Where Machine API is served, too, what is known of it; absent where nothing is asked that it could answer. */
  readonly world?: World;
  readonly retain: number;
  readonly warn: (message: string) => void;
  /** Who may write, and how often logins are tried; default: nothing is written, and what was refused once is not tried again. */
  readonly leader?: Pick<Leader, 'identity' | 'holderIsLive' | 'assertHeld'>;
  readonly logins?: LoginBudget;
  readonly signal: AbortSignal;
}

/** How long (ms) watches may take to know all sets: whoever may not read them waits for ever. */
const PATIENCE_MS = 60_000;

/** Watches the sets of Cluster API for as long as somebody looks at them; undefined where they are not served. Without a leader nothing is ever written. */
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
  const others = readClusterLogins(client, images.leaseNamespace);
  const budget = options.logins ?? loginBudget({ notes: loginFile(), others, attempts: 1, log });
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
  const leader = options.leader ?? { identity: '', holderIsLive: () => true, assertHeld: refuse };
  const keys = await readMarkKeys(client, markKeySecret(images.markKeySecret), { signal }).catch(() => undefined);
  const store = opening.use(
    templateStore({
      ...{ vcenters: servers.of, cacheDir: images.cacheDir, fence: () => leader.assertHeld() },
      ledger:
        options.leader === undefined
          ? readClusterLedger(client, images.leaseNamespace, warn)
          : clusterLedger(client, images.leaseNamespace),
      ...(keys === undefined ? {} : { markKeys: async () => keys.keys }),
      cluster: {
        recorded: (operation, instanceUuid) => role.records.recorded(operation, instanceUuid),
        refers: (name) => role.records.refers(name),
        retired: (name) => role.records.retired(name),
      },
    }),
  );
  const role = clusterApiRole({
    ...{ client, served, owner, store: storeDuring(store, servers), leader, log, metrics: bootImageMetrics(), retain },
    ...{ locate: images.locate, providerNamespace },
    ...(served.openshift && world !== undefined ? { openshift: { world } } : {}),
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
    collections: async (planned) =>
      role.collections === undefined
        ? { steps: [], notes: [] }
        : foreseeRotationCollections(role.collections, planned, { signal }),
    carryOut: async (plan, { hooks, signal: during }) => {
      const bare: ClusterPlan = { version: 1, cluster: plan.cluster, steps: [], rest: [] };
      return carryOutRotations(
        plan,
        {
          hooks,
          look: async (sets, call) => {
            const means = (id: string): boolean => sets?.includes(id) !== false;
            return withRotations(bare, await role.plan({ sets: means, ...call }), owner);
          },
          work: (set, bounds) => role.work(set, { bounds, signal: during }),
          collect: async (steps, call) => {
            if (role.collections !== undefined) await collectRotations(role.collections, steps, call);
          },
        },
        { signal: during },
      );
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
