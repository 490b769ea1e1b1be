import type { ClusterTree } from '@drydock/boot-images';
import type { KubeClient } from '@drydock/kube';
import { type ClusterStandings, clusterStandings, type StandingsFlags } from '../cluster-standings.ts';

/** All sets as `status` has them, and the same by what they share. */
export interface TreeNow extends ClusterStandings {
  readonly tree: ClusterTree;
}

/** Reads the cluster once. What could not be read is in `unread`. */
export async function clusterTreeNow(
  client: Pick<KubeClient, 'get' | 'list' | 'raw'>,
  flags: StandingsFlags,
  signal: AbortSignal,
): Promise<TreeNow> {
  const { clusterTree, rotatedPlaces } = await import('@drydock/boot-images');
  const found = await clusterStandings(client, flags, signal);
  const rotated = await found.rotated();
  const { world, images, now } = found;
  const unread = [...found.unread, ...rotated.unread];
  const known = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      unread.push(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  };
  const tree = clusterTree({
    ...{ images, now },
    places: new Map([...found.places, ...rotatedPlaces(rotated.sets)]),
    name: known(() => world.infrastructure()?.status?.infrastructureName),
    policies: known(() => world.bootImagePolicies()) ?? [],
  });
  return { ...found, tree, unread: [...new Set(unread)] };
}
