import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  type ClusterPlan,
  cloudPlatforms,
  clusterRecords,
  credentialsKey,
  type DowngradePolicy,
  explainSet,
  type KeptSet,
  lazyPlatforms,
  ownArchitecture,
  type Platform,
  planCluster,
  platformOf,
  type StubSecret,
  type TemplatePublication,
  vspherePlatform,
  type World,
  worldNow,
} from '@drydock/boot-images';
import type { Client } from '@drydock/kube';
import { type ClusterRecords, type HolderIsLive, NO_KEYS, type TemplateStore, templateStore } from '@drydock/templates';
import { loginBudget, type VimLog } from '@drydock/vsphere';
import { type Explained, saidOf } from './explain/explained.ts';
import type { Leadership } from './leadership.ts';
import { loginFile } from './login-file.ts';
import { readClusterLogins } from './login-notes.ts';
import { MARK_KEY_SECRET, markKeySecret, readMarkKeys } from './mark-keys.ts';
import { readClusterLedger } from './ownership-ledger.ts';
import { type PinQuestions, pinQuestions } from './pin-questions.ts';
import { inspectingOnce, readingOnce } from './read-once.ts';
import { LEASE_NAMESPACE } from './status-notes.ts';
import type { VCenterFlags } from './vcenter-flags.ts';
import { connector, type VCenters, vcenters } from './vcenters.ts';

/** The boot images of a cluster and the vCenters behind them, to be looked at. Disposal logs out. */
export interface ClusterImages extends PinQuestions, AsyncDisposable {
  readonly world: World;
  /** With the credentials of the cluster's Secret. */
  readonly vcenters: VCenters;
  readonly store: Pick<TemplateStore, 'inspect' | 'list'>;
  /** Whether keys of marks could be read; true until they were needed. */
  readonly hasKeys: () => boolean;
  /** What the operator would do about a set, and what it said of it last. */
  readonly explain: (set: KeptSet) => Promise<Explained>;
  /** What the operator would do about sets, call by call. */
  readonly plan: (sets: readonly KeptSet[], options?: { readonly some?: boolean }) => Promise<ClusterPlan>;
}

/** Options of {@link clusterImages}. */
export interface ClusterImagesOptions {
  readonly client: Pick<Client, 'get' | 'list'>;
  readonly flags: VCenterFlags;
  readonly downgrade?: DowngradePolicy;
  /** See `PassSettings.stubSecret`. */
  readonly stubSecret?: StubSecret;
  /** See `VSphereOptions.publication`. */
  readonly publication?: TemplatePublication;
  /** See `VSphereOptions.retain`. */
  readonly retain?: number;
  /** See `VSphereOptions.locate`. */
  readonly locate?: (location: string) => string;
  /** Who leads: what other leaders left half-done nobody goes on with. Default: whoever is named in a mark may still act. */
  readonly leader?: Leadership;
  /** Folder of downloaded images. */
  readonly cacheDir?: string;
  /** Where the operator keeps the ownership ledger and its notes on refused logins. */
  readonly leaseNamespace?: string;
  /** The Secret with the keys of marks, as `namespace/name`. */
  readonly markKeySecret?: string;
  /** What a person should know of the connections. */
  readonly warn: (message: string) => void;
  readonly signal: AbortSignal;
}

/** Reads the cluster once, and asks a vCenter once about each template. Nothing goes to a vCenter before the first question, and nothing is ever written. */
export async function clusterImages(options: ClusterImagesOptions): Promise<ClusterImages> {
  const { client, flags, downgrade, markKeySecret: secret = MARK_KEY_SECRET, warn, signal } = options;
  const log: VimLog = {
    info: () => undefined,
    warn: ({ server }, message) => warn(typeof server === 'string' ? `${message} (${server})` : message),
  };
  // Who looks does not try what the operator was refused, and what nobody tried once.
  const own = loginFile();
  const { leaseNamespace = LEASE_NAMESPACE } = options;
  const others = readClusterLogins(client, leaseNamespace);
  const reach = await connector(flags, log, loginBudget({ notes: own, others, attempts: 1, log }));
  const world = await worldNow(client, { signal });
  await using opening = new AsyncDisposableStack();
  const servers = opening.use(
    vcenters({
      connect: reach,
      secret: () => world.secret(credentialsKey.namespace, credentialsKey.name),
      metrics: { vcenterCall: () => undefined, vcenterSessions: () => undefined },
    }),
  );
  let hasKeys = true;
  const templates = opening.use(
    templateStore({
      vcenters: servers.of,
      cacheDir: options.cacheDir ?? join(homedir(), '.cache', 'drydock', 'images'),
      cluster: recordsIn(world),
      ledger: readClusterLedger(client, leaseNamespace, warn),
      // Who looks may not be allowed to read the Secret: then codes are not checked, and the cluster's records alone prove.
      markKeys: async () => {
        const read = await readMarkKeys(client, markKeySecret(secret), { signal }).catch(() => undefined);
        hasKeys = read?.keys !== undefined;
        return read?.keys ?? NO_KEYS;
      },
    }),
  );
  const store = inspectingOnce(templates);
  const holderIsLive = liveUnder(options.leader);
  const vsphere = (publication: TemplatePublication): Platform =>
    vspherePlatform({
      ...{ store, publication, holder: '', holderIsLive },
      ...(options.retain === undefined ? {} : { retain: options.retain }),
      ...(options.locate === undefined ? {} : { locate: options.locate }),
      ...(downgrade === undefined ? {} : { downgrade }),
    });
  const platforms = opening.use(
    lazyPlatforms({ VSphere: () => vsphere(options.publication ?? 'pointer'), ...cloudPlatforms({}) }),
  );
  await platforms.load(platformOf(world));
  const ports = {
    client: readingOnce(client),
    world,
    platforms,
    architecture: ownArchitecture(),
    now: () => new Date(),
    stubSecret: options.stubSecret,
    stubTrusts: new Map(),
  };
  const resources = opening.move();
  return {
    world,
    vcenters: servers,
    store,
    explain: async (set) => ({
      ...(await explainSet(set, ports, { signal })),
      operator: await saidOf(client, set, signal),
    }),
    plan: (sets, { some = false } = {}) => planCluster(sets, ports, { signal, some }),
    ...pinQuestions(ports, vsphere('swap'), signal),
    hasKeys: () => hasKeys,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** As the operator sees it, which knows who contests its Lease: of a command on somebody's machine only silence tells. */
function liveUnder(leader: Leadership | undefined): HolderIsLive {
  if (leader === undefined || leader.state === 'unread') return () => true;
  const holds = leader.state === 'led' ? leader.holder : undefined;
  return (holder) => (holder.startsWith('cli/') ? undefined : holder === holds);
}

/** What could be read of the cluster's records: what could not is no witness. */
function recordsIn(world: World): ClusterRecords {
  const records = clusterRecords(
    () => known(() => world.bootImages()) ?? [],
    () => ({
      ...{ machineSets: world.machineSets(), machines: world.machines() },
      ...{ controlPlaneMachineSets: world.controlPlaneMachineSets(), infrastructure: world.infrastructure() },
    }),
  );
  return { ...records, refers: (name) => known(() => records.refers(name)) ?? false };
}

function known<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
