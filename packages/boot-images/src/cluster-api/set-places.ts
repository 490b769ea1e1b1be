import { ApiError, type CallOptions, type Client, isNotFound, keyOf } from '@drydock/kube';
import type { SetPlace } from '../standing.ts';
import { bootImageOfRotated } from './boot-images.ts';
import type { ServedKinds } from './kinds.ts';
import { isRevision, ROTATED_KINDS, rotatedSet } from './set.ts';

/** Where the sets of Cluster API are, by namespace and name of the BootImage, and which kinds could not be read. */
export interface RotatedPlaces {
  readonly places: ReadonlyMap<string, SetPlace>;
  readonly unread: readonly string[];
}

/** Reads of each set of Cluster API which cluster it is of, and the failure domains that it names. */
export async function rotatedPlaces(
  client: Pick<Client, 'list'>,
  served: Pick<ServedKinds, 'of'>,
  call: CallOptions = {},
): Promise<RotatedPlaces> {
  const places = new Map<string, SetPlace>();
  const unread: string[] = [];
  for (const { group, kind } of ROTATED_KINDS) {
    const resource = served.of(group, kind);
    if (resource === undefined) continue;
    try {
      for await (const live of client.list(resource, {}, call)) {
        const set = rotatedSet(kind, live);
        if (isRevision(set)) continue;
        const { namespace = '', name } = keyOf(bootImageOfRotated(set));
        const { clusterName, failureDomains } = set;
        const cluster = clusterName === undefined ? {} : { cluster: `${namespace}/${clusterName}` };
        places.set(`${namespace}/${name}`, { ...cluster, failureDomains });
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!isNotFound(error)) unread.push(error.message);
    }
  }
  return { places, unread };
}
