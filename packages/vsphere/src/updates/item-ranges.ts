/**
 * Where the child elements of a value lie in its bytes, as a scan met them: whoever reads a list need not look for its items again. `plain`: there is nothing in the value but elements and the
 * space between them; otherwise only a real parser should judge, and the ranges mean nothing.
 */
export class ItemRanges {
  plain = true;
  count = 0;
  /** Begin, end and begin of the content of each. */
  #bounds = new Int32Array(3 * 256);

  clear(): void {
    this.plain = true;
    this.count = 0;
  }

  add(from: number, to: number, content: number): void {
    const at = 3 * this.count;
    if (at === this.#bounds.length) {
      const larger = new Int32Array(2 * at);
      larger.set(this.#bounds);
      this.#bounds = larger;
    }
    this.#bounds[at] = from;
    this.#bounds[at + 1] = to;
    this.#bounds[at + 2] = content;
    this.count += 1;
  }

  /** Calls back with begin, end and begin of the content of each, until it is told to stop by `false`; answers `false` then, and where the value is not plain. */
  each(item: (from: number, to: number, content: number) => boolean): boolean {
    if (!this.plain) return false;
    const bounds = this.#bounds;
    for (let at = 0; at < 3 * this.count; at += 3)
      if (!item(bounds[at] as number, bounds[at + 1] as number, bounds[at + 2] as number)) return false;
    return true;
  }
}
