import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type BlobSource, imageOf, ReleaseError, readLogins } from '@drydock/release';
import { type Format, growing, type Hostile, nested, pieces, SECRET } from '../format.ts';

const signal = new AbortController().signal;
const digest = `sha256:${'ab'.repeat(32)}`;
const part = { mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', digest, size: 12 };
const refuses = (error: unknown): boolean => error instanceof ReleaseError;

/** An image whose manifest is the text; an index leads nowhere. */
function sourceOf(bytes: Buffer): BlobSource {
  return {
    name: 'registry.example/a:b',
    root: () => Promise.resolve({ bytes, mediaType: '' }),
    manifest: () => Promise.resolve(Buffer.from('{}')),
    blob: () => Promise.reject(new TypeError('nobody asks for layers')),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const layersOf = (bytes: Buffer): ReturnType<typeof imageOf> => imageOf(sourceOf(bytes), 'amd64', { signal });

/** Manifests of images, as a registry gives them. */
export const imageManifests: Format<Awaited<ReturnType<typeof layersOf>>> = {
  name: 'manifests of images',
  examples: [
    JSON.stringify({ schemaVersion: 2, layers: [part, part] }),
    JSON.stringify({
      schemaVersion: 2,
      config: part,
      layers: [{ ...part, platform: { os: 'linux', architecture: 'amd64' } }],
    }),
  ],
  pieces: [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '"layers":',
    '"manifests":',
    '"size":-1',
    '"digest":',
    'null',
    '1e999',
    '"__proto__":',
  ],
  nest: ['[', ']'],
  read: layersOf,
  refuses,
  check: (image, bytes) => {
    assert.equal(image.digest, `sha256:${createHash('sha256').update(bytes).digest('hex')}`);
    for (const { digest: of, size } of image.layers) assert.ok(/^sha256:[0-9a-f]{64}$/.test(of) && size >= 0);
  },
};

/** Logins of registries. */
export const registryLogins: Format<ReturnType<typeof readLogins>> = {
  name: 'logins of registries',
  examples: [
    JSON.stringify({ auths: { 'quay.io': { auth: Buffer.from(`u:${SECRET}`).toString('base64') } } }),
    JSON.stringify({
      auths: { 'https://index.docker.io/v1/': { username: 'u', password: SECRET }, a: { identitytoken: SECRET } },
    }),
  ],
  pieces: ['{', '}', ':', ',', '"', '"auths":', '"auth":', '"password":', 'null', '[]', '"__proto__":'],
  nest: ['{"auths":', '}'],
  read: (bytes) => readLogins(bytes.toString(), 'config.json'),
  refuses,
  check: (logins) => {
    for (const [where, { user, password }] of logins)
      assert.ok(typeof where === 'string' && `${user}${password}` !== '');
  },
};

export const imageGrowth: readonly Hostile[] = growing(
  'a manifest of an image',
  {
    layers: (size) => Buffer.from(`{"schemaVersion":2,"layers":[${pieces(size, () => JSON.stringify(part), ',')}]}`),
    names: (size) => Buffer.from(`{"schemaVersion":2,${pieces(size, (n) => `"${n}":1`, ',')}}`),
    nesting: (size) => Buffer.from(nested(size, '{"layers":[', '', ']}')),
  },
  { limit: 2 ** 22, read: layersOf },
);
