/**
 * Sum of the hashes of ranges of one value: 64 bits, as two sums of 32. Each range is hashed by MurmurHash3's 32-bit rounds under two seeds, without an
 * object or a big number per range: a list has dozens of items, and there are as many lists as machines.
 */
export class RangeHash {
  readonly #view: DataView;
  #low = 0;
  #high = 0;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get value(): bigint {
    return (BigInt(this.#high >>> 0) << 32n) | BigInt(this.#low >>> 0);
  }

  add(from: number, to: number): void {
    const view = this.#view;
    let low = 0x9747b28c | 0;
    let high = 0x2f0b4c47 | 0;
    let at = from;
    for (; at + 4 <= to; at += 4) {
      const word = view.getInt32(at, true);
      low = round(low, word);
      high = round(high, word ^ 0x5bd1e995);
    }
    let rest = 0;
    for (; at < to; at += 1) rest = (rest << 8) | view.getUint8(at);
    this.#low = (this.#low + finish(round(low, rest), to - from)) | 0;
    this.#high = (this.#high + finish(round(high, rest ^ 0x5bd1e995), to - from)) | 0;
  }
}

function round(hash: number, word: number): number {
  const mixed = Math.imul(word, 0xcc9e2d51);
  const turned = hash ^ Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
  return (Math.imul((turned << 13) | (turned >>> 19), 5) + 0xe6546b64) | 0;
}

function finish(hash: number, length: number): number {
  let mixed = hash ^ length;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
