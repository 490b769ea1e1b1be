import { BootImage } from '@drydock/api';
import type { Standings, World } from '@drydock/boot-images';
import { type Client, isNotFound } from '@drydock/kube';
import { type Leadership, leadershipOf, pausedOf } from './leadership.ts';
import { pauseText, RESUME } from './pause/pause.ts';

/** How all sets stand, for every verb that shows it. */
export interface ClusterStandings extends Standings {
  readonly leader: Leadership;
  readonly world: World;
  readonly now: Date;
}

/** Which sets, and where the Leases of the operator are. */
export interface StandingsFlags {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly leaseNamespace: string;
}

/** Reads the cluster, and says of each set what is so at this moment. Nothing is asked of vCenters, and nothing is written. */
export async function clusterStandings(
  client: Pick<Client, 'get' | 'list'>,
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
  const pause = pausedOf(leader);
  const paused = pause === undefined ? {} : { paused: { text: pauseText(pause, now.getTime()), nextStep: RESUME } };
  const all = await standings({
    ...{ world, images: said, led: isLed(leader), now, architecture: ownArchitecture() },
    ...paused,
  });
  const images = all.images.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace);
  return { ...all, images, leader, world, now };
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
