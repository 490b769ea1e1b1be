import { BootImage, BootImagePolicy, MachineConfiguration } from '@drydock/api';
import {
  createProjector,
  liveVersion,
  type Projector,
  projectionText,
  type StatusHooks,
  type StatusKeeping,
} from '@drydock/crd';
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

/** How the statuses that this package writes are cut to the schemas that the server has now. */
export interface Projections {
  readonly machineConfigurations: Projector;
  readonly bootImages: Projector;
  readonly policies: Projector;
}

/** Projections, and the watches that feed them. */
export interface Definitions {
  readonly projections: Projections;
  /** Nothing waits for it: without the right to watch definitions, statuses are written as they are meant. */
  readonly watches: ManagedCache;
  /** A definition that changes, or a status that cannot be written, is work for these keys: what was refused may fit now, or has to be tried again. */
  readonly changes: (keys: () => readonly Key[]) => Source;
}

/** What is kept of the statuses of a kind, and who is told; see {@link StatusKeeping}. */
export type KeepStatuses = (resource: Resource<never>) => StatusKeeping;

const DEFINITION: Resource<KubeObject> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  scope: 'Cluster',
};

/** Watches their definitions, so that a rollback of either cannot block our own status writes. */
export function watchDefinitions(
  client: Observer,
  log: EventRecorderOptions['log'],
  keep: KeepStatuses = () => ({}),
): Definitions {
  const stack = new AsyncDisposableStack();
  const listeners = new Set<() => void>();
  const projector = (resource: Resource<never>): Projector => {
    const { group, version, plural } = resource;
    const name = `${plural}.${group}`;
    const cache = stack.use(
      createCache({
        client,
        resource: DEFINITION,
        where: { fields: `metadata.name=${name}` },
        onError: (error) =>
          log.warn({ err: error, definition: name }, 'the definition cannot be watched: statuses are not cut to it'),
      }),
    );
    cache.subscribe(() => {
      for (const listener of listeners) listener();
    });
    const { tell, ...keeping } = keep(resource);
    return createProjector({
      live: liveVersion(() => cache.get({ name }), version),
      ...keeping,
      tell: (event) => {
        const worse = event.kind === 'quarantined' || event.kind === 'blocked';
        log[worse ? 'warn' : 'info']({ definition: name, uid: event.uid }, projectionText(event));
        tell?.(event);
        if (event.kind === 'blocked') for (const listener of listeners) listener();
      },
    });
  };
  const projections = {
    machineConfigurations: projector(MachineConfiguration as Resource<never>),
    bootImages: projector(BootImage as Resource<never>),
    policies: projector(BootImagePolicy as Resource<never>),
  };
  return {
    projections,
    watches: { synced: Promise.resolve(), [Symbol.asyncDispose]: () => stack.disposeAsync() },
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

/** The hooks of a status writer; none without a projector. */
export function hooksOf(projector: Projector | undefined): Partial<StatusHooks> {
  if (projector === undefined) return {};
  const { recall, project, refused, written, failed } = projector;
  return { recall, project, refused, written, failed };
}
