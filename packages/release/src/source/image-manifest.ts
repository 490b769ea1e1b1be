import { readJson } from '@drydock/api';
import { isObject, type Json } from '@drydock/crd';
import { ReleaseError } from '../errors.ts';
import type { BlobSource, Descriptor, SourceCall } from './blobs.ts';
import { checkedBytes } from './checked.ts';

/** Media types of manifests, as they are asked for. */
export const MANIFEST_TYPES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
] as const;

/** Bytes of a manifest; the specification asks for no more than 4 MiB. */
export const MAX_MANIFEST: number = 4 << 20;
/** Layers of an image, and images of an index, at most. */
const MAX_PARTS = 500;
/** An index may name an index. */
const MAX_DEPTH = 4;

/** An image that was chosen, and its layers from the lowest to the highest. */
export interface Image {
  /** Digest of what the name means: of the index, where there is one. */
  readonly digest: string;
  readonly layers: readonly Descriptor[];
}

/** Goes from the name to the layers: through an index to the image for an architecture of Go's (`amd64`) where there are several. Every digest is checked. Throws `ReleaseError`. */
export async function imageOf(source: BlobSource, architecture: string, call: SourceCall): Promise<Image> {
  const { bytes, digest: named } = await source.root(call);
  const { createHash } = await import('node:crypto');
  const digest = named ?? `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  let manifest = read(checkedBytes(bytes, digest, source.name), source.name);
  for (let depth = 0; 'manifests' in manifest; depth += 1) {
    const bad = unusable(source.name);
    if (depth === MAX_DEPTH) return bad('an index names an index, which names another one, and so on');
    const all = descriptorsOf(manifest['manifests'], source.name);
    const linux = all.filter(({ platform }) => platform === undefined || platform.os === 'linux');
    const chosen =
      linux.find(({ platform }) => platform?.architecture === architecture) ??
      (linux.length === 1 ? linux[0] : undefined);
    if (chosen === undefined) {
      const there = linux.map(({ platform }) => platform?.architecture ?? 'unknown').join(', ');
      return bad(`it has no image for linux/${architecture}, but for ${there === '' ? 'none' : there}`);
    }
    manifest = read(checkedBytes(await source.manifest(chosen, call), chosen.digest, source.name), source.name);
  }
  return { digest, layers: descriptorsOf(manifest['layers'], source.name) };
}

function unusable(name: string): (why: string) => never {
  return (why) => {
    throw new ReleaseError('BAD_IMAGE', `${name}: ${why}`);
  };
}

function read(bytes: Buffer, name: string): Readonly<Record<string, Json>> {
  const bad = unusable(name);
  if (bytes.length > MAX_MANIFEST) return bad(`its manifest has more than ${MAX_MANIFEST} bytes`);
  let value: Json;
  try {
    value = readJson(bytes.toString()) as Json;
  } catch {
    return bad('its manifest is no JSON');
  }
  if (!isObject(value)) return bad('its manifest is no object');
  if (value['schemaVersion'] !== 2) return bad('its manifest is not of schema version 2');
  return value;
}

function descriptorsOf(value: Json | undefined, name: string): readonly Descriptor[] {
  const bad = unusable(name);
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_PARTS)
    return bad(`its manifest does not name between 1 and ${MAX_PARTS} parts`);
  return value.map((one: Json): Descriptor => {
    if (!isObject(one)) return bad('a descriptor is no object');
    const { mediaType, digest, size, platform } = one;
    if (typeof mediaType !== 'string' || typeof digest !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(digest))
      return bad('a descriptor has no media type, or no digest of sha256');
    if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) return bad(`${digest} has no size`);
    const { architecture, os } = isObject(platform) ? platform : {};
    const told = typeof architecture === 'string' && typeof os === 'string' ? { platform: { architecture, os } } : {};
    return { mediaType, digest, size, ...told };
  });
}
