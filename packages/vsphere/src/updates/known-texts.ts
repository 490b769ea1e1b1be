const SLOTS = 1024;

/** Short texts that come again and again, made into strings once. Of two that meet in one slot the later one stays. */
export class KnownTexts {
  readonly #bytes: (Uint8Array | undefined)[] = new Array<undefined>(SLOTS).fill(undefined);
  readonly #texts: string[] = new Array<string>(SLOTS).fill('');

  of(bytes: Buffer, from: number, to: number): string {
    let hash = to - from;
    for (let at = from; at < to; at += 1) hash = (Math.imul(hash, 31) + (bytes[at] ?? 0)) | 0;
    const slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
    const known = this.#bytes[slot];
    if (known !== undefined && isSame(known, bytes, from, to)) return this.#texts[slot] ?? '';
    const text = bytes.toString('utf8', from, to);
    if (to - from <= 64) {
      this.#bytes[slot] = Uint8Array.prototype.slice.call(bytes, from, to);
      this.#texts[slot] = text;
    }
    return text;
  }
}

function isSame(known: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (known.length !== to - from) return false;
  for (let at = 0; at < known.length; at += 1) if (known[at] !== bytes[from + at]) return false;
  return true;
}
