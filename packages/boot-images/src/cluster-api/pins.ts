import type { BootImage } from '@drydock/api';
import { type Cache, type Client, type Controller, controller, keyOf, on } from '@drydock/kube';
import { keepPin, pinDue } from '../way-back/keeper.ts';
import { bootImageOfRotated } from './boot-images.ts';
import type { ClusterApiObject } from './kinds.ts';
import type { RotationPorts } from './rotate.ts';
import { idOfRotated, type RotatedKind, rotatedSet } from './set.ts';

/** What {@link pinController} needs. */
export interface PinControllerOptions extends Pick<RotationPorts, 'event'> {
  readonly client: Pick<Client, 'patch' | 'delete'>;
  readonly bootImages: Cache<BootImage>;
  /** Of sets, as far as they are served. */
  readonly kinds: readonly {
    readonly group: string;
    readonly kind: RotatedKind;
    readonly cache: Cache<ClusterApiObject>;
  }[];
  readonly now: () => Date;
}

/** When a set is looked at again: a pin that begins to say that it lapses, or has lapsed, is news of it. */
export function beforePinEnds<T extends { readonly after: number }>(
  done: T | undefined,
  image: BootImage | undefined,
  now: Date,
): T | undefined {
  const due = image === undefined ? undefined : pinDue(image, now.getTime());
  return done === undefined || due === undefined ? done : { ...done, after: Math.min(done.after, due) };
}

/** Sees to the pins of sets of Cluster API, see {@link keepPin}: also of those whose set is gone, or comes again. */
export function pinController({ client, bootImages, kinds, now, event }: PinControllerOptions): Controller {
  return controller<BootImage>({
    name: 'boot-images-cluster-api-pins',
    for: bootImages,
    watches: kinds.map(({ kind, cache }) =>
      on(
        cache,
        (live) => keyOf(bootImageOfRotated(rotatedSet(kind, live))),
        ({ old, now: live }) => old === undefined || live === undefined,
      ),
    ),
    backOff: { first: 500, longest: 60_000 },
    reconcile: async (key, { signal }) => {
      const image = bootImages.get(key);
      const { apiGroup, kind: of, name } = image?.spec?.machineSet ?? {};
      const world = kinds.find(({ group, kind }) => group === apiGroup && kind === of);
      if (image === undefined || world === undefined || name === undefined) return undefined;
      const live = world.cache.get({ namespace: key.namespace ?? '', name });
      const set = live === undefined ? undefined : rotatedSet(world.kind, live);
      await keepPin(image, {
        ...{ client, now: now().getTime(), known: true, signal },
        set: set && {
          text: idOfRotated(set),
          ownerReferences: bootImageOfRotated(set).metadata.ownerReferences,
          event: (reason, note) => event(set, reason, note),
        },
      });
      const due = pinDue(image, now().getTime());
      return due === undefined ? undefined : { after: due };
    },
  });
}
