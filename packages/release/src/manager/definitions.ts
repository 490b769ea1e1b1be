import { createProjector, liveVersion, type Projector, projectionText, type StatusKeeping } from '@drydock/crd';
import {
  createCache,
  type EventRecorderOptions,
  type Key,
  type KubeObject,
  type ManagedCache,
  type Observer,
  type Resource,
  type Source,
} from '@drydock/kube';
import type { ReleaseMetrics } from './metrics.ts';

/** What is kept of the statuses of a kind, and who is told. */
export type KeepStatuses = (resource: Resource<never>) => StatusKeeping;

/** How the statuses of a kind are cut to the schema that the server has now. */
export interface Projected {
  readonly projector: Projector;
  readonly watch: ManagedCache;
  /** A definition that changes is work for these keys, and so is a status that cannot be written. */
  readonly changes: (keys: () => readonly Key[]) => Source;
}

const DEFINITION: Resource<KubeObject> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  scope: 'Cluster',
};

/** Watches the definition of a kind, so that its own rollback cannot block what is said of a rollback. */
export function projected(
  resource: Resource<never>,
  {
    client,
    log,
    metrics,
    keep = () => ({}),
  }: {
    readonly client: Observer;
    readonly log: EventRecorderOptions['log'];
    readonly metrics: ReleaseMetrics;
    readonly keep: KeepStatuses | undefined;
  },
): Projected {
  const name = `${resource.plural}.${resource.group}`;
  const listeners = new Set<() => void>();
  const wake = (): void => {
    for (const listener of listeners) listener();
  };
  const cache = createCache({
    client,
    resource: DEFINITION,
    where: { fields: `metadata.name=${name}` },
    onError: (error) =>
      log.warn({ err: error, definition: name }, 'the definition cannot be watched: statuses are not cut to it'),
  });
  cache.subscribe(wake);
  const { tell, ...keeping } = keep(resource);
  const projector = createProjector({
    live: liveVersion(() => cache.get({ name }), resource.version),
    ...keeping,
    tell: (event) => {
      const worse = event.kind === 'quarantined' || event.kind === 'blocked';
      log[worse ? 'warn' : 'info']({ definition: name, uid: event.uid }, projectionText(event));
      metrics.told(resource, event);
      tell?.(event);
      if (event.kind === 'blocked') wake();
    },
  });
  return {
    projector,
    watch: { synced: Promise.resolve(), [Symbol.asyncDispose]: () => cache[Symbol.asyncDispose]() },
    changes: (keys) => ({
      synced: Promise.resolve(),
      start: (enqueue) => {
        const listener = (): void => {
          for (const key of keys()) enqueue(key, false);
        };
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
    }),
  };
}
