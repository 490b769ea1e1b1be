import type { KeyRing } from './key-rings.ts';
import { MAX_SIGNATURES, type SignatureStore } from './signature-stores.ts';

/** Whether an image was signed by those who must have. */
export type Verification =
  | {
      readonly verified: true /** One for each key ring at most: what proves it, to be kept. */;
      readonly proof: readonly Uint8Array[];
    }
  | { readonly verified: false /** A clause, without a word of what the stores said. */; readonly why: string };

/**
 * Looks for a signature of every key ring in one store after the other, and stops as soon as each has one. A store that does not answer is passed over, as is a signature that is
 * none: a stranger's beside the right one changes nothing. Rejects only with the signal's reason.
 */
export async function verifyDigest(
  digest: string,
  {
    rings,
    stores,
    signal,
  }: { readonly rings: readonly KeyRing[]; readonly stores: readonly SignatureStore[]; readonly signal: AbortSignal },
): Promise<Verification> {
  if (rings.length === 0) return { verified: false, why: 'there is no key ring to verify it by' };
  const proofs = new Map<KeyRing, Uint8Array>();
  const problems = new Set<string>();
  let seen = 0;
  for (const store of stores) {
    let here = 0;
    try {
      for await (const signature of store.signatures(digest, signal)) {
        here += 1;
        for (const ring of rings) {
          if (proofs.has(ring)) continue;
          const flaw = await ring.flaw(signature, digest);
          if (flaw === undefined) proofs.set(ring, signature);
          else problems.add(`${store.name}: ${flaw}`);
        }
        if (proofs.size === rings.length) return { verified: true, proof: [...new Set(proofs.values())] };
        if (here === MAX_SIGNATURES) break;
      }
    } catch (error) {
      signal.throwIfAborted();
      problems.add((error as Error).message);
    }
    seen += here;
  }
  const missing = rings.filter((ring) => !proofs.has(ring)).map(({ name }) => name);
  const looked =
    seen === 0
      ? `${stores.length === 0 ? 'there is no store of signatures' : 'no store has one'}`
      : `of ${seen} signatures none is valid`;
  const why = [...problems].slice(0, 4).join('; ');
  return {
    verified: false,
    why: `for the key ${missing.length === 1 ? 'ring' : 'rings'} ${missing.join(', ')} ${looked}${why === '' ? '' : ` (${why})`}`,
  };
}
