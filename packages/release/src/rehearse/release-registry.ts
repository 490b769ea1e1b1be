import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import type { RehearsedRelease } from './rehearsed-release.ts';

/** A registry on the loopback interface that has the releases of a rehearsal, and nothing else. It wants no logins. */
export interface ReleaseRegistry extends AsyncDisposable {
  /** `127.0.0.1:PORT`. */
  readonly host: string;
  /** Puts a release there. Resolves to its reference with digest. */
  put(release: RehearsedRelease): Promise<string>;
}

interface Blob {
  readonly bytes: Buffer;
  readonly mediaType: string;
}

/** Starts one. */
export async function startReleaseRegistry(): Promise<ReleaseRegistry> {
  const blobs = new Map<string, Blob>();
  const server = createServer((request, response) => {
    const [, digest = ''] = /\/(?:manifests|blobs)\/(sha256:[0-9a-f]{64})$/.exec(request.url ?? '') ?? [];
    const found = blobs.get(digest);
    if (found === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': found.mediaType }).end(found.bytes);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const add = (bytes: Buffer, mediaType: string) => {
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    blobs.set(digest, { bytes, mediaType });
    return { mediaType, digest, size: bytes.length };
  };
  const json = (value: object, mediaType: string) => add(Buffer.from(JSON.stringify(value)), mediaType);
  return {
    host,
    put: async (release) => {
      const layer = add(gzipSync(await tarOf(release)), 'application/vnd.oci.image.layer.v1.tar+gzip');
      const config = json({ version: release.version }, 'application/vnd.oci.image.config.v1+json');
      const manifest = { schemaVersion: 2, config, layers: [layer] };
      const { digest } = json(manifest, 'application/vnd.oci.image.manifest.v1+json');
      return `${host}/rehearsal/release@${digest}`;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function tarOf({ version, files }: RehearsedRelease): Promise<Buffer> {
  const stream = { apiVersion: 'image.openshift.io/v1', kind: 'ImageStream', metadata: { name: version } };
  const tar = pack();
  const add = (name: string, text: string): void => {
    tar.entry({ name: `release-manifests/${name}` }, text);
  };
  add('release-metadata', JSON.stringify({ kind: 'cincinnati-metadata-v0', version }));
  add('image-references', JSON.stringify({ ...stream, spec: { tags: [] } }));
  for (const [name, text] of files) add(name, text);
  tar.finalize();
  return Buffer.concat(await Array.fromAsync(tar as AsyncIterable<Buffer>));
}
