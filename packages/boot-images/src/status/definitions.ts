import { BootImage, BootImagePolicy, CustomResourceDefinition, MachineConfiguration } from '@drydock/api';
import {
  definitionName,
  type FollowedProjector,
  followedProjector,
  type Projector,
  type StatusHooks,
  type StatusKeeping,
} from '@drydock/crd';
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

/** Watches their definitions, so that a rollback of either cannot block our own status writes. */
export function watchDefinitions(
  client: Observer,
  log: EventRecorderOptions['log'],
  keep: KeepStatuses = () => ({}),
): Definitions {
  const stack = new AsyncDisposableStack();
  const followed: FollowedProjector[] = [];
  const projector = (resource: Resource<never>): Projector => {
    const name = definitionName(resource);
    const definition = stack.use(
      createCache({
        client,
        resource: CustomResourceDefinition,
        where: { fields: `metadata.name=${name}` },
        onError: (error) =>
          log.warn({ err: error, definition: name }, 'the definition cannot be watched: statuses are not cut to it'),
      }),
    );
    const one = followedProjector({ kind: resource, definition, log, keep: keep(resource) });
    followed.push(one);
    return one.projector;
  };
  const projections = {
    machineConfigurations: projector(MachineConfiguration as Resource<never>),
    bootImages: projector(BootImage as Resource<never>),
    policies: projector(BootImagePolicy as Resource<never>),
  };
  return {
    projections,
    watches: { synced: Promise.resolve(), [Symbol.asyncDispose]: () => stack.disposeAsync() },
    changes: (keys) =>
      whenever((listener: () => void) => {
        const each = new DisposableStack();
        for (const { onChange } of followed) each.use(onChange(listener));
        return each;
      }, keys),
  };
}

/** The hooks of a status writer; none without a projector. */
export function hooksOf(projector: Projector | undefined): Partial<StatusHooks> {
  if (projector === undefined) return {};
  const { recall, project, refused, written, failed } = projector;
  return { recall, project, refused, written, failed };
}
