import assert from 'node:assert/strict';
import { type KeyRing, ReleaseError, readKeyRing } from '@drydock/release';
import { signedBy, testSigner } from '@drydock/release/testing';
import type { Format } from '../format.ts';

const digest = `sha256:${'ab'.repeat(32)}`;
const signer = await testSigner('ours');
const stranger = await testSigner('theirs');
const ring = await readKeyRing('ours', signer.publicKey);
const plain = Buffer.from(await signedBy(signer, digest));
const foreign = Buffer.from(await signedBy(stranger, digest));

/** Key rings of payloads, in armour. */
export const keyRings: Format<KeyRing> = {
  name: 'key rings',
  examples: [
    signer.publicKey,
    `${stranger.publicKey}\n# two\n${signer.publicKey}`,
    signer.publicKey.replaceAll('\n', '\r\n'),
  ],
  pieces: [
    '-----BEGIN PGP ',
    'PUBLIC KEY BLOCK-----',
    'PRIVATE KEY BLOCK-----',
    '-----END PGP ',
    '\n',
    '\n\n',
    '=',
    'AAAA',
    'Comment: x\n',
  ],
  nest: ['-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n', '\n-----END PGP PUBLIC KEY BLOCK-----\n'],
  read: (bytes) => readKeyRing('fuzzed', bytes.toString('latin1')),
  refuses: (error) => error instanceof ReleaseError && error.code === 'BAD_KEY_RING',
  // Whatever it holds, a signature of nobody in it is none.
  check: async (read) => {
    const flaw = await read.flaw(Buffer.from('no signature'), digest);
    assert.equal(flaw, 'it is no signed message of OpenPGP');
  },
};

/** Signatures of images, as stores serve them: what was changed is none, or still says what was signed. */
export const signatures: Format<string | undefined> = {
  name: 'signatures',
  examples: [plain, foreign, Buffer.from(await signer.sign('{"critical":{}}', { compress: true }))],
  pieces: ['\u0090', '\u00c8', '\u00cb', '\u00ff', '{"critical":', digest],
  nest: ['\u00c8\u00ff', '\u0000'],
  read: (bytes) => ring.flaw(bytes, digest),
  refuses: () => false,
  takesAll: true,
  check: (flaw, bytes) => {
    if (flaw === undefined) assert.ok(bytes.includes(digest), 'it says something else than was signed');
    else assert.ok(flaw.length > 10 && flaw.length < 300 && !/[\p{Cc}]/u.test(flaw), flaw);
  },
};
