import { CustomResourceDefinition } from '@drydock/api';
import { type Crd, createProjector, type Json, type JsonObject, liveVersion, type StatusKeeping } from '@drydock/crd';
import {
  type Client,
  controller,
  createCache,
  eventRecorder,
  isInvalid,
  type KubeClient,
  type KubeObject,
  kubeMetrics,
  leaderElection,
  type Resource,
  run,
  statusChannel,
  statusWriter,
  systemClock,
} from '@drydock/kube';
import pino from 'pino';
import { statusKeeping } from '../../../apps/drydock/src/status-keeping.ts';

/** An object with any status. */
export type Anything = KubeObject & { readonly status?: JsonObject };

/** What a writer is to write, and what it believes. */
export interface StatusWriterSettings {
  readonly client: KubeClient;
  readonly crd: Crd;
  readonly name: string;
  /** Name of its Lease, in `default`. */
  readonly lease: string;
  /** The next status, given the last one, what was left out of that included. Default: the time is put into `versionHash`. */
  readonly means?: (status: JsonObject, object: Anything) => JsonObject;
  /** What it takes for the live definition; default: what its watch shows. */
  readonly believes?: Crd;
  /** ms between writes. Default 150. */
  readonly every?: number;
  /** Default: a ledger in ConfigMaps. */
  readonly keeping?: StatusKeeping;
  readonly identity?: string;
}

/** A process's worth of status writer, with leader election, second channel and metrics. Disposal stops it in good order. */
export interface RunningWriter extends AsyncDisposable {
  /** Answers of 422 so far, and writes that were taken. */
  readonly counts: { refused: number; written: number };
  scrape(path?: string): Promise<string>;
  /** Rejects when it ended by itself. */
  readonly finished: Promise<void>;
}

/** The kind of a definition. */
export function resourceOf(crd: Crd): Resource<Anything> {
  const { group, kind, plural, scope } = crd;
  const version = crd.versions.find(({ storage }) => storage)?.name ?? 'v1';
  return { group, version, kind, plural, scope: scope === 'Cluster' ? 'Cluster' : 'Namespaced' };
}

/** Starts writing. */
export async function startStatusWriter(settings: StatusWriterSettings): Promise<RunningWriter> {
  const { client, crd, name, lease, every = 150, means = stamped } = settings;
  const log = pino({ level: process.env['DRYDOCK_TEST_LOG'] ?? 'silent' }, pino.destination(2));
  const resource = resourceOf(crd);
  const stop = new AbortController();
  const metrics = kubeMetrics();
  const events = eventRecorder({ client, controller: 'drydock.dev/status', log });
  const channel = statusChannel({ registry: metrics.registry, events });
  const keepers = statusKeeping(lease, {
    ...{ client, namespace: 'default', channel, events, log, clock: systemClock, release: 'test' },
  });
  const { tell, ...keeping } = settings.keeping ?? keepers.of(resource as Resource<never>);
  const definitions = createCache({
    client,
    resource: CustomResourceDefinition,
    where: { fields: `metadata.name=${crd.name}` },
    onError: (error) => log.warn({ err: error }, 'a watch failed'),
  });
  const objects = createCache({
    client,
    resource,
    where: { fields: `metadata.name=${name}` },
    onError: (error) => log.warn({ err: error }, 'a watch failed'),
  });
  const { believes } = settings;
  const projector = createProjector({
    live:
      believes === undefined
        ? liveVersion(() => definitions.get({ name: crd.name }), resource.version)
        : () => believes.versions[0],
    ...keeping,
    tell: (event) => {
      log.info({ event: event.kind }, 'told');
      tell?.(event);
    },
  });
  const counts = { refused: 0, written: 0 };
  const counting: Pick<Client, 'get' | 'replace' | 'replaceStatus' | 'applyStatus'> = {
    ...client,
    replaceStatus: async (...args) => {
      try {
        const object = await client.replaceStatus(...args);
        counts.written += 1;
        return object;
      } catch (error) {
        if (isInvalid(error)) counts.refused += 1;
        throw error;
      }
    },
  };
  const writer = statusWriter<Anything>({ client: counting, resource, ...projector });
  const key = { name };
  const reconciler = controller<Anything>({
    name: `write-${lease}`,
    for: objects,
    when: () => false,
    watches: [
      {
        synced: objects.synced,
        start: (enqueue) => {
          enqueue(key, true);
          return definitions.subscribe(() => enqueue(key, false));
        },
      },
    ],
    backOff: { first: 50, longest: 1_000 },
    reconcile: async (_key, { signal }) => {
      await writer.write(key, (object) => means(object.status ?? {}, object), { signal });
      return { after: every };
    },
  });
  const running = await run({
    client,
    caches: { definitions, objects },
    controllers: [reconciler],
    services: [keepers.sweeper],
    leader: leaderElection({
      client,
      namespace: 'default',
      name: lease,
      annotations: channel.annotations,
      log,
      // A writer that was killed comes back under its own name, so nobody waits for a lease long enough for a busy machine.
      identity: settings.identity ?? lease,
      retryPeriod: 150,
    }),
    http: { port: 0, host: '127.0.0.1' },
    ready: { statuses: channel.check },
    metrics,
    log,
    signal: stop.signal,
  });
  return {
    counts,
    finished: running.finished,
    scrape: async (path = '/metrics') => (await fetch(`http://127.0.0.1:${running.port}${path}`)).text(),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running[Symbol.asyncDispose]();
      await events[Symbol.asyncDispose]();
    },
  };
}

/** The status with the time in it, as a heartbeat has it. */
export function stamped(status: JsonObject): JsonObject {
  return { ...status, versionHash: new Date().toISOString() };
}

/** A value of a status by its keys. */
export function at(status: JsonObject | undefined, ...path: readonly string[]): Json | undefined {
  let value: Json | undefined = status;
  for (const part of path) value = (value as JsonObject | undefined)?.[part];
  return value;
}
