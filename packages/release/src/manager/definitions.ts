import { CustomResourceDefinition } from '@drydock/api';
import { definitionName, followedProjector, type Projector, type StatusKeeping } from '@drydock/crd';
import {
  createCache,
  type EventRecorderOptions,
  type Key,
  type ManagedCache,
  type Observer,
  type Resource,
  type Source,
  whenever,
} from '@drydock/kube';
import type { ReleaseMetrics } from './metrics.ts';

/** What is kept of the statuses of a kind, and who is told. */
export type KeepStatuses = (resource: Resource<never>) => StatusKeeping;

/** How the statuses of a kind are cut to the schema that the server has now. */
export interface Projected {
  readonly projector: Projector;
  /** Nothing waits for it: without the right to watch definitions, statuses are written as they are meant. */
  readonly watch: ManagedCache;
  /** A definition that changes is work for these keys, and so is a status that cannot be written. */
  readonly changes: (keys: () => readonly Key[]) => Source;
}

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
  const name = definitionName(resource);
  const definition = createCache({
    client,
    resource: CustomResourceDefinition,
    where: { fields: `metadata.name=${name}` },
    onError: (error) =>
      log.warn({ err: error, definition: name }, 'the definition cannot be watched: statuses are not cut to it'),
  });
  const { tell, ...keeping } = keep(resource);
  const { projector, onChange } = followedProjector({
    kind: resource,
    definition,
    log,
    keep: {
      ...keeping,
      tell: (event) => {
        metrics.told(resource, event);
        tell?.(event);
      },
    },
  });
  return {
    projector,
    watch: { synced: Promise.resolve(), [Symbol.asyncDispose]: () => definition[Symbol.asyncDispose]() },
    changes: (keys) => whenever(onChange, keys),
  };
}
