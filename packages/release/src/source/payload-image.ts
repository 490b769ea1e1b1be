import { ReleaseError } from '../errors.ts';
import type { PayloadFiles } from '../payload/directory.ts';
import type { BlobSource } from './blobs.ts';
import { checked } from './checked.ts';
import { imageOf } from './image-manifest.ts';
import { layerReader } from './layers.ts';

/** A payload that came in an image. */
export interface ImagePayload extends PayloadFiles {
  /** Digest of what the name meant. */
  readonly digest: string;
}

/** Options of {@link readPayloadImage}. */
export interface PayloadImageOptions {
  /** Of Go's (`amd64`); where an image is for several. Default this machine's. */
  readonly architecture?: string;
  readonly signal: AbortSignal;
  /** Told of each layer before it is read: how many there are, and bytes of each. */
  readonly onLayer?: (at: number, of: number, bytes: number) => void;
}

/**
 * Reads the files of a payload out of an image, layer by layer, without a copy on the disk. The digests of index, manifest and layers are checked while they
 * flow; nothing that was read counts before the last one was. Throws `ReleaseError`.
 */
export async function readPayloadImage(source: BlobSource, options: PayloadImageOptions): Promise<ImagePayload> {
  const { architecture = hostArchitecture(), signal, onLayer } = options;
  const { digest, layers } = await imageOf(source, architecture, { signal });
  const reader = layerReader(source.name);
  for (const [at, layer] of layers.entries()) {
    onLayer?.(at + 1, layers.length, layer.size);
    const blob = await source.blob(layer, { signal });
    await reader.add(checked(blob, layer, source.name), layer.mediaType);
    signal.throwIfAborted();
  }
  if (reader.files.size === 0)
    throw new ReleaseError('NO_PAYLOAD', `${source.name} has neither manifests/ nor release-manifests/ in its layers`);
  return { name: source.name, digest, files: reader.files };
}

const GO_NAMES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64', ppc64: 'ppc64le', s390x: 's390x' };

/** This machine, in the words of Go. */
export function hostArchitecture(): string {
  return GO_NAMES[process.arch] ?? process.arch;
}
