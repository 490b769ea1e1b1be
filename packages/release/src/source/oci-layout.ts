import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson } from '@drydock/api';
import { isObject, type Json } from '@drydock/crd';
import { ReleaseError } from '../errors.ts';
import type { BlobSource, Descriptor } from './blobs.ts';
import { MAX_MANIFEST } from './image-manifest.ts';

const REF_NAME = 'org.opencontainers.image.ref.name';

/** An image in a folder of the OCI image layout: the one with the tag, or the only one. */
export function ociLayout(folder: string, tag: string | undefined): BlobSource {
  const name = `oci:${folder}${tag === undefined ? '' : `:${tag}`}`;
  const bad = (why: string, cause?: unknown): ReleaseError => new ReleaseError('BAD_IMAGE', `${name}: ${why}`, cause);
  const pathOf = ({ digest }: Pick<Descriptor, 'digest'>): string =>
    join(folder, 'blobs', 'sha256', digest.slice('sha256:'.length));
  const small = async (path: string): Promise<Buffer> => {
    try {
      await using handle = await open(path, 'r');
      const { size } = await handle.stat();
      if (size > MAX_MANIFEST) throw bad(`${path} has more than ${MAX_MANIFEST} bytes`);
      return await handle.readFile();
    } catch (error) {
      if (error instanceof ReleaseError) throw error;
      throw bad(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? ''}`, error);
    }
  };
  return {
    name,
    root: async () => {
      const bytes = await small(join(folder, 'index.json'));
      const entries = entriesOf(bytes);
      if (entries === undefined) throw bad('its index.json is no index');
      const named = entries.filter((entry) => tag === undefined || entry.tag === tag);
      const [only, ...others] = named;
      if (only === undefined)
        throw bad(
          tag === undefined
            ? 'it has no image'
            : `it has no image ${tag}, but ${entries.map((entry) => entry.tag ?? entry.digest).join(', ')}`,
        );
      if (others.length > 0)
        throw bad(
          `it has several images: name one of ${named.map((entry) => entry.tag ?? entry.digest).join(', ')} behind a colon`,
        );
      return { bytes: await small(pathOf(only)), mediaType: only.mediaType, digest: only.digest };
    },
    manifest: (descriptor) => small(pathOf(descriptor)),
    blob: async (descriptor, { signal }) => createReadStream(pathOf(descriptor), { signal }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

interface Entry {
  readonly digest: string;
  readonly mediaType: string;
  readonly tag?: string;
}

function entriesOf(bytes: Buffer): readonly Entry[] | undefined {
  let index: Json;
  try {
    index = readJson(bytes.toString()) as Json;
  } catch {
    return undefined;
  }
  const manifests = isObject(index) ? index['manifests'] : undefined;
  if (!Array.isArray(manifests)) return undefined;
  const entries = manifests.map((one: Json): Entry | undefined => {
    if (!isObject(one)) return undefined;
    const { digest, mediaType, annotations } = one;
    if (typeof digest !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(digest) || typeof mediaType !== 'string')
      return undefined;
    const tag = isObject(annotations) ? annotations[REF_NAME] : undefined;
    return { digest, mediaType, ...(typeof tag === 'string' ? { tag } : {}) };
  });
  return entries.some((entry) => entry === undefined) ? undefined : entries.filter((entry) => entry !== undefined);
}
