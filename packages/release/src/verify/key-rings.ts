import type { Key, Message } from 'openpgp';
import { ReleaseError } from '../errors.ts';
import { signatureFlaw } from './release-signature.ts';

/** Keys of which one must have signed. */
export interface KeyRing {
  readonly name: string;
  /** Why a signature is none of this ring about this digest; undefined where it is. Never rejects for what a stranger wrote. */
  readonly flaw: (signature: Uint8Array, digest: string) => Promise<string | undefined>;
}

/** Characters of a key ring: real ones have 10,000. */
export const MAX_RING: number = 256 << 10;
/** Keys of a ring. */
const MAX_KEYS = 32;
/** Bytes of a signature: real ones have 1,500. */
export const MAX_SIGNATURE: number = 16 << 10;
/** Signatures within one message. */
const MAX_SIGNERS = 8;

const BEGIN = '-----BEGIN PGP ';
const END = '-----END PGP ';

/** Reads public keys in armour, one block or several. Throws `ReleaseError` without a word of the text. */
export async function readKeyRing(name: string, armoured: string): Promise<KeyRing> {
  const bad = (why: string, cause?: unknown): never => {
    throw new ReleaseError('BAD_KEY_RING', `The key ring ${name} cannot be used: ${why}`, cause);
  };
  if (armoured.length > MAX_RING) return bad(`it has more than ${MAX_RING} characters`);
  const { enums, readKeys, readMessage, verify } = await import('openpgp');
  const blocks = blocksIn(armoured);
  if (blocks.length === 0) return bad('it has no public key in armour');
  if (blocks.length > MAX_KEYS) return bad(`it has more than ${MAX_KEYS} keys`);
  const keys: Key[] = [];
  for (const block of blocks) {
    try {
      keys.push(...(await readKeys({ armoredKeys: block })));
    } catch (error) {
      return bad('it holds something that is no key', error);
    }
  }
  if (keys.some((key) => key.isPrivate())) return bad('it holds a secret key, which nobody but its owner should have');
  if (keys.length === 0 || keys.length > MAX_KEYS) return bad(`it does not have between 1 and ${MAX_KEYS} keys`);

  const read = async (signature: Uint8Array): Promise<Message<Uint8Array> | undefined> => {
    try {
      const binaryMessage = new Uint8Array(signature);
      const message = await readMessage({ binaryMessage, config: { maxDecompressedMessageSize: 4 * MAX_SIGNATURE } });
      const inside = message.unwrapCompressed();
      return inside.packets.filterByTag(enums.packet.signature).length > MAX_SIGNERS ? undefined : inside;
    } catch {
      return undefined;
    }
  };
  return {
    name,
    flaw: async (signature, digest) => {
      if (signature.length > MAX_SIGNATURE) return `it has more than ${MAX_SIGNATURE} bytes`;
      const message = await read(signature);
      if (message === undefined) return 'it is no signed message of OpenPGP';
      try {
        const { data, signatures } = await verify({ message, verificationKeys: keys, format: 'binary' });
        const outcomes = await Promise.allSettled(signatures.map(({ verified }) => verified));
        if (!outcomes.some(({ status }) => status === 'fulfilled'))
          return `none of its signers is valid in the key ring ${name}`;
        return signatureFlaw(new TextDecoder().decode(data), digest);
      } catch {
        return 'it cannot be verified';
      }
    },
  };
}

/** Blocks in armour, in one pass: without an end nothing after the beginning counts. */
function blocksIn(text: string): readonly string[] {
  const blocks: string[] = [];
  for (let at = text.indexOf(BEGIN); at >= 0; ) {
    const end = text.indexOf(END, at);
    const close = end < 0 ? -1 : text.indexOf('-----', end + END.length);
    if (close < 0) return blocks;
    blocks.push(text.slice(at, close + '-----'.length));
    at = text.indexOf(BEGIN, close);
  }
  return blocks;
}
