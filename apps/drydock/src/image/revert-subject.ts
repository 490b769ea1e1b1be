import { homedir } from 'node:os';
import { join } from 'node:path';
import type { BootImage } from '@drydock/api';
import type { KubeClient } from '@drydock/kube';
import type { AffectedSet } from './affected-machines.ts';
import type { RevertPlan, RevertRefusal, RevertWish } from './revert-plan.ts';
import { isRotated, rotatedImage } from './rotated-image.ts';
import type { Rotations } from './rotations.ts';
import { checkNamespace, type SetFlags, setNamed } from './set-flags.ts';

/** A set that somebody wants to take back, or to know where it can go back to: one and the same look. Nothing is written; disposal logs out. */
export interface RevertSubject extends AsyncDisposable {
  /** `ms/worker-a`, `team-a/capi-md/worker`. */
  readonly id: string;
  readonly image: BootImage | undefined;
  /** What a revert would do now, by the rules of whoever obeys the pin. */
  readonly plan: (wish: RevertWish) => Promise<RevertPlan | RevertRefusal>;
  /** Of whose machines it is told whom a revert concerns. */
  readonly affected: () => Promise<AffectedSet>;
}

/** What it is looked at with. */
export interface RevertSources {
  readonly client: KubeClient;
  readonly flags: SetFlags;
  readonly warn: (message: string) => void;
  readonly signal: AbortSignal;
}

/** The set that is meant, of either world. Throws `UsageError` where there is none. */
export function revertSubject(name: string, sources: RevertSources): Promise<RevertSubject> {
  return isRotated(name) ? rotatedSubject(name, sources) : keptSubject(name, sources);
}

async function keptSubject(name: string, { client, flags, warn, signal }: RevertSources): Promise<RevertSubject> {
  await checkNamespace(flags);
  const { clusterImages } = await import('../cluster-images.ts');
  const { bootImageOf, idOf } = await import('@drydock/boot-images');
  const { revertPlan } = await import('./revert-plan.ts');
  const { keyOf } = await import('@drydock/kube');
  const { leaseNamespace } = flags;
  await using opening = new AsyncDisposableStack();
  const images = opening.use(
    await clusterImages({ client, flags, leaseNamespace, stubSecret: 'InPlace', warn, signal }),
  );
  const set = await setNamed(images, name);
  const key = keyOf(bootImageOf(set));
  const { world } = images;
  const image = world.bootImage(key);
  const status = image?.status;
  const id = idOf(set);
  const { namespace } = key;
  const resources = opening.move();
  return {
    ...{ id, image },
    plan: (wish) => revertPlan(images, set, status, wish),
    affected: async () => ({ set: id, namespace, status, world, served: { of: () => undefined } }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function rotatedSubject(name: string, { client, flags, warn, signal }: RevertSources): Promise<RevertSubject> {
  const { plannedRevert } = await import('./planned-revert.ts');
  const found = await rotatedImage(client, name, flags.namespace, signal);
  const { leaseNamespace, vsphereProviderNamespace } = flags;
  const resources = new AsyncDisposableStack();
  let opened: Promise<Rotations | undefined> | undefined;
  const open = async (): Promise<Rotations | undefined> => {
    const { rotationsOf } = await import('./rotations.ts');
    const { MARK_KEY_SECRET } = await import('../mark-keys.ts');
    const rotations = await rotationsOf({
      ...{ client, flags, warn, signal, retain: 0 },
      images: {
        ...{ leaseNamespace, vsphereProviderNamespace, markKeySecret: MARK_KEY_SECRET, locate: (location) => location },
        cacheDir: join(homedir(), '.cache', 'drydock', 'images'),
      },
    });
    return rotations === undefined ? undefined : resources.use(rotations);
  };
  return {
    ...found,
    plan: (wish) =>
      plannedRevert(found, wish, async (pin) => {
        opened ??= open();
        const [planned] = (await (await opened)?.plan([found.id], { pin })) ?? [];
        return planned;
      }),
    affected: async () => {
      const { servedKinds, worldNow } = await import('@drydock/boot-images');
      const [world, served] = await Promise.all([
        worldNow(client, { signal, credentials: 'unread' }),
        servedKinds(client, { signal }),
      ]);
      const { metadata, status } = found.image;
      const { namespace } = metadata;
      const set = status?.set ?? found.id.slice(found.id.indexOf('/') + 1);
      return { set, namespace, status, world, served };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
