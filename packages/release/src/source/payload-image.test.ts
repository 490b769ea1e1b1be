import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { type Authority, createAuthority } from '@drydock/sandbox';
import { type LayerEntry, type TestImage, testImage } from '../testing/image.ts';
import type { BlobSource } from './blobs.ts';
import { ociLayout } from './oci-layout.ts';
import { type ImagePayload, readPayloadImage } from './payload-image.ts';
import { parseReference } from './reference.ts';
import { type RegistryOptions, registryImage } from './registry.ts';
import { readLogins } from './registry-login.ts';

/** An image in a folder. */
async function inLayout(image: TestImage, use: (source: BlobSource, folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'drydock-oci-'));
  try {
    await mkdir(join(folder, 'blobs', 'sha256'), { recursive: true });
    for (const [digest, { bytes }] of image.blobs)
      await writeFile(join(folder, 'blobs', 'sha256', digest.slice(7)), bytes);
    const { digest, mediaType } = image;
    await writeFile(
      join(folder, 'index.json'),
      JSON.stringify({ schemaVersion: 2, manifests: [{ digest, mediaType, size: 1 }] }),
    );
    await use(ociLayout(folder, undefined), folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const readLayout = async (image: TestImage): Promise<ImagePayload> => {
  let payload: ImagePayload | undefined;
  await inLayout(image, async (source) => {
    payload = await readPayloadImage(source, { signal: AbortSignal.timeout(60_000), architecture: 'amd64' });
  });
  assert.ok(payload !== undefined);
  return payload;
};

const text = 'kind: A';

test('the files of a payload in an image: gzip, zstd or plain, with or without an index; upper layers win and take away', async () => {
  const lower: readonly LayerEntry[] = [
    ['etc/passwd.yaml', 'not read'],
    ['release-manifests/a.yaml', 'old'],
    ['release-manifests/gone.yaml', text],
    ['manifests/own.yaml', text],
    ['release-manifests/README', 'not read'],
    ['release-manifests/deeper/x.yaml', 'not read'],
  ];
  const upper: readonly LayerEntry[] = [
    { name: './release-manifests/', type: 'directory' },
    ['./release-manifests/a.yaml', 'new'],
    ['release-manifests/.wh.gone.yaml', ''],
    ['release-manifests/release-metadata', '{}'],
  ];
  for (const options of [
    { compress: 'gzip' },
    { compress: 'zstd' },
    { compress: 'none' },
    { architectures: ['arm64', 'amd64'] },
  ] as const) {
    const image = await testImage([lower, upper], options);
    const { files, digest } = await readLayout(image);
    assert.deepEqual(
      [...files].toSorted(([a], [b]) => (a < b ? -1 : 1)),
      [
        ['manifests/own.yaml', text],
        ['release-manifests/a.yaml', 'new'],
        ['release-manifests/release-metadata', '{}'],
      ],
    );
    assert.equal(digest, image.digest);
  }
  const opaque = await testImage([
    lower,
    [
      ['release-manifests/.wh..wh..opq', ''],
      ['release-manifests/b.yaml', text],
    ],
    [['.wh.manifests', '']],
  ]);
  assert.deepEqual([...(await readLayout(opaque)).files.keys()], ['release-manifests/b.yaml']);
});

test('what lies about itself, tricks with paths, and what is no payload are refused', async () => {
  const good: readonly LayerEntry[] = [['manifests/a.yaml', text]];
  const image = await testImage([good]);
  const [layer = ''] = [...image.blobs].find(([, { mediaType }]) => mediaType.includes('layer')) ?? [];
  const other = (await testImage([[['manifests/a.yaml', 'kind: B']]])).blobs;
  const [, swapped] = [...other].find(([, { mediaType }]) => mediaType.includes('layer')) ?? [];
  const changed = (bytes: Buffer): TestImage => ({
    ...image,
    blobs: new Map(image.blobs).set(layer, { bytes, mediaType: '' }),
  });
  const indexed = await testImage([good], { architectures: ['amd64'] });
  const [named = ''] =
    [...indexed.blobs].find(([, { mediaType }]) => mediaType === 'application/vnd.oci.image.manifest.v1+json') ?? [];
  const stranger = image.blobs.get(image.digest) ?? assert.fail();
  const inIndex = { ...indexed, blobs: new Map([...image.blobs, ...indexed.blobs]).set(named, stranger) };
  const original = image.blobs.get(layer)?.bytes ?? Buffer.of();
  for (const [what, promised, error] of [
    [
      'another layer',
      changed(swapped?.bytes ?? Buffer.of()),
      /(is sha256:|has \d+ bytes instead of|has more than).*Do not use it/,
    ],
    [
      'a longer layer',
      changed(Buffer.concat([original, Buffer.of(0)])),
      /has more than the \d+ bytes that it should have/,
    ],
    ['a shorter layer', changed(original.subarray(0, -1)), /bytes instead of|cannot be read/],
    [
      'another manifest',
      { ...image, blobs: new Map(image.blobs).set(image.digest, { bytes: Buffer.from('{}'), mediaType: '' }) },
      /is sha256:/,
    ],
    [
      'a path out',
      await testImage([[['manifests/../../etc/x.yaml', text]]]),
      /manifests\/\.\.\/\.\.\/etc\/x\.yaml leads out of its folder/,
    ],
    [
      'a link',
      await testImage([[{ name: 'manifests/a.yaml', type: 'symlink', linkname: '/etc/shadow' }]]),
      /manifests\/a\.yaml is a symlink, not a file/,
    ],
    ['another image in the index', inIndex, /is sha256:[0-9a-f]{64}/],
    ['no text', await testImage([[['manifests/a.yaml', Buffer.of(0xff)]]]), /is no text in UTF-8/],
    ['no payload', await testImage([[['etc/x.yaml', text]]]), /neither manifests\/ nor release-manifests\//],
    [
      'another architecture',
      await testImage([good], { architectures: ['arm64', 's390x'] }),
      /no image for linux\/amd64, but for arm64, s390x/,
    ],
  ] as const)
    await assert.rejects(readLayout(promised), { name: 'ReleaseError', message: error }, what);
});

function* withoutEnd(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(1 << 20);
}

interface Registry extends AsyncDisposable {
  readonly host: string;
  readonly requests: { readonly url: string; readonly authorization: string | undefined }[];
}

/** A registry as far as reading goes; without an authority it speaks plain HTTP. */
async function registry(
  image: TestImage,
  answer: (request: IncomingMessage, response: ServerResponse, host: string) => boolean = () => false,
  authority?: Authority,
): Promise<Registry> {
  const requests: Registry['requests'] = [];
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const { url = '', headers } = request;
    requests.push({ url, authorization: headers.authorization });
    if (answer(request, response, headers.host ?? '')) return;
    const [, kind, which = ''] = /\/(manifests|blobs)\/([^/]+)$/.exec(url) ?? [];
    const found = image.blobs.get(kind === 'manifests' && !which.startsWith('sha256:') ? image.digest : which);
    if (found === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': found.mediaType }).end(found.bytes);
  };
  const { certificate: cert, privateKey: key } = authority?.issueServer(['127.0.0.1']) ?? {};
  const server = (authority === undefined ? createServer(listener) : createTlsServer({ cert, key }, listener)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function pull(reference: string, options: RegistryOptions): Promise<ImagePayload> {
  await using source = registryImage(parseReference(reference), options);
  return await readPayloadImage(source, { signal: AbortSignal.timeout(60_000), architecture: 'amd64' });
}

const login = { user: 'captain', password: 'p4ss' };
const basic = `Basic ${Buffer.from('captain:p4ss').toString('base64')}`;

test('a registry asks who it is: a token is fetched once with the login, and goes to no other host', async () => {
  const image = await testImage([[['manifests/a.yaml', text]], [['manifests/b.yaml', text]]], {
    architectures: ['amd64'],
  });
  await using storage = await registry(image);
  await using own = await registry(image, ({ url = '', headers }, response, host) => {
    if (url.startsWith('/token')) {
      const right = headers.authorization === basic && url.includes('scope=repository%3Aocp%2Frelease%3Apull');
      response.writeHead(right ? 200 : 401).end(right ? '{"token":"t0ken"}' : '');
      return true;
    }
    if (headers.authorization !== 'Bearer t0ken') {
      response.writeHead(401, { 'www-authenticate': `Bearer realm="http://${host}/token",service="s"` }).end();
      return true;
    }
    if (!url.includes('/blobs/')) return false;
    response.writeHead(307, { location: `http://${storage.host}${url}` }).end();
    return true;
  });
  const plain = new Set([own.host, storage.host]);
  const logins = new Map([[own.host, login]]);
  const { files } = await pull(`${own.host}/ocp/release:4.14.0`, { plain, logins });
  assert.deepEqual([...files.keys()], ['manifests/a.yaml', 'manifests/b.yaml']);
  assert.equal(own.requests.filter(({ url }) => url.startsWith('/token')).length, 1);
  assert.deepEqual(new Set(storage.requests.map(({ authorization }) => authorization)), new Set([undefined]));
  await assert.rejects(pull(`${own.host}/ocp/release:4.14.0`, { plain }), {
    code: 'REGISTRY_LOGIN',
    message: /asks who it is, and there is no login for it\. Give a login/,
  });
  const wrong = new Map([[own.host, { user: 'captain', password: 'secret-word' }]]);
  const error = await pull(`${own.host}/ocp/release:4.14.0`, { plain, logins: wrong }).catch((one: Error) => one);
  assert.ok(
    error instanceof Error &&
      /the login of user captain is not taken/.test(error.message) &&
      !error.message.includes('secret-word'),
  );
});

test('SAFE-9 a login goes to no token server without TLS that was not named, and to none that another host names', async () => {
  const image = await testImage([[['manifests/a.yaml', text]]]);
  const token = ({ url = '' }: IncomingMessage, response: ServerResponse): boolean => {
    if (url.startsWith('/token')) response.writeHead(200).end('{"token":"t0ken"}');
    return url.startsWith('/token');
  };
  await using other = await registry(image, token);
  await using asks = await registry(image, (request, response) => {
    if (request.headers.authorization === 'Bearer t0ken') return false;
    response.writeHead(401, { 'www-authenticate': `Bearer realm="http://${other.host}/token"` }).end();
    return true;
  });
  const pulled = (host: string, plain: readonly string[]) =>
    pull(`${host}/ocp/release:4.14.0`, { plain: new Set(plain), logins: new Map([[host, login]]) });
  await assert.rejects(pulled(asks.host, [asks.host]), { code: 'REGISTRY_LOGIN' });
  assert.deepEqual(other.requests, []);
  assert.equal((await pulled(asks.host, [asks.host, other.host])).files.size, 1, 'control');
  await using sends = await registry(image, ({ url = '' }, response) => {
    if (!url.includes('/blobs/')) return false;
    response.writeHead(307, { location: `http://${asks.host}${url}` }).end();
    return true;
  });
  other.requests.length = 0;
  await assert.rejects(pulled(sends.host, [sends.host, asks.host, other.host]), { code: 'REGISTRY_LOGIN' });
  assert.deepEqual(other.requests, []);
});

test('SAFE-9 a registry with TLS is followed to another one with TLS, and to none without, though that one may be asked by itself', async () => {
  const authority = createAuthority('registries');
  const image = await testImage([[['manifests/a.yaml', text]]]);
  await using safe = await registry(image, undefined, authority);
  await using bare = await registry(image);
  const sendsTo = (place: string) =>
    registry(
      image,
      ({ url = '' }, response) => {
        if (url.includes('/blobs/')) response.writeHead(307, { location: `${place}${url}` }).end();
        return url.includes('/blobs/');
      },
      authority,
    );
  await using up = await sendsTo(`https://${safe.host}`);
  await using down = await sendsTo(`http://${bare.host}`);
  const options = { ca: authority.certificate, plain: new Set([bare.host]) };
  assert.equal((await pull(`${up.host}/r:t`, options)).files.size, 1, 'control');
  assert.ok(safe.requests.length > 0, 'control');
  await assert.rejects(pull(`${down.host}/r:t`, options), {
    code: 'REGISTRY',
    message: new RegExp(`^${down.host} sends from one place to another, or away from TLS`),
  });
  assert.deepEqual(bare.requests, []);
});

test('a mirror is asked first, the place itself where the mirror has nothing; a digest is checked wherever it comes from', async () => {
  const image = await testImage([[['manifests/a.yaml', text]]]);
  const forged = await testImage([[['manifests/a.yaml', 'kind: Forged']]]);
  await using empty = await registry({ ...image, blobs: new Map() });
  await using full = await registry(image);
  await using liar = await registry(image, ({ url = '' }, response) => {
    if (!url.includes('/manifests/')) return false;
    response.writeHead(200).end(forged.blobs.get(forged.digest)?.bytes);
    return true;
  });
  const plain = new Set([empty.host, full.host, liar.host]);
  const mirrors = [{ from: `${full.host}/ocp`, to: `${empty.host}/mirror/of` }];
  assert.equal((await pull(`${full.host}/ocp/release@${image.digest}`, { plain, mirrors })).digest, image.digest);
  assert.match(empty.requests[0]?.url ?? '', /^\/v2\/mirror\/of\/release\/manifests\/sha256:/);
  await assert.rejects(pull(`${liar.host}/ocp/release@${image.digest}`, { plain }), { code: 'BAD_DIGEST' });
});

test('a busy registry is asked again, one that sends in circles or away from TLS, or answers without end, is left', async () => {
  const image = await testImage([[['manifests/a.yaml', text]]]);
  let busy = 2;
  await using patient = await registry(image, (_request, response) => {
    if (busy === 0) return false;
    busy -= 1;
    response.writeHead(503).end();
    return true;
  });
  assert.equal((await pull(`${patient.host}/r:t`, { plain: new Set([patient.host]) })).files.size, 1);
  await using circles = await registry(image, ({ url = '' }, response) => {
    response.writeHead(302, { location: url }).end();
    return true;
  });
  await assert.rejects(
    pull(`${circles.host}/r:t`, { plain: new Set([circles.host]) }),
    /sends from one place to another/,
  );
  await using endless = await registry(image, (_request, response) => {
    response.writeHead(200);
    Readable.from(withoutEnd()).pipe(response);
    return true;
  });
  await assert.rejects(
    pull(`${endless.host}/r:t`, { plain: new Set([endless.host]) }),
    /answers with more than 4194304 bytes/,
  );
  await assert.rejects(pull('127.0.0.1:1/r:t', { plain: new Set(['127.0.0.1:1']) }), {
    code: 'REGISTRY',
    message: /127\.0\.0\.1:1 cannot be reached/,
  });
});

test('references and logins', () => {
  const digest = `sha256:${'ab'.repeat(32)}`;
  assert.deepEqual(parseReference(`quay.io/ocp/release:4.14.0@${digest}`), {
    registry: 'quay.io',
    repository: 'ocp/release',
    tag: '4.14.0',
    digest,
  });
  assert.deepEqual(parseReference('localhost:5000/a'), { registry: 'localhost:5000', repository: 'a' });
  for (const wrong of [
    'ocp/release',
    'quay.io',
    'quay.io/Ocp',
    'quay.io/a:b/c',
    'quay.io/a@sha256:12',
    'quay.io/../a',
    'quay.io/a@b@c',
    `quay.io/${'a'.repeat(2_000)}`,
    'user@quay.io/a',
  ])
    assert.throws(() => parseReference(wrong), { code: 'BAD_REFERENCE' }, wrong);
  const auth = Buffer.from('u:p:q').toString('base64');
  const logins = readLogins(
    JSON.stringify({
      auths: { 'quay.io': { auth }, 'https://index.docker.io/v1/': { username: 'a', password: 'b' }, empty: {} },
    }),
    'f',
  );
  assert.deepEqual(
    [...logins],
    [
      ['quay.io', { user: 'u', password: 'p:q' }],
      ['docker.io', { user: 'a', password: 'b' }],
    ],
  );
  assert.throws(
    () => readLogins('{"auths": "hunter2"', 'pull-secret'),
    (error: Error) =>
      !error.message.includes('hunter2') && /^pull-secret is no file of registry logins/.test(error.message),
  );
});
