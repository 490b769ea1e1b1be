/** A key that is ready or with a worker. */
export interface Entry<K> {
  readonly id: string;
  readonly key: K;
  priority: number;
  /** Smaller is older. */
  order: number;
  /** Since when it is what it is: ready, or with a worker. */
  since: number;
  taken: boolean;
  /** The priority of the next run, where it was added while a worker had it. */
  again: number | undefined;
  previous: Entry<K> | undefined;
  next: Entry<K> | undefined;
}

/** The ready keys of one priority, the oldest first. A linked list: a key whose priority rises leaves from the middle. */
export class Lane<K> {
  first: Entry<K> | undefined;
  #last: Entry<K> | undefined;

  /** The entry must be in no lane. */
  push(entry: Entry<K>): void {
    entry.previous = this.#last;
    if (this.#last === undefined) this.first = entry;
    else this.#last.next = entry;
    this.#last = entry;
  }

  /** The entry must be in this lane. */
  remove(entry: Entry<K>): void {
    if (entry.previous === undefined) this.first = entry.next;
    else entry.previous.next = entry.next;
    if (entry.next === undefined) this.#last = entry.previous;
    else entry.next.previous = entry.previous;
    entry.previous = undefined;
    entry.next = undefined;
  }
}
