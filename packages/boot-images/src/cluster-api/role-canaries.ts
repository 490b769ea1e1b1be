import type { BootImage } from '@drydock/api';
import {
  type Cache,
  type Controller,
  controller,
  fencedClient,
  isNotFound,
  type Key,
  type KubeClient,
  keyText,
  type Leader,
  whenever,
} from '@drydock/kube';
import { recordedOf } from '../canary/canaries.ts';
import { type CanaryRight, type CanaryRights, canaryRights } from '../canary/rights.ts';
import { BootImageError, errorText } from '../errors.ts';
import { guestSaid } from '../vsphere/guest.ts';
import type { ImageStore } from '../vsphere/options.ts';
import { BOOTSTRAP, TAINTED_KINDS } from './bootstrap-taints.ts';
import { isRotationCanary, type RotationCanaries, type RotationCanaryPorts, rotationCanaries } from './canary.ts';
import { rotationGroup } from './canary-machine.ts';
import { type CanaryWatch, canaryWatch } from './canary-watch.ts';
import { machineKind } from './collect-templates.ts';
import { serverOf } from './identity.ts';
import { type ClusterApiObject, CORE, INFRASTRUCTURE, type ServedKinds } from './kinds.ts';
import type { Rotation, RotationCanary } from './rotation.ts';
import { idOfRotated, type RotatedSet } from './set.ts';
import type { SiteReader } from './sites.ts';

/** What {@link roleCanaries} needs. */
export interface RoleCanariesOptions extends Pick<RotationCanaryPorts, 'record' | 'now' | 'elapsed'> {
  readonly client: KubeClient;
  readonly served: ServedKinds;
  readonly store: Pick<ImageStore, 'guest'>;
  readonly leader: Pick<Leader, 'assertHeld'>;
  readonly sites: Pick<SiteReader, 'placesFor'>;
  /** Undefined where machines are not served. */
  readonly machines: Cache<ClusterApiObject> | undefined;
  /** With {@link canaryIndexes}. */
  readonly bootImages: Cache<BootImage>;
  /** The set that a BootImage is of, where it exists. */
  readonly setOf: (image: BootImage) => string | undefined;
}

/** Canaries as the role has them. */
export interface RoleCanaries {
  readonly canaries: RotationCanaries;
  readonly watch: Pick<CanaryWatch, 'forget'>;
  /**
   * Work on a set that exists; `asks` says which canary it waits for. Where it fails, the canary that the BootImage names goes on by itself: its time ends it, with `CanaryFailed`, and where its policy
   * wants another one by now, or none, nobody waits for it any more.
   */
  readonly during: <T>(
    at: {
      readonly set: RotatedSet;
      readonly image: BootImage | undefined;
      /** Absent: the canary is left to whoever comes after. */
      readonly wish?: () => RotationCanary | undefined;
    },
    work: (asks: (canary: Key) => void) => Promise<T>,
    call: { readonly signal: AbortSignal },
  ) => Promise<T>;
  /** None where machines are not served. */
  readonly controllers: readonly Controller[];
  readonly rights: CanaryRights;
}

const GROUP = 'canary-group';
const MACHINE = 'canary-machine';

/** What the cache of BootImages is asked by. */
export const canaryIndexes: Readonly<Record<string, (image: BootImage) => readonly string[]>> = {
  [GROUP]: ({ status }) => (status?.canary?.group === undefined ? [] : [status.canary.group]),
  [MACHINE]: (image) => {
    const canary = canaryOf(image);
    return canary === undefined ? [] : [keyText(canary)];
  },
};

/** The canary that a BootImage names. */
export function canaryOf({ metadata: { namespace = '' }, status }: BootImage): Key | undefined {
  const name = status?.canary?.machine;
  return name === undefined ? undefined : { namespace, name };
}

/** BootImages that name this canary. */
export function imagesNaming(bootImages: Cache<BootImage>, canary: Key): readonly BootImage[] {
  return bootImages.by(MACHINE, keyText(canary));
}

