import { Infrastructure, MachineSet, Secret } from '@drydock/api';
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
  type Service,
} from '@drydock/kube';
import {
  asyncSignalEnabled,
  type Connect,
  credentialsOf,
  links,
  missingKinds,
  type TemplateWatch,
  templateWatch,
  vmWatchRole,
  WatchError,
  type WatchLog,
  watchMetrics,
} from '@drydock/vm-watch';
import { systemClock } from '@drydock/vsphere';
import { UsageError } from './exit.ts';

/** How the watch is told where vCenters are; the values are flags. */
export interface WatchFlags {
  /** Names of vCenters; those of Infrastructure unless given. */
  readonly vcenter?: readonly string[];
  /** `<namespace>/<name>` of the Secret with their credentials. */
  readonly vcenterSecret: string;
}

/** What {@link watchParts} needs. */
export interface WatchPartsOptions {
  readonly flags: WatchFlags;
  readonly client: KubeClient;
  readonly connect: Connect;
  readonly registry: KubeMetrics['registry'];
  readonly log: WatchLog;
  /** There is something else to do where the cluster has no virtual machines of its own. */
  readonly alone: boolean;
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
  /** Zones and VirtualMachines; undefined where the cluster does not serve them. */
  readonly vms: Part | undefined;
  /** Has to run where boot images are managed, since it wakes them in the same process. */
  readonly templates: () => Part & Pick<TemplateWatch, 'subscribe'>;
}

/** Wires the watch: one session per vCenter for both halves, with the credentials of a Secret that may change at any time. */
export async function watchParts(options: WatchPartsOptions): Promise<WatchParts> {
  const { flags, client, connect, log, env } = options;
  const secretKey = keyOfText(flags.vcenterSecret);
  const servers = flags.vcenter ?? (await serversOf(client));
  const [first] = servers;
  if (first === undefined) throw new UsageError('no vCenter is known: name it with --vcenter');
  const missing = await missingKinds(client);
  if (missing.length > 0) {
    const error = new WatchError('KindsMissing', `this cluster does not serve ${missing.join(' and ')}`);
    if (options.alone) throw error;
    log.warn({ err: error }, 'Only templates are watched.');
  }
  await using starting = new AsyncDisposableStack();
  const metrics = watchMetrics(options.registry);
  const enabled = asyncSignalEnabled(env);
  const onError = (error: unknown): void => log.warn({ err: error }, 'a watch failed and is tried again');
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
      clock: systemClock,
      credentials: (server) => credentialsOf(secrets.get(secretKey), server, keyText(secretKey)),
      onRefused: (server) => metrics.refused(server),
    }),
  );
  secrets.subscribe(() => ways.refresh());
  await secrets.synced;
  const common = { links: ways, clock: systemClock, log, metrics, enabled };
  const resources = starting.move();
  return {
    vms: missing.length > 0 ? undefined : vmWatchRole({ ...common, client, firstServer: () => first }),
    templates: () => {
      const machineSets = createCache({ client, resource: MachineSet, onError });
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
