import { type Json, jsonText } from '@drydock/crd';
import type { Manifest } from './manifest.ts';

/** Offset basis and prime of 64-bit FNV, in halves: a BigInt for each byte of 60 MB would take seconds. The prime is 2^40 + 435. */
const [OFFSET_HIGH, OFFSET_LOW, PRIME_LOW] = [0xcbf29ce4, 0x84222325, 435];

/** Identifies what a release brings: 64-bit FNV-1 over the JSON of its manifests in their order, as base64 for URLs. The same version with other content has another one. */
export function versionHash(manifests: readonly Manifest[]): string {
  let [high, low] = [OFFSET_HIGH, OFFSET_LOW];
  for (const { object } of manifests) {
    const bytes = Buffer.from(goJson(object));
    for (let at = 0; at < bytes.length; at += 1) {
      const product = low * PRIME_LOW;
      high = (high * PRIME_LOW + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0;
      low = ((product >>> 0) ^ (bytes[at] as number)) >>> 0;
    }
  }
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(high, 0);
  bytes.writeUInt32BE(low, 4);
  return `${bytes.toString('base64url')}=`;
}

/** JSON as Go's encoding/json writes it: sorted names, and what could be read as HTML escaped. */
function goJson(value: Json): string {
  return jsonText(sorted(value)).replace(
    /[<>&\u2028\u2029]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function sorted(value: Json): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const names = Object.keys(value);
  // Only beyond ASCII can the order of UTF-16 be another one than that of bytes.
  if (names.every((name) => /^[\0-\x7f]*$/.test(name))) names.sort();
  else names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return Object.fromEntries(
    names.map((name) => [name, sorted((value as { readonly [key: string]: Json })[name] as Json)]),
  );
}
