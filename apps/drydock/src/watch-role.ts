import { Infrastructure, MachineSet, Secret } from '@drydock/api';
import { lightMachineSet, machineApiNamespace } from '@drydock/boot-images';
import {
  type Controller,
  createCache,
  type HealthCheck,
  isNotFound,
  type Key,
  type KubeClient,
  type KubeMetrics,
  keyText,
  type ManagedCache,
  run,
  type Service,
} from '@drydock/kube';
import {
  asyncSignalEnabled,
  type Connect,
  credentialsOf,
  IGNORED_KEYS,
  keepHeapSmall,
  kindsServed,
  links,
  missingKinds,
  type TemplateWatch,
  templateWatch,
  type VmWatchRole,
  type VmWatchRoleOptions,
  vmWatchRole,
  WATCHED_PATHS,
  watchMetrics,
} from '@drydock/vm-watch';
import { systemClock } from '@drydock/vsphere';
import type { Logger } from 'pino';
import { UsageError } from './exit.ts';
import { chosen } from './watch-lists.ts';

/** How the watch is told where vCenters are; the values are flags. */
export interface WatchFlags {
  /** Names of vCenters; those of Infrastructure unless given. */
  readonly vcenter?: readonly string[];
  /** `<namespace>/<name>` of the Secret with their credentials. */
  readonly vcenterSecret: string;
  /** Changes of the list of watched properties; see `chosen`. */
  readonly watchPaths?: string;
  /** The same for the keys of extraConfig that are ignored. */
  readonly watchIgnoredKeys?: string;
}

/** What {@link watchParts} needs. */
export interface WatchPartsOptions {
  readonly flags: WatchFlags;
  readonly client: KubeClient;
  readonly connect: Connect;
  readonly metrics: KubeMetrics;
  readonly log: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Something for kube's `run`. */
interface Part {
  readonly caches: Readonly<Record<string, ManagedCache>>;
  readonly controllers: readonly Controller[];
  readonly services: readonly Service[];
  readonly ready: Readonly<Record<string, HealthCheck>>;
}

/** The watch on vCenters as it is run: the half that leads by itself, and the half that leads with boot images. Disposal logs out. */
export interface WatchParts extends AsyncDisposable {
  /** Zones and VirtualMachines. Where the cluster does not serve them, this waits until it does. For `statuses` see `VmWatchRoleOptions`. */
  readonly vms: (statuses?: VmWatchRoleOptions['statuses']) => Promise<Part>;
  /** Has to run where boot images are managed, since it wakes them in the same process. */
  readonly templates: () => Part & Pick<TemplateWatch, 'subscribe'>;
  /** Counts a login that a vCenter refused. */
  readonly refused: (server: string) => void;
}

/** A service has a second to return when the lease is lost. */
const GRACEFUL_MS = 500;

/** Wires the watch: one session per vCenter for both halves, with the credentials of a Secret that may change at any time. */
export async function watchParts(options: WatchPartsOptions): Promise<WatchParts> {
  keepHeapSmall();
  const { flags, client, connect, log, env } = options;
  const secretKey = keyOfText(flags.vcenterSecret);
  const servers = flags.vcenter ?? (await serversOf(client));
  const [first] = servers;
  if (first === undefined) throw new UsageError('no vCenter is known: name it with --vcenter');
  const lists = {
    paths: chosen('--watch-paths', flags.watchPaths, WATCHED_PATHS),
    ignoredKeys: new Set(chosen('--watch-ignored-keys', flags.watchIgnoredKeys, [...IGNORED_KEYS])),
  };
  await using starting = new AsyncDisposableStack();
  const metrics = watchMetrics(options.metrics.registry);
  const enabled = asyncSignalEnabled(env);
  const onError = (error: unknown): void =>
    log.warn(
      { err: error },
      'A watch on the API server failed; Drydock tries again. If this warning repeats, follow the error.',
    );
  const secrets = starting.use(
    createCache({
      client,
      resource: Secret,
      where: { namespace: secretKey.namespace, fields: `metadata.name=${secretKey.name}` },
      onError,
    }),
  );
  const ways = starting.use(
    links({
      connect,
      credentials: (server) => credentialsOf(secrets.get(secretKey), server, keyText(secretKey)),
    }),
  );
  secrets.subscribe(() => ways.refresh());
  await secrets.synced;
  const common = { links: ways, clock: systemClock, log, metrics, enabled };
  const role = (statuses?: VmWatchRoleOptions['statuses']): VmWatchRole =>
    vmWatchRole({
      ...{ ...common, ...lists, client, firstServer: () => first },
      ...(statuses === undefined ? {} : { statuses }),
    });
  const resources = starting.move();
  return {
    vms: async (statuses) =>
      (await missingKinds(client)).length > 0 ? onceServed(options, () => role(statuses)) : role(statuses),
    refused: (server) => metrics.refused(server),
    templates: () => {
      const where = { namespace: machineApiNamespace };
      const machineSets = createCache({ client, resource: MachineSet, where, onError, transform: lightMachineSet });
      const { controller, service, subscribe } = templateWatch({ ...common, machineSets });
      return {
        caches: { templateMachineSets: machineSets },
        controllers: [controller],
        services: [service],
        ready: { [service.name]: service.check },
        subscribe,
      };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The role, which begins when its kinds are served: until then there is nothing to cache, and no replica is less ready for that. */
function onceServed({ client, log, metrics }: WatchPartsOptions, role: () => VmWatchRole): Part {
  const name = 'watch-vms';
  let check: HealthCheck = () => ({ remark: 'looks for its kinds' });
  return {
    caches: {},
    controllers: [],
    services: [
      {
        name,
        run: async (signal) => {
          const onMissing = (kinds: readonly string[]): void => {
            check = () => ({ remark: `waits for ${kinds.join(' and ')}` });
          };
          if (!(await kindsServed({ client, clock: systemClock, log, signal, onMissing }))) return;
          const parts = role();
          check = parts.ready[name] ?? check;
          // The lease is that of whoever runs this service.
          await using operator = await run({ client, ...parts, metrics, log, graceful: GRACEFUL_MS, signal });
          await operator.finished;
        },
      },
    ],
    ready: { [name]: () => check() },
  };
}

async function serversOf(client: KubeClient): Promise<readonly string[]> {
  try {
    const { spec } = await client.get(Infrastructure, { name: 'cluster' });
    return (spec?.platformSpec?.vsphere?.vcenters ?? []).map(({ server }) => server);
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

function keyOfText(text: string): Required<Key> {
  const [namespace = '', name = '', ...rest] = text.split('/');
  if (namespace === '' || name === '' || rest.length > 0)
    throw new UsageError(`--vcenter-secret ${text}: expected <namespace>/<name>`);
  return { namespace, name };
}
