import type { Crd, CrdVersion } from '../schema/schema.ts';
import type { Unbridged } from './bridge-node.ts';
import { ANYTHING, lostPlaces } from './lost-places.ts';

/** The version that a bridge stores, or why there is none. */
export type StorageVersion = { readonly name: string } | Unbridged;

/** Whose version is stored where none keeps both ways open. */
export type Stores = 'older' | 'newer';

/**
 * The version under which everybody's objects can be stored until either release is back: both know it, and what one of them keeps, that one still keeps when it reads it out of this version. Where nothing converts, a server prunes what it reads by the
 * schema of the version that it was stored in. The older release's comes first, then its way back needs no migration. `stores`: one way is enough, that of this release.
 */
export function storageVersion(old: Crd, now: Crd, stores?: Stores): StorageVersion {
  const names = [storedBy(old), storedBy(now), ...old.versions].flatMap((version) => version?.name ?? []);
  const wanted = stores === undefined ? undefined : storedBy(stores === 'older' ? old : now);
  if (wanted !== undefined) return { name: wanted.name };
  const both = [...new Set(names)].filter((name) => versionOf(old, name) && versionOf(now, name));
  const [first] = both;
  if (first === undefined)
    return unbridged(
      'N25',
      `none of ${listed(old)} is in the newer release, which has ${listed(now)}: whatever is stored, one of the two is refused for its storedVersions. ${ONE_WAY}`,
    );
  if (old.conversion === 'Webhook' || now.conversion === 'Webhook') return { name: first };
  const losses = both.map((name) => ({ name, older: lostTo(old, name), newer: lostTo(now, name) }));
  const whole = losses.find(({ newer, older }) => newer.length + older.length === 0);
  if (whole !== undefined) return { name: whole.name };
  const why = losses.map(({ name, newer, older }) => {
    const side =
      newer.length > 0 ? { release: 'newer', of: now, places: newer } : { release: 'older', of: old, places: older };
    return `stored as ${name}, the ${side.release} release loses what only its ${storedBy(side.of)?.name} has (${few(side.places)}) as soon as it is back`;
  });
  return unbridged('N26', `${why.join('; ')}. ${ONE_WAY}`);
}

/** What to do where there is none. */
const ONE_WAY = 'Keep one way open at a time (--store older, --store newer), or go through a release between them';

/** Whether a release loses nothing, and is not refused, when it finds its objects stored in a version. */
export function finds(crd: Crd, name: string): boolean {
  return versionOf(crd, name) !== undefined && (crd.conversion === 'Webhook' || lostTo(crd, name).length === 0);
}

/** The version that a definition stores. */
export function storedBy(crd: Crd): CrdVersion | undefined {
  return crd.versions.find(({ storage }) => storage);
}

function lostTo(crd: Crd, name: string): readonly string[] {
  const [from, to] = [storedBy(crd), versionOf(crd, name)];
  if (crd.preservesUnknownFields || from === undefined || to === undefined || from === to) return [];
  return lostPlaces(from.schema ?? ANYTHING, to.schema ?? ANYTHING);
}

function versionOf(crd: Crd, name: string): CrdVersion | undefined {
  return crd.versions.find((version) => version.name === name);
}

function unbridged(rule: Unbridged['rule'], why: string): Unbridged {
  return { rule, version: '', path: '', why };
}

function listed({ versions }: Crd): string {
  return versions.map(({ name }) => name).join(', ');
}

function few(places: readonly string[]): string {
  const rest = places.length - 2;
  return rest > 1 ? `${places.slice(0, 2).join(', ')} and ${rest} more` : places.join(', ');
}
