import { deflateSync } from 'node:zlib';
import { createMessage, generateKey, readPrivateKey, sign } from 'openpgp';

/** Somebody who signs. */
export interface TestSigner {
  /** In armour. */
  readonly publicKey: string;
  readonly privateKey: string;
  readonly sign: (text: string, how?: { readonly compress?: boolean }) => Promise<Uint8Array>;
}

/** Makes a key of its own. */
export async function testSigner(name: string): Promise<TestSigner> {
  const { publicKey, privateKey } = await generateKey({ userIDs: [{ name }], type: 'ecc', format: 'armored' });
  const signingKeys = await readPrivateKey({ armoredKey: privateKey });
  return {
    ...{ publicKey, privateKey },
    sign: async (text, { compress = false } = {}) => {
      const message = await createMessage({ binary: Buffer.from(text) });
      const signed = await sign({ message, signingKeys, format: 'object' });
      if (!compress) return signed.write() as Uint8Array;
      return compressed(signed.write() as Uint8Array);
    },
  };
}

/** A signature of an image as containers/image makes it; `critical` changes what is signed. */
export function signedBy(
  signer: TestSigner,
  digest: string,
  { critical = {} }: { readonly critical?: object } = {},
): Promise<Uint8Array> {
  const text = {
    critical: {
      ...{ type: 'atomic container signature', image: { 'docker-manifest-digest': digest } },
      ...{ identity: { 'docker-reference': 'registry.test/release' }, ...critical },
    },
    optional: { creator: 'test' },
  };
  return signer.sign(JSON.stringify(text));
}

/** A packet of compressed data (RFC 9580, 5.6) with one message in it. */
function compressed(message: Uint8Array): Uint8Array {
  const body = Buffer.concat([Buffer.of(2), deflateSync(message, { level: 9 })]);
  const length = Buffer.alloc(5, 0xff);
  length.writeUInt32BE(body.length, 1);
  return Buffer.concat([Buffer.of(0xc8), length, body]);
}
