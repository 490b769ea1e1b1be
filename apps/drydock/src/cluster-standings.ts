import { BootImage } from '@drydock/api';
import type { RotatedSets, Standings, StandingsInput, World } from '@drydock/boot-images';
import { ApiError, type Client, isNotFound, type KubeClient } from '@drydock/kube';
import { type Leadership, leadershipOf, pausedOf } from './leadership.ts';
import { pauseText, RESUME } from './pause/pause.ts';

/** How all sets stand, for every verb that shows it. */
export interface ClusterStandings extends Standings {
  readonly leader: Leadership;
  readonly world: World;
  readonly now: Date;
  /** The sets of Cluster API, read when this is called first. */
  readonly rotated: () => Promise<RotatedSets>;
}

/** Which sets, and where the Leases of the operator are. */
export interface StandingsFlags {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly leaseNamespace: string;
}

/** Reads the cluster, and says of each set what is so at this moment. Nothing is asked of vCenters, and nothing is written. */
export async function clusterStandings(
  client: Pick<KubeClient, 'get' | 'list' | 'raw'>,
  { namespace, leaseNamespace }: StandingsFlags,
  signal: AbortSignal,
): Promise<ClusterStandings> {
  const { ownArchitecture, standings, worldNow } = await import('@drydock/boot-images');
  const [said, leader, world] = await Promise.all([
    bootImages(client, namespace, signal),
    leadershipOf(client, { role: 'boot-images', namespace: leaseNamespace }, { signal }),
    worldNow(client, { signal, credentials: 'unread' }),
  ]);
  const now = new Date();
  const begun = begunBy(leader, now);
  const all = await standings({ world, images: said, now, architecture: ownArchitecture(), ...begun });
  const rotated = rotatedOnce(client, signal);
  const turns = await turnsOf(client, all.images, { world, now, begun, namespace, rotated, signal });
  const images = turns.images.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace);
  return { ...all, images, unread: [...all.unread, ...turns.unread], leader, world, now, rotated };
}

/** What is said of sets of Cluster API with the turn of each, for who reads their BootImages otherwise. What could not be read is as the operator said it. */
export async function withTurns(
  client: Pick<KubeClient, 'list' | 'raw'>,
  images: readonly BootImage[],
  { world, leader, signal }: { readonly world: World; readonly leader: Leadership; readonly signal: AbortSignal },
): Promise<readonly BootImage[]> {
  const now = new Date();
  const rotated = rotatedOnce(client, signal);
  const known = { world, now, begun: begunBy(leader, now), namespace: undefined, rotated, signal };
  return (await turnsOf(client, images, known)).images;
}

type Begun = Pick<StandingsInput, 'led' | 'paused'>;

function begunBy(leader: Leadership, now: Date): Begun {
  const pause = pausedOf(leader);
  const led = isLed(leader);
  return pause === undefined ? { led } : { led, paused: { text: pauseText(pause, now.getTime()), nextStep: RESUME } };
}

function rotatedOnce(client: Pick<KubeClient, 'list' | 'raw'>, signal: AbortSignal): () => Promise<RotatedSets> {
  let reading: Promise<RotatedSets> | undefined;
  const read = async (): Promise<RotatedSets> => {
    const { rotatedSets, servedKinds } = await import('@drydock/boot-images');
    return rotatedSets(client, await servedKinds(client, { signal }), { signal });
  };
  return () => {
    reading ??= read();
    return reading;
  };
}

interface Turns {
  readonly images: readonly BootImage[];
  readonly unread: readonly string[];
}

/** A turn is one among all sets of a policy: where some of them cannot be read, nobody can tell it. */
async function turnsOf(
  client: Pick<Client, 'list'>,
  images: readonly BootImage[],
  known: {
    readonly world: World;
    readonly now: Date;
    readonly begun: Begun;
    /** Of which alone the images are; undefined: of all. */
    readonly namespace: string | undefined;
    readonly rotated: () => Promise<RotatedSets>;
    readonly signal: AbortSignal;
  },
): Promise<Turns> {
  const { CLUSTER_API, isPacedPolicy, releaseImages, rotatedStandings } = await import('@drydock/boot-images');
  const { world, now, begun, namespace, rotated, signal } = known;
  const as = (unread: readonly string[]): Turns => ({ images, unread });
  if (!images.some(({ spec }) => spec?.machineSet?.apiGroup?.endsWith(CLUSTER_API) === true)) return as([]);
  try {
    const policies = world.bootImagePolicies();
    if (!policies.some(isPacedPolicy)) return as([]);
    const { sets, unread } = await rotated();
    if (unread.length > 0) return as(unread);
    const said = namespace === undefined ? images : await bootImages(client, undefined, signal);
    const release = releaseImages({ world });
    return { images: rotatedStandings({ images: said, sets, policies, release, now, ...begun }, images), unread: [] };
  } catch (error) {
    if (error instanceof ApiError) return as([error.message]);
    throw error;
  }
}

/** Whether somebody leads, as far as that can be told. */
export function isLed({ state }: Leadership): boolean {
  return state === 'led' || state === 'unread';
}

async function bootImages(
  client: Pick<Client, 'list'>,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<readonly BootImage[]> {
  try {
    return await Array.fromAsync(client.list(BootImage, namespace === undefined ? {} : { namespace }, { signal }));
  } catch (error) {
    if (isNotFound(error)) {
      throw new Error(
        'this cluster has no BootImage CRD (bootimages.drydock.dev). Install it: kubectl apply -f api/crds',
        { cause: error },
      );
    }
    throw error;
  }
}
