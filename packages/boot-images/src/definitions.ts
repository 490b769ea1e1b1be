import { BootImage, MachineConfiguration } from '@drydock/api';
import { createProjector, liveVersion, type Projector } from '@drydock/crd';
import {
  createCache,
  type EventRecorderOptions,
  type KubeObject,
  type ManagedCache,
  type Observer,
  type Resource,
} from '@drydock/kube';

/** How the two statuses that this package writes are cut to the schemas that the server has now. */
export interface Projections {
  readonly machineConfigurations: Projector;
  readonly bootImages: Projector;
}

/** Projections, and the watches that feed them. */
export interface Definitions {
  readonly projections: Projections;
  /** Nothing waits for it: without the right to watch definitions, statuses are written as they are meant. */
  readonly watches: ManagedCache;
}

const DEFINITION: Resource<KubeObject> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  scope: 'Cluster',
};

/** Watches the two definitions, so that a rollback of either cannot block our own status writes. */
export function watchDefinitions(client: Observer, log: EventRecorderOptions['log']): Definitions {
  const stack = new AsyncDisposableStack();
  const projector = ({ group, version, plural }: Resource<never>): Projector => {
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
    return createProjector({
      live: liveVersion(() => cache.get({ name }), version),
      tell: (event) => {
        if (event.kind === 'restored')
          log.info({ definition: name, uid: event.uid }, 'the whole status is written again');
        else if (event.kind === 'quarantined')
          log.warn(
            { definition: name, paths: event.quarantined.map(({ path }) => path) },
            'the live schema cannot hold the whole status',
          );
        else log.warn({ definition: name, causes: event.causes }, 'the server refuses the status');
      },
    });
  };
  const projections = {
    machineConfigurations: projector(MachineConfiguration as Resource<never>),
    bootImages: projector(BootImage as Resource<never>),
  };
  return { projections, watches: { synced: Promise.resolve(), [Symbol.asyncDispose]: () => stack.disposeAsync() } };
}

/** The hooks of a status writer; none without a projector. */
export function hooksOf(projector: Projector | undefined): Partial<Pick<Projector, 'project' | 'refused'>> {
  return projector === undefined ? {} : { project: projector.project, refused: projector.refused };
}
