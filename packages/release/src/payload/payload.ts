import { ReleaseError } from '../errors.ts';
import { OWN_FOLDER, type PayloadFiles, RELEASE_FOLDER } from './directory.ts';
import { type Manifest, readManifestFile } from './manifest.ts';
import {
  type ReleaseMetadata,
  readImageReferences,
  readKubernetesVersion,
  readReleaseMetadata,
} from './release-metadata.ts';
import { renderTemplate } from './template.ts';

/** A release as it was shipped: everything that it brings, nothing left out yet. */
export interface Payload {
  /** Where it came from, as a person named it. */
  readonly name: string;
  readonly metadata: ReleaseMetadata;
  /** Images of the components by name. */
  readonly images: ReadonlyMap<string, string>;
  /** In the order of their files: the release manager's own first, then everybody else's, each sorted by name. */
  readonly manifests: readonly Manifest[];
  /** Version of the Kubernetes that it brings; absent where the API server is somebody else's. */
  readonly kubernetes?: string;
}

/** What the templates in `manifests/` are rendered with, beside the images. */
export interface LoadOptions {
  /** The reference of the release's own image. */
  readonly releaseImage?: string;
  readonly clusterProfile?: string;
}

/** The profile of a cluster that says none. */
export const DEFAULT_PROFILE = 'self-managed-high-availability';

/** Reads a payload. Throws `ReleaseError` with file and line for whatever in it cannot be read: a release that is half understood is not applied. */
export function loadPayload({ name, files }: PayloadFiles, options: LoadOptions = {}): Payload {
  const metadataFile = `${RELEASE_FOLDER}/release-metadata`;
  const metadataText = files.get(metadataFile);
  if (metadataText === undefined) throw new ReleaseError('NO_PAYLOAD', `${name} has no ${metadataFile}`);
  const metadata = readReleaseMetadata(metadataFile, metadataText);
  const imagesFile = `${RELEASE_FOLDER}/image-references`;
  const imagesText = files.get(imagesFile);
  if (imagesText === undefined) throw new ReleaseError('NO_PAYLOAD', `${name} has no ${imagesFile}`);
  const images = readImageReferences(imagesFile, imagesText, metadata.version);
  const fields = {
    ReleaseImage: options.releaseImage ?? '',
    ClusterProfile: options.clusterProfile ?? DEFAULT_PROFILE,
    Version: metadata.version,
  };
  const manifestFiles = [...files].filter(([path]) => path !== metadataFile && path !== imagesFile);
  const isOwn = (path: string): boolean => path.startsWith(`${OWN_FOLDER}/`);
  const sorted = manifestFiles.toSorted(
    ([a], [b]) => Number(isOwn(b)) - Number(isOwn(a)) || (a < b ? -1 : Number(a > b)),
  );
  const manifests = sorted.flatMap(([path, text]) =>
    readManifestFile(path, isOwn(path) ? renderTemplate(path, text, { fields, images }) : text),
  );
  const kubernetes = readKubernetesVersion(imagesText);
  return { name, metadata, images, manifests, ...(kubernetes === undefined ? {} : { kubernetes }) };
}
