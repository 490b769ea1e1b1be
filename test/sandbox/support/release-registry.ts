import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signedBy, type TestImage, type TestSigner, testImage } from '@drydock/release/testing';

/** A registry without logins, with signatures beside its images. */
export interface ReleaseRegistry extends AsyncDisposable {
  readonly host: string;
  /** Where the signatures are. */
  readonly store: string;
  /** Puts a release there; resolves to its reference with digest. `manifests` by their names in `release-manifests`; `about`: what it says of itself. */
  release(
    version: string,
    manifests: Readonly<Record<string, object | string>>,
    signer?: TestSigner,
    about?: Readonly<Record<string, string>>,
  ): Promise<string>;
  /** What was asked for, by path. */
  readonly asked: string[];
  /** From now on nothing is answered about signatures. */
  forgetSignatures(): void;
}

/** The files of a release by their paths: `manifests` are by their names in `release-manifests`, or by a whole path; a text is as it is. */
export function releaseFiles(
  version: string,
  manifests: Readonly<Record<string, object | string>>,
  metadata: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const stream = {
    apiVersion: 'image.openshift.io/v1',
    kind: 'ImageStream',
    metadata: { name: version },
    spec: { tags: [] },
  };
  const files = Object.entries({
    'release-metadata': { kind: 'cincinnati-metadata-v0', version, metadata },
    'image-references': stream,
    ...manifests,
  });
  return Object.fromEntries(
    files.map(([name, content]) => [
      name.includes('/') ? name : `release-manifests/${name}`,
      typeof content === 'string' ? content : JSON.stringify(content),
    ]),
  );
}

/** Starts one. */
export async function startReleaseRegistry(): Promise<ReleaseRegistry> {
  const blobs = new Map<string, { readonly bytes: Buffer; readonly mediaType: string }>();
  const signatures = new Map<string, Uint8Array>();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const { url = '' } = request;
    asked.push(url);
    const signature = signatures.get(url);
    if (signature !== undefined) return void response.end(signature);
    const [, which = ''] = /\/(?:manifests|blobs)\/(sha256:[0-9a-f]{64})$/.exec(url) ?? [];
    const found = blobs.get(which);
    if (found === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': found.mediaType }).end(found.bytes);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ host, asked, store: `http://${host}/signatures` },
    release: async (version, manifests, signer, about) => {
      const image: TestImage = await testImage([Object.entries(releaseFiles(version, manifests, about))]);
      for (const [digest, blob] of image.blobs) blobs.set(digest, blob);
      if (signer !== undefined)
        signatures.set(
          `/signatures/${image.digest.replace(':', '=')}/signature-1`,
          await signedBy(signer, image.digest),
        );
      return `${host}/tools/release@${image.digest}`;
    },
    forgetSignatures: () => signatures.clear(),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
