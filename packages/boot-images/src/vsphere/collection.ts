import type { VSphereFailureDomain } from '@drydock/api';
import { type CollectedTemplate, KEPT_PER_PLACE, type Placement } from '@drydock/templates';
import { errorText } from '../errors.ts';
import type { Platform } from '../platform.ts';
import { eachOf } from '../pool.ts';
import { neededTemplate } from './needed.ts';
import type { VSphereOptions } from './options.ts';
import { imagesFor, placeInventory } from './place-inventory.ts';
import { namedByDomains } from './provenance.ts';
import { siteFor } from './site.ts';

interface InPlace {
  readonly set: string;
  readonly infrastructureName: string;
  readonly domain: VSphereFailureDomain;
  readonly named: ReadonlySet<string>;
}

interface Place {
  readonly placement: Placement;
  readonly cluster: string;
  readonly sets: InPlace[];
  keep: number;
}

/** Places that are looked at together. */
const TOGETHER = 4;

/** Does it for all of them, and has what came of each ready: an answer, or what it failed with. */
async function together<T>(
  places: readonly Place[],
  look: (place: Place) => Promise<T>,
): Promise<ReadonlyMap<Place, () => Promise<T>>> {
  const seen = new Map<Place, () => Promise<T>>();
  await eachOf(places, TOGETHER, async (place) => {
    const [ended] = await Promise.allSettled([look(place)]);
    seen.set(place, () => (ended.status === 'fulfilled' ? Promise.resolve(ended.value) : Promise.reject(ended.reason)));
  });
  return seen;
}

/** Removes the templates that nothing needs, in each place in which these sets make machines. See `Platform.collect`. */
export function templateCollection({
  store,
  holderIsLive,
  retain,
}: Pick<VSphereOptions, 'store' | 'holderIsLive' | 'retain'>): NonNullable<Platform['collect']> {
  const inventory = placeInventory();
  return async function* (inputs, { referenced, needed, only, dryRun, found, signal }) {
    const places = new Map<string, Place>();
    for (const input of inputs) {
      const site = siteFor(input.spec, input.infrastructure);
      if (site === undefined) continue;
      const { placement, infrastructureName, domain } = site;
      const key = [placement.server, placement.datacenter, placement.folder].join('|');
      const place = places.getOrInsert(key, { placement, cluster: input.cluster, sets: [], keep: 0 });
      place.sets.push({
        set: input.set.metadata.name,
        infrastructureName,
        domain,
        named: namedByDomains(input.infrastructure),
      });
      // What one set wants kept is kept for all that share the place.
      place.keep = Math.max(place.keep, input.by?.keep ?? retain ?? KEPT_PER_PLACE);
    }
    const failures: unknown[] = [];
    const collectIn = ({ placement, cluster, keep }: Place): Promise<readonly CollectedTemplate[]> =>
      store.collect(placement, cluster, {
        referenced,
        ...(needed === undefined ? {} : { needed: neededTemplate(needed) }),
        ...(only === undefined ? {} : { only }),
        ...(dryRun === undefined ? {} : { dryRun }),
        holderIsLive: holderIsLive,
        keep,
        signal,
      });
    // What is only looked at need not be looked at in turn.
    const seen = dryRun === true ? await together([...places.values()], collectIn) : undefined;
    for (const [key, place] of places) {
      const { placement, cluster, sets } = place;
      try {
        const collected = await (seen?.get(place) ?? collectIn)(place);
        const { server, datacenter, folder } = placement;
        for (const one of collected) yield { ...one, server, folder: folder || datacenter };
        if (found === undefined) continue;
        const there = await inventory.of(key, collected, () => store.list(placement, cluster, { signal }));
        for (const { set, ...where } of sets) found(set, imagesFor(there, where));
      } catch (error) {
        signal?.throwIfAborted();
        failures.push(error);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, failures.map(errorText).join('; '));
  };
}