/** Wires them. */
export function roleCanaries(options: RoleCanariesOptions): RoleCanaries {
  const { client, served, machines, bootImages, leader, now, elapsed, record, setOf } = options;
  const canaries = rotationCanaries({
    client: fencedClient(client, () => leader.assertHeld()),
    ...{ served, record, now, elapsed, mayWrite: () => leader.assertHeld() },
    machines: () => machines?.all() ?? [],
    recorded: (group) => recordedOf(group, bootImages.by(GROUP, group)),
    awaited: (canary) => imagesNaming(bootImages, canary).length > 0,
    guest: (rotation, name, call) => guestOf(rotation, name, options, call),
  });
  const named = (canary: Key): readonly string[] =>
    imagesNaming(bootImages, canary).flatMap((image) => setOf(image) ?? []);
  const watch = canaryWatch({ machine: (key) => machines?.get(key), canaries, named });

  /** Whether it is still waited for. */
  async function goesOn(
    { set, image, wish: wishOf }: Parameters<RoleCanaries['during']>[0],
    error: unknown,
    call: { readonly signal: AbortSignal },
  ): Promise<boolean> {
    const { group, image: tried } = image?.status?.canary ?? {};
    if (group === undefined || tried === undefined || wishOf === undefined) return true;
    const wish = wishOf();
    const wanted = wish && rotationGroup(set, wish, tried);
    if (wish === undefined || wanted?.id !== group) return false;
    await canaries.tend({ set, group: wanted, wish }, errorText(error), call).catch((thrown: unknown) => {
      if (isOfCanary(thrown)) throw thrown;
    });
    return true;
  }

  const during: RoleCanaries['during'] = async (at, work, call) => {
    const ended = await watch.during(idOfRotated(at.set), at.image && canaryOf(at.image), async (asks) => {
      try {
        return { done: await work(asks) };
      } catch (error) {
        call.signal.throwIfAborted();
        if (isOfCanary(error) || (await goesOn(at, error, call))) throw error;
        return { error };
      }
    });
    if ('error' in ended) throw ended.error;
    return ended.done;
  };

  return {
    ...{ canaries, watch, during },
    controllers: machines === undefined ? [] : [sweeper(machines, watch)],
    rights: canaryRights(client, now, rightsFor(served)),
  };
}

function sweeper(machines: Cache<ClusterApiObject>, watch: CanaryWatch): Controller {
  return controller<ClusterApiObject>({
    ...{
      name: 'boot-images-cluster-api-canaries',
      for: machines,
      watches: [whenever(watch.onEnd, (canary) => [canary])],
    },
    when: ({ now, old = now }) => old !== undefined && isRotationCanary(old),
    backOff: { first: 500, longest: 60_000 },
    reconcile: async (key, { signal }) => {
      await watch.sweep(key, { signal });
      return undefined;
    },
  });
}

/** Said by whoever looked at the canary itself. */
function isOfCanary(error: unknown): boolean {
  return error instanceof BootImageError && error.code.startsWith('Canary');
}

/** `deploy/rbac/cluster-api-canary` grants them. */
function rightsFor(served: Pick<ServedKinds, 'of'>): readonly CanaryRight[] {
  const wanted: readonly (readonly [group: string, kind: string, ...verbs: readonly string[]])[] = [
    [CORE, 'Machine', 'get', 'create', 'delete'],
    [CORE, 'MachineHealthCheck', 'list'],
    ...TAINTED_KINDS.flatMap((kind) => [
      [BOOTSTRAP, kind, 'get'] as const,
      [BOOTSTRAP, machineKind(kind), 'create'] as const,
    ]),
    ...['VSphere', 'AWS', 'Azure', 'GCP'].map(
      (of) => [INFRASTRUCTURE, machineKind(`${of}MachineTemplate`), 'get', 'create'] as const,
    ),
  ];
  return wanted.flatMap(([group, kind, ...verbs]) => {
    const resource = served.of(group, kind);
    return resource === undefined ? [] : verbs.map((verb) => ({ verb, group, resource: resource.plural }));
  });
}

/** The provider gives the uid of its own object to the virtual machine. */
async function guestOf(
  rotation: Rotation,
  name: string,
  { client, served, store, sites }: RoleCanariesOptions,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<string | undefined> {
  const resource = served.of(INFRASTRUCTURE, 'VSphereVM');
  if (resource === undefined || rotation.template?.kind !== 'VSphereMachineTemplate') return undefined;
  const places = await sites.placesFor(rotation);
  if ('message' in places) return undefined;
  const [place] = places;
  if (place === undefined) return undefined;
  try {
    const { metadata } = await client.get(resource, { namespace: rotation.set.namespace, name }, call);
    return guestSaid(serverOf(place.server), await store.guest(place.server, metadata.uid ?? '', call));
  } catch (error) {
    if (isNotFound(error)) return guestSaid(serverOf(place.server), undefined);
    throw error;
  }
}
