import type { VSphereFailureDomain } from '@drydock/api';
import type { CollectedTemplate, ListedTemplate, TemplateStore } from '@drydock/templates';
import type { ImageThere } from '../image-facts.ts';
import { computedName, isInstallerName } from './names.ts';
import { presentOf, refusalOf } from './provenance.ts';
import type { Present } from './resolve.ts';
import type { Site } from './site.ts';

/** What folders hold, read again only where collection met other templates than before, or after an hour. */
export interface PlaceInventory {
  readonly of: (
    place: string,
    collected: readonly CollectedTemplate[],
    read: () => Promise<readonly ListedTemplate[]>,
  ) => Promise<readonly ListedTemplate[]>;
}

/** What collection does not meet, a template without our mark, comes and goes unseen for this long. */
const AGAIN_MS = 3_600_000;

/** An empty memory. `now` is a monotonic clock. */
export function placeInventory(now: () => number = () => performance.now()): PlaceInventory {
  const known = new Map<
    string,
    { readonly met: string; readonly at: number; readonly there: readonly ListedTemplate[] }
  >();
  return {
    of: async (place, collected, read) => {
      const names = collected.filter(({ removed }) => !removed).map(({ name }) => name);
      const met = names.toSorted().join('\n');
      const before = known.get(place);
      if (before?.met === met && now() - before.at < AGAIN_MS) return before.there;
      const there = await read();
      known.set(place, { met, at: now(), there });
      return there;
    },
  };
}

/** Of which templates a set's own is one. */
export interface ImagePlace {
  readonly infrastructureName: string;
  readonly domain: VSphereFailureDomain;
  /** See `namedByDomains`. */
  readonly named: ReadonlySet<string>;
}

/** The templates that are of a set of this failure domain: ours, and the installer's; where it cannot go back to one, with why. */
export function imagesFor(
  there: readonly ListedTemplate[],
  { infrastructureName, domain, named }: ImagePlace,
): readonly ImageThere[] {
  const base = computedName(infrastructureName, domain.name);
  return there.flatMap((listed) => {
    const { name, stableName } = listed;
    const present = presentOf(listed);
    if (present === undefined || !present.version) return [];
    const { version: release, digest } = present;
    const isItsOwn = isInstallerName(stableName ?? name, infrastructureName, domain) || isBase(name, release, base);
    if (!isItsOwn) return [];
    const refused = refusalOf(present, named)?.why;
    return {
      ...{ image: name, release },
      ...(digest === undefined ? {} : { digest }),
      ...(stableName === undefined ? {} : { stableName }),
      ...(refused === undefined ? {} : { refused }),
    };
  });
}

/** Whether a name is that of a publication by pointer of this base, which is cut where the whole would be too long. */
function isBase(name: string, release: string, base: string): boolean {
  const at = name.lastIndexOf(`-${release}-`);
  const own = name.slice(0, Math.max(0, at));
  return own !== '' && (own === base || (name.length >= 80 && base.startsWith(own)));
}

/** A template of this release that is in the place of a set already, as collection leaves them there; undefined where there is none that is ours and whole. */
export async function templateInPlace(
  store: Pick<TemplateStore, 'inspect' | 'list'>,
  release: string,
  cluster: string,
  { placement, infrastructureName }: Site,
  domain: VSphereFailureDomain,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<Present | undefined> {
  for (const listed of await store.list(placement, cluster, call)) {
    if (imagesFor([listed], { infrastructureName, domain, named: new Set() })[0]?.release !== release) continue;
    const found = await store.inspect(placement, listed.name, call);
    if (found.kind === 'present' && found.ours && found.isTemplate && found.estranged === undefined) return found;
  }
  return undefined;
}
