import { libraryLocation } from '@drydock/templates';
import type { ImageLeaf } from './image-leaf.ts';
import type { RotatedSet } from './set.ts';

/** One image of a policy's catalogue, as somebody wrote it. */
export interface CatalogueEntry {
  readonly version?: string;
  readonly url?: string;
  readonly sha256?: string;
  readonly architecture?: string;
  readonly contentLibraryItem?: string;
  /** On clouds: the image as the template names it. */
  readonly image?: string;
}

/** An image that machines are to start from. */
export type WantedImage =
  /** It is published, to be named by what the publication says. */
  | { readonly kind: 'ova'; readonly release: string; readonly url: string; readonly sha256: string }
  /** It is there already, under this name; or it was, where a pin names it. */
  | { readonly kind: 'named'; readonly release: string; readonly image: string; readonly pinned?: true };

/** Why there is no image for a set. */
export interface NoImage {
  readonly kind: 'none';
  /** Whether somebody has to correct something; else the set is simply not asked for. */
  readonly blocked: boolean;
  readonly reason: string;
  readonly brief: string;
  readonly message: string;
  readonly nextStep: string;
  /** The release that it would be, where only the template of the set tells that it is not for it. */
  readonly target?: string;
}

/** There is none, and somebody has to correct something; not `blocked`: the set is simply not asked for. */
export function noImage(reason: string, brief: string, message: string, nextStep: string, blocked = true): NoImage {
  return { kind: 'none', blocked, reason, brief, message, nextStep };
}

/** Where the catalogue came from, for texts. */
export interface Catalogue {
  /** `bootimagepolicy kubernetes`. */
  readonly source: string;
  readonly entries: readonly CatalogueEntry[];
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x86_64: 'amd64', aarch64: 'arm64' };

/** The Go name of an architecture, whichever of both is given. */
function goArchitecture(name: string): string {
  return ARCHITECTURES[name] ?? name;
}

/** Which architecture the machines of a set have, as the autoscaler is told it; amd64 where nobody says. */
export function architectureOf({ object: { metadata } }: RotatedSet): string {
  const labels = metadata.annotations?.['capacity.cluster-autoscaler.kubernetes.io/labels'] ?? '';
  const [, told = 'amd64'] = /(?:^|,)kubernetes\.io\/arch=([a-z0-9_]+)/.exec(labels) ?? [];
  return goArchitecture(told);
}

/** A version without its letter: `v1.34.2` and `1.34.2` are one. */
export function plainVersion(version: string): string {
  return version.replace(/^v(?=\d)/, '');
}

/** What an image of a version is called: one that was built anew has another digest, and is another image. */
export function releaseOf(version: string, sha256: string): string {
  return `v${plainVersion(version)}-${sha256.slice(0, 8)}`;
}

/** The image of the catalogue for machines of this version. An entry that cannot be used is told, and nothing else is taken in its place. */
export function catalogueImage(
  { source, entries }: Catalogue,
  version: string,
  architecture: string,
  platform: ImageLeaf['platform'],
): WantedImage | NoImage {
  const fitting = entries.filter(
    (entry) =>
      plainVersion(entry.version ?? '') === plainVersion(version) &&
      goArchitecture(entry.architecture ?? architecture) === architecture,
  );
  const distinct = [...new Map(fitting.map((entry) => [JSON.stringify(keyOf(entry)), entry])).values()];
  const [entry] = distinct;
  if (entry === undefined) {
    const there = [...new Set(entries.flatMap((one) => one.version ?? []))].join(', ');
    return noImage(
      'NotInCatalogue',
      `no image for ${version}`,
      `the catalogue of ${source} has no image of ${version} for ${architecture}; it has ${there === '' ? 'none' : there}`,
      `add an entry with version ${version} to spec.image.catalogue of ${source}`,
      false,
    );
  }
  const where = `the entry for ${version} in the catalogue of ${source}`;
  if (distinct.length > 1)
    return noImage(
      'CatalogueAmbiguous',
      `two images for ${version}`,
      `the catalogue of ${source} has ${distinct.length} different images of ${version} for ${architecture}`,
      `leave one of them in spec.image.catalogue of ${source}`,
    );
  if (platform !== 'vsphere') {
    if (entry.image !== undefined && entry.image !== '')
      return { kind: 'named', release: entry.image, image: entry.image };
    return noImage(
      'CatalogueUnusable',
      'no image is named',
      `${where} names no image, and images are only imported into vCenters`,
      `put the image, as machines on this platform name it, into image of ${where}`,
    );
  }
  const { url = '', sha256 = '', contentLibraryItem: item } = entry;
  if (item === undefined && !/^https?:\/\//i.test(url))
    return noImage(
      'CatalogueUnusable',
      'no address',
      `${where} has neither an address of http:// or https:// nor an item of a content library`,
      `give url or contentLibraryItem in ${where}`,
    );
  if (!/^[0-9a-f]{64}$/i.test(sha256))
    return noImage(
      'CatalogueUnusable',
      'no digest',
      `${where} has no SHA-256 of 64 hex digits`,
      `put what sha256sum prints for the image into sha256 of ${where}`,
    );
  const digest = sha256.toLowerCase();
  return {
    kind: 'ova',
    release: releaseOf(version, digest),
    url: item === undefined ? url : libraryLocation(item),
    sha256: digest,
  };
}

function keyOf({ url, sha256, contentLibraryItem, image }: CatalogueEntry): readonly unknown[] {
  return [url, sha256?.toLowerCase(), contentLibraryItem, image];
}
