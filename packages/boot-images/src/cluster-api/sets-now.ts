import { type CallOptions, type Client, keyOf, keyText } from '@drydock/kube';
import { listed } from '../listed.ts';
import type { SetPlace } from '../standing.ts';
import { bootImageOfRotated } from './boot-images.ts';
import type { ServedKinds } from './kinds.ts';
import { isRevision, ROTATED_KINDS, type RotatedSet, rotatedSet } from './set.ts';

/** The sets of Cluster API, without revisions, and which kinds could not be read. */
export interface RotatedSets {
  readonly sets: readonly RotatedSet[];
  readonly unread: readonly string[];
}

/** Reads all of them, of all namespaces. */
export async function rotatedSets(
  client: Pick<Client, 'list'>,
  served: Pick<ServedKinds, 'of'>,
  call: CallOptions = {},
): Promise<RotatedSets> {
  const unread: string[] = [];
  const sets = await Promise.all(
    ROTATED_KINDS.map(async ({ group, kind }) => {
      const resource = served.of(group, kind);
      if (resource === undefined) return [];
      const live = await listed(client.list(resource, {}, call), (why) => unread.push(why));
      return live.map((one) => rotatedSet(kind, one)).filter((set) => !isRevision(set));
    }),
  );
  return { sets: sets.flat(), unread };
}

/** Of which cluster each of them is, and the failure domains that it names, by namespace and name of the BootImage. */
export function rotatedPlaces(sets: readonly RotatedSet[]): ReadonlyMap<string, SetPlace> {
  return new Map(
    sets.map((set) => {
      const { namespace, clusterName, failureDomains } = set;
      const cluster = clusterName === undefined ? {} : { cluster: `${namespace}/${clusterName}` };
      return [keyText(keyOf(bootImageOfRotated(set))), { ...cluster, failureDomains }];
    }),
  );
}
