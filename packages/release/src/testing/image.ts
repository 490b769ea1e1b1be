import { createHash } from 'node:crypto';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { pack } from 'tar-stream';

/** One entry of a layer: a file with its text, or whatever else a tar can hold. */
export type LayerEntry =
  | readonly [path: string, text: string | Buffer]
  | { readonly name: string; readonly type: 'symlink' | 'link' | 'directory'; readonly linkname?: string };

/** An image in memory, as a registry or a folder has it. */
export interface TestImage {
  /** Digest of the index, or of the image where there is no index. */
  readonly digest: string;
  readonly mediaType: string;
  readonly blobs: ReadonlyMap<string, { readonly bytes: Buffer; readonly mediaType: string }>;
}

const LAYER = 'application/vnd.oci.image.layer.v1.tar';

/** `sha256:…` of bytes. */
export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** Makes an image of layers, each a list of entries; with `architectures`, an index that has it for each of them. */
export async function testImage(
  layers: readonly (readonly LayerEntry[])[],
  {
    compress = 'gzip',
    architectures,
  }: { readonly compress?: 'gzip' | 'zstd' | 'none'; readonly architectures?: readonly string[] } = {},
): Promise<TestImage> {
  const blobs = new Map<string, { bytes: Buffer; mediaType: string }>();
  const put = (bytes: Buffer, mediaType: string) => {
    const digest = digestOf(bytes);
    blobs.set(digest, { bytes, mediaType });
    return { mediaType, digest, size: bytes.length };
  };
  const packed: { readonly mediaType: string; readonly digest: string; readonly size: number }[] = [];
  for (const entries of layers) {
    const tar = await tarOf(entries);
    const bytes = compress === 'gzip' ? gzipSync(tar) : compress === 'zstd' ? zstdCompressSync(tar) : tar;
    packed.push(put(bytes, compress === 'none' ? LAYER : `${LAYER}+${compress}`));
  }
  const manifest = (more: object) =>
    put(
      Buffer.from(
        JSON.stringify({
          schemaVersion: 2,
          config: put(Buffer.from(JSON.stringify(more)), 'application/vnd.oci.image.config.v1+json'),
          layers: packed,
        }),
      ),
      'application/vnd.oci.image.manifest.v1+json',
    );
  if (architectures === undefined) return { ...manifest({}), blobs };
  const manifests = architectures.map((architecture) => ({
    ...manifest({ architecture }),
    platform: { os: 'linux', architecture },
  }));
  const index = put(
    Buffer.from(JSON.stringify({ schemaVersion: 2, manifests })),
    'application/vnd.oci.image.index.v1+json',
  );
  return { ...index, blobs };
}

async function tarOf(entries: readonly LayerEntry[]): Promise<Buffer> {
  const tar = pack();
  for (const entry of entries) {
    if (Array.isArray(entry))
      tar.entry({ name: (entry as [string, string])[0] }, (entry as [string, string | Buffer])[1]);
    else tar.entry(entry as { readonly name: string; readonly type: 'symlink'; readonly linkname: string });
  }
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
