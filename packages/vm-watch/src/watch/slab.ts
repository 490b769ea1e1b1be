const SLOTS = 1024;

/**
 * Hashes of all machines in few large arrays: `width` for each, 8 bytes apiece, without an object or a number of its own on the heap. A free slot is used again.
 */
export class HashSlab {
  readonly #width: number;
  readonly #blocks: BigUint64Array[] = [];
  readonly #free: number[] = [];
  #next = 0;

  constructor(width: number) {
    this.#width = width;
  }

  /** A slot in which everything is 0. */
  take(): number {
    const slot = this.#free.pop() ?? this.#next++;
    const block = Math.floor(slot / SLOTS);
    this.#blocks[block] ??= new BigUint64Array(SLOTS * this.#width);
    const from = (slot % SLOTS) * this.#width;
    this.#blocks[block]?.fill(0n, from, from + this.#width);
    return slot;
  }

  free(slot: number): void {
    this.#free.push(slot);
  }

  read(slot: number, index: number): bigint {
    return this.#blocks[Math.floor(slot / SLOTS)]?.[(slot % SLOTS) * this.#width + index] ?? 0n;
  }

  /** Sets a hash; whether it was another one. */
  replace(slot: number, index: number, hash: bigint): boolean {
    const block = this.#blocks[Math.floor(slot / SLOTS)];
    const at = (slot % SLOTS) * this.#width + index;
    if (block === undefined || block[at] === hash) return false;
    block[at] = hash;
    return true;
  }
}
