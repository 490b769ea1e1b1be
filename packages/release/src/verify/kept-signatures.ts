import { type ConfigMap, readJson } from '@drydock/api';
import type { ConfigMapStore } from '@drydock/kube';
import { MAX_SIGNATURE } from './key-rings.ts';
import { hexOf, MAX_SIGNATURES, type SignatureStore } from './signature-stores.ts';

/** Of so many images proofs are kept; a history is no longer. */
const MAX_KEPT = 200;

/** Signatures that were verified once, kept in the cluster, so that going back needs no network. They are verified again each time: who can write there gains nothing. */
export interface KeptSignatures extends SignatureStore {
  /** Keeps what proved a digest. Of images that `needed` does not name the proofs go when there are too many. Rejects with `ApiError`. */
  readonly keep: (digest: string, proof: readonly Uint8Array[], needed: ReadonlySet<string>) => Promise<void>;
}

/** What is kept in `store`, by digest. */
export function keptSignatures(store: ConfigMapStore, name: string): KeptSignatures {
  return {
    name,
    async *signatures(digest) {
      yield* decoded((await store.read()).get(`sha256-${hexOf(digest)}`));
    },
    keep: async (digest, proof, needed) => {
      const key = `sha256-${hexOf(digest)}`;
      const text = JSON.stringify(proof.map((one) => Buffer.from(one).toString('base64')));
      const kept = await store.read();
      if (kept.get(key) === text) return;
      const others = [...kept.keys()].filter((one) => one !== key && !needed.has(one.replace('sha256-', 'sha256:')));
      const surplus = others.slice(0, Math.max(0, kept.size + 1 - MAX_KEPT));
      await Promise.all([...surplus.map((one) => store.change(one, () => undefined)), store.change(key, () => text)]);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Signatures in ConfigMaps as upstream keeps them: `binaryData`, `sha256-HEX-1` and so on. */
export function configMapSignatures(
  name: string,
  list: (signal: AbortSignal) => AsyncIterable<ConfigMap>,
): SignatureStore {
  return {
    name,
    async *signatures(digest, signal) {
      const prefix = `sha256-${hexOf(digest)}-`;
      let seen = 0;
      for await (const { binaryData = {} } of list(signal)) {
        for (const [key, text] of Object.entries(binaryData)) {
          if (!key.startsWith(prefix) || text.length > 2 * MAX_SIGNATURE) continue;
          if (seen === MAX_SIGNATURES) return;
          seen += 1;
          yield Buffer.from(text, 'base64');
        }
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function* decoded(text: string | undefined): Iterable<Uint8Array> {
  if (text === undefined || text.length > 2 * MAX_SIGNATURE * MAX_SIGNATURES) return;
  let value: unknown;
  try {
    value = readJson(text);
  } catch {
    return;
  }
  for (const one of Array.isArray(value) ? value.slice(0, MAX_SIGNATURES) : [])
    if (typeof one === 'string') yield Buffer.from(one, 'base64');
}
