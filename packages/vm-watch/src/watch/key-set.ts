/** A set of texts that is asked with bytes, so that nobody has to make a string of them. */
export class KeySet {
  /** By length, first and last byte: most texts that are asked for are none of these, and are told by that. */
  readonly #keys = new Map<number, readonly Uint8Array[]>();

  constructor(keys: Iterable<string>) {
    for (const key of keys) {
      const bytes = Buffer.from(key);
      const shape = shapeOf(bytes, 0, bytes.length);
      this.#keys.set(shape, [...(this.#keys.get(shape) ?? []), bytes]);
    }
  }

  has(bytes: Uint8Array, from: number, to: number): boolean {
    const found = this.#keys.get(shapeOf(bytes, from, to));
    if (found === undefined) return false;
    for (const key of found) if (isSame(key, bytes, from)) return true;
    return false;
  }
}

/** Their lengths are the same. */
function isSame(key: Uint8Array, bytes: Uint8Array, from: number): boolean {
  for (let at = 0; at < key.length; at += 1) if (key[at] !== bytes[from + at]) return false;
  return true;
}

function shapeOf(bytes: Uint8Array, from: number, to: number): number {
  return to > from ? ((to - from) << 16) | ((bytes[from] ?? 0) << 8) | (bytes[to - 1] ?? 0) : 0;
}
