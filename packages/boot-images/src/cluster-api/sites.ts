import type { Cache } from '@drydock/kube';
import type { Placement } from '@drydock/templates';
import { BootImageError } from '../errors.ts';
import { at } from '../observe/json.ts';
import { type IdentitySources, serverOf, serverWithLogin } from './identity.ts';
import { imageLeafOf } from './image-leaf.ts';
import { type ClusterApiObject, CORE, INFRASTRUCTURE } from './kinds.ts';
import { firstBy } from './needs.ts';
import { distinct, type PlaceFault, placeOfZone, placesOf } from './places.ts';
import type { Rotation } from './rotation.ts';
import { idOfRotated, type RotatedSet, referenceOf } from './set.ts';

/** What {@link siteReader} needs. */
export interface SiteOptions {
  readonly cacheOf: (group: string, kind: string) => Pick<Cache<ClusterApiObject>, 'get' | 'all'> | undefined;
  readonly identities: IdentitySources;
}

/** Where machines are made, each server with the login of the cluster that they are of. */
export interface SiteReader {
  readonly placesFor: (rotation: Rotation) => Promise<readonly Placement[] | PlaceFault>;
  /** The same for people; undefined where it cannot be told. */
  readonly placeText: (rotation: Rotation) => string | undefined;
  /** Every zone of every cluster on vSphere, as far as it can be told; of a cluster whose login is wrong the fault is told, and the others stay. Rejects where nothing can be told. */
  readonly all: (told?: (fault: BootImageError) => void) => Promise<readonly Placement[]>;
  /** The same, and every place that a set, which is there still, was found to make its machines in; some more than once. */
  readonly known: () => Promise<readonly Placement[]>;
}

/** One for each list of failure domains: where the others make machines is the same. A control plane says its own. */
function inOtherDomains(sets: readonly RotatedSet[]): readonly RotatedSet[] {
  const first = firstBy(sets, ({ kind, failureDomains }) => [
    [kind === 'KubeadmControlPlane' ? kind : '', ...failureDomains].join('\n'),
  ]);
  return [...first.values()];
}

/** Reads them from what was seen last. */
export function siteReader({ cacheOf, identities }: SiteOptions): SiteReader {
  const placed = new Map<string, { readonly set: RotatedSet; readonly places: readonly Placement[] }>();
  const named = (kind: string, name: string): ClusterApiObject | undefined =>
    cacheOf(INFRASTRUCTURE, kind)?.get({ name });
  const zone = (name: string): ClusterApiObject | undefined => named('VSphereDeploymentZone', name);
  const domain = (name: string): ClusterApiObject | undefined => named('VSphereFailureDomain', name);

  function providerOf(cluster: ClusterApiObject | undefined): ClusterApiObject | undefined {
    const ref = referenceOf(at(cluster?.spec, ['infrastructureRef']));
    const namespace = cluster?.metadata.namespace ?? '';
    return ref?.kind === 'VSphereCluster'
      ? cacheOf(INFRASTRUCTURE, ref.kind)?.get({ namespace, name: ref.name })
      : undefined;
  }

  function bare({ set, siblings, cluster, template }: Rotation): readonly Placement[] | PlaceFault {
    if (template === undefined) return [];
    const places: Placement[] = [];
    for (const one of inOtherDomains([set, ...siblings])) {
      const found = placesOf({ set: one, template, cluster, provider: providerOf(cluster), zone, domain });
      if ('message' in found) return found;
      places.push(...found);
    }
    return distinct(places);
  }

  async function withLogins(
    places: readonly Placement[],
    provider: ClusterApiObject | undefined,
  ): Promise<readonly Placement[]> {
    const known: Placement[] = [];
    for (const place of places)
      known.push({ ...place, server: await serverWithLogin(place.server, provider, identities) });
    return known;
  }

  async function all(told: (fault: BootImageError) => void = () => undefined): Promise<readonly Placement[]> {
    const places: Placement[] = [];
    for (const cluster of cacheOf(CORE, 'Cluster')?.all() ?? []) {
      const provider = providerOf(cluster);
      if (provider === undefined) continue;
      for (const one of cacheOf(INFRASTRUCTURE, 'VSphereDeploymentZone')?.all() ?? []) {
        const place = placeOfZone(one, domain);
        if ('message' in place) continue;
        try {
          places.push(...(await withLogins([place], provider)));
        } catch (error) {
          // What one tenant wrote is not what the others are looked after by.
          if (!(error instanceof BootImageError)) throw error;
          told(error);
        }
      }
    }
    return distinct(places);
  }

  return {
    placesFor: async (rotation) => {
      const places = bare(rotation);
      if ('message' in places) return places;
      const found = await withLogins(places, providerOf(rotation.cluster));
      placed.set(idOfRotated(rotation.set), { set: rotation.set, places: found });
      return found;
    },
    placeText: (rotation) => {
      const { reference } = rotation.set;
      const leaf = reference === undefined ? undefined : imageLeafOf(reference, []);
      if (typeof leaf !== 'object' || leaf.platform !== 'vsphere') return undefined;
      const places = bare(rotation);
      if ('message' in places) return undefined;
      return [
        ...new Set(places.map(({ server, datacenter, folder }) => `${serverOf(server)} ${folder || datacenter}`)),
      ].join(', ');
    },
    all,
    known: async () => {
      for (const [id, { set }] of placed) {
        const { group, kind, namespace, name } = set;
        if (cacheOf(group, kind)?.get({ namespace, name }) === undefined) placed.delete(id);
      }
      return [...(await all()), ...[...placed.values()].flatMap(({ places }) => places)];
    },
  };
}
