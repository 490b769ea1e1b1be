import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { configMapStore } from '@drydock/kube';
import { memoryCluster } from '@drydock/kube/testing';
import { loadPayload } from '../payload/payload.ts';
import { manifestText, payloadFiles } from '../testing/payload-files.ts';
import { signedBy, type TestSigner, testSigner } from '../testing/signatures.ts';
import { keptSignatures } from './kept-signatures.ts';
import { type KeyRing, readKeyRing } from './key-rings.ts';
import { verifierIn } from './payload-verifier.ts';
import { httpStore, MAX_SIGNATURES, type SignatureStore } from './signature-stores.ts';
import { verifyDigest } from './verifier.ts';

const digest = `sha256:${'a1'.repeat(32)}`;
const never = new AbortController().signal;

let ours: TestSigner;
let strangers: TestSigner;
let ring: KeyRing;
let server: Server;
let address: string;
/** What the server answers by path: bytes, a status, or whatever else it does. */
const served = new Map<string, Uint8Array | number | string>();

async function* endless(): AsyncGenerator<Buffer> {
  for (;;) yield Buffer.alloc(64 << 10);
}

before(async () => {
  [ours, strangers] = [await testSigner('ours'), await testSigner('strangers')];
  ring = await readKeyRing('ours', ours.publicKey);
  server = createServer((request, response) => {
    const answer = served.get(request.url ?? '') ?? 404;
    if (answer === 'endless') {
      Readable.from(endless()).pipe(response);
    } else if (typeof answer === 'string') response.writeHead(302, { location: answer }).end();
    else if (typeof answer === 'number') response.writeHead(answer).end('SECRET-BODY');
    else response.end(answer);
  }).listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const pathOf = (at: number) => `/store/sha256=${digest.slice(7)}/signature-${at}`;
const store = (): SignatureStore => httpStore(`http://${address}/store`, { plain: new Set([address]) });
async function verified(stores: readonly SignatureStore[], rings: readonly KeyRing[] = [ring]): Promise<string> {
  const found = await verifyDigest(digest, { rings, stores, signal: never });
  for (const one of stores) await one[Symbol.asyncDispose]();
  return found.verified ? 'verified' : found.why;
}
/** A store that has these. */
const having = (...all: readonly Uint8Array[]): SignatureStore => ({
  name: 'memory',
  async *signatures() {
    yield* all;
  },
  [Symbol.asyncDispose]: () => Promise.resolve(),
});

test('a signature of this digest by a key of the ring verifies it; a stranger, another digest, another purpose and what nobody knows do not', async () => {
  assert.equal(await verified([having(await signedBy(ours, digest))]), 'verified');
  assert.match(
    await verified([having(await signedBy(strangers, digest))]),
    /none of its signers is valid in the key ring ours/,
  );
  assert.match(await verified([having(await signedBy(ours, `sha256:${'b2'.repeat(32)}`))]), /another image was signed/);
  assert.match(
    await verified([having(await signedBy(ours, digest, { critical: { type: 'a letter' } }))]),
    /no atomic container signature/,
  );
  assert.match(
    await verified([having(await signedBy(ours, digest, { critical: { until: 'tomorrow' } }))]),
    /critical part that is not known/,
  );
  assert.match(await verified([having(await ours.sign('"text"'))]), /speaks of no image/);
  assert.match(await verified([having(await ours.sign('not json'))]), /is no JSON/);
  assert.match(await verified([having(Buffer.from('junk'))]), /no signed message/);
  assert.match(await verified([having(new Uint8Array(100_000))]), /more than 16384 bytes/);
  assert.match(await verified([having()]), /no store has one/);
  assert.match(await verified([]), /there is no store of signatures/);
  assert.match(await verified([having(await signedBy(ours, digest))], []), /there is no key ring/);
  // Bytes of a valid one that were changed.
  const changed = Buffer.from(await signedBy(ours, digest));
  changed.write('b', changed.indexOf('a1a1'));
  assert.match(await verified([having(changed)]), /none of its signers is valid/);
});

test('every key ring must have signed, in whichever store; a stranger beside the right one changes nothing', async () => {
  const both = [ring, await readKeyRing('others', strangers.publicKey)];
  const [a, b] = [await signedBy(ours, digest), await signedBy(strangers, digest)];
  assert.equal(await verified([having(b), having(Buffer.from('junk'), a)], both), 'verified');
  assert.match(await verified([having(a)], both), /for the key ring others of 1 signatures none is valid/);
  assert.equal(await verified([having(b, a)]), 'verified');
});

test('a message that is compressed is read within bounds: one that unpacks without end is none', async () => {
  const text = JSON.stringify({ critical: {} }) + ' '.repeat(4 << 20);
  const bomb = await ours.sign(text, { compress: true });
  assert.ok(bomb.length < 16_384, `${bomb.length} bytes`);
  assert.match(await verified([having(bomb)]), /no signed message/);
  assert.equal(
    await verified([having(await signedBy({ ...ours, sign: (one) => ours.sign(one, { compress: true }) }, digest))]),
    'verified',
  );
});

test('a key ring is public keys in armour, within bounds, and its text is never repeated', async () => {
  for (const [text, why] of [
    ['SECRET', /no public key in armour/],
    [ours.privateKey, /secret key/],
    [`-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nSECRET\n-----END PGP PUBLIC KEY BLOCK-----`, /no key/],
    ['-----BEGIN PGP '.repeat(10_000), /no public key in armour/],
    [ours.publicKey.repeat(40), /more than 32 keys/],
    ['x'.repeat(1 << 20), /more than 262144 characters/],
  ] as const)
    await assert.rejects(readKeyRing('r', text), (error: Error & { code?: string }) => {
      assert.match(error.message, why);
      assert.doesNotMatch(error.message, /SECRET/);
      return error.code === 'BAD_KEY_RING';
    });
  // Several blocks one after the other are one ring.
  const two = await readKeyRing('two', `${strangers.publicKey}\n${ours.publicKey}`);
  assert.equal(await verified([having(await signedBy(ours, digest))], [two]), 'verified');
});

test('a store behind an address is asked until one is not there; one that lies, stalls, sends away or gives too much is passed over without a word of it', async () => {
  served.set(pathOf(1), await signedBy(strangers, digest));
  served.set(pathOf(2), await signedBy(ours, digest));
  assert.equal(await verified([store()]), 'verified');
  served.clear();
  for (const [answer, why] of [
    [500, /answers 500/],
    [401, /answers 401/],
    ['endless', /more than 16384 bytes/],
    ['/store/elsewhere', /from one place to another/],
    ['http://other.invalid/', /away from TLS/],
    ['file:///etc/passwd', /away from TLS/],
  ] as const) {
    served.set(pathOf(1), answer);
    served.set('/store/elsewhere', '/store/elsewhere');
    const said = await verified([store()]);
    assert.match(said, why);
    assert.doesNotMatch(said, /SECRET-BODY/);
    assert.equal(await verified([store(), having(await signedBy(ours, digest))]), 'verified', 'another store has it');
  }
  served.clear();
  for (let at = 1; at <= MAX_SIGNATURES + 5; at += 1) served.set(pathOf(at), await signedBy(strangers, digest));
  assert.match(await verified([store()]), new RegExp(`of ${MAX_SIGNATURES} signatures none`));
  for (const bad of [
    'http://store.test/x',
    'ftp://store.test',
    'no address',
    'https://user:pass@store.test/',
    'https://store.test/?a=b',
  ])
    assert.throws(
      () => httpStore(bad),
      (error: Error) => error.message.startsWith('The signature store') && !error.message.includes('pass@'),
    );
});

test('RB-R28 a digest that was verified once is verified again from the cluster, without network', async () => {
  const cluster = memoryCluster();
  const kept = () =>
    keptSignatures(
      configMapStore({
        client: cluster.client(),
        namespace: 'default',
        name: 'drydock-release-signatures',
        component: 'release-signatures',
      }),
      'kept',
    );
  served.clear();
  served.set(pathOf(1), await signedBy(ours, digest));
  const found = await verifyDigest(digest, { rings: [ring], stores: [kept(), store()], signal: never });
  assert.ok(found.verified);
  await kept().keep(digest, found.proof, new Set());
  served.clear();
  assert.equal(await verified([kept()]), 'verified');
  assert.match(
    await verified([
      keptSignatures(
        configMapStore({
          client: cluster.client(),
          namespace: 'kube-system',
          name: 'drydock-release-signatures',
          component: 'release-signatures',
        }),
        'none',
      ),
    ]),
    /no store has one/,
  );
  // Who can write there gains nothing.
  await kept().keep(digest, [await signedBy(strangers, digest)], new Set());
  assert.match(await verified([kept()]), /none of its signers is valid/);
});

test('a payload brings key rings and stores in the ConfigMap that says so', () => {
  const files = (data: object, annotation = 'release.openshift.io/verification-config-map') =>
    loadPayload(
      payloadFiles({
        'release-manifests/0000_90_a_1.yaml': manifestText('ConfigMap', 'v', { [annotation]: '' }, { data }),
      }),
    ).manifests;
  const data = { 'verifier-public-key-redhat': 'KEY', 'store-a': ' https://store.test/x\n', note: 'x' };
  assert.deepEqual(verifierIn(files(data)), {
    rings: [{ name: 'redhat', armoured: 'KEY' }],
    stores: ['https://store.test/x'],
  });
  assert.equal(verifierIn(files({ 'store-a': 'https://store.test' })), undefined);
  assert.equal(verifierIn(files(data, 'other')), undefined);
});
