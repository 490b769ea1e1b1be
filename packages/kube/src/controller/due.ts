/** One key that becomes ready at `at` (monotonic ms). */
export interface Due<K> {
  readonly id: string;
  readonly key: K;
  readonly at: number;
  readonly priority: number;
}

/**
 * Keys ordered by when they become ready: a binary heap with one entry per key. Replaced and removed entries stay in the
 * heap until they surface, so every operation is O(log n).
 */
export class DueList<K> {
  readonly #heap: Due<K>[] = [];
  readonly #current = new Map<string, Due<K>>();

  /** How many keys wait. */
  get size(): number {
    return this.#current.size;
  }

  get(id: string): Due<K> | undefined {
    return this.#current.get(id);
  }

  /** Replaces what was known of this key. */
  set(due: Due<K>): void {
    this.#current.set(due.id, due);
    this.#heap.push(due);
    this.#up(this.#heap.length - 1);
  }

  delete(id: string): Due<K> | undefined {
    if (this.#current.size === 0) return undefined;
    const due = this.#current.get(id);
    this.#current.delete(id);
    if (this.#current.size === 0) this.#heap.length = 0;
    return due;
  }

  /** The earliest entry, left in place. */
  peek(): Due<K> | undefined {
    for (let top = this.#heap[0]; top !== undefined; top = this.#heap[0]) {
      if (this.#current.get(top.id) === top) return top;
      this.#pop();
    }
    return undefined;
  }

  /** Takes the earliest entry if it is ready at `now`. */
  take(now: number): Due<K> | undefined {
    const top = this.peek();
    if (top === undefined || top.at > now) return undefined;
    this.#pop();
    this.#current.delete(top.id);
    return top;
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#down(0);
  }

  #at(index: number): number {
    return this.#heap[index]?.at ?? Number.POSITIVE_INFINITY;
  }

  #swap(a: number, b: number): void {
    const [x, y] = [this.#heap[a], this.#heap[b]];
    if (x === undefined || y === undefined) return;
    this.#heap[a] = y;
    this.#heap[b] = x;
  }

  #up(start: number): void {
    for (let child = start; child > 0; ) {
      const parent = (child - 1) >> 1;
      if (this.#at(parent) <= this.#at(child)) return;
      this.#swap(parent, child);
      child = parent;
    }
  }

  #down(start: number): void {
    for (let parent = start; ; ) {
      const left = 2 * parent + 1;
      const child = this.#at(left + 1) < this.#at(left) ? left + 1 : left;
      if (this.#at(parent) <= this.#at(child)) return;
      this.#swap(parent, child);
      parent = child;
    }
  }
}
