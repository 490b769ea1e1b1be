/** One line of the call log. Status is 0 while it runs, and for a call that got no answer. */
export interface CallEntry {
  readonly seq: number;
  readonly at: string;
  readonly method: string;
  readonly session?: string;
  status: number;
  rule?: string;
  ended: boolean;
}

/** One transfer. */
export interface UploadEntry {
  readonly id: string;
  readonly lease: string;
  readonly file: string;
  readonly method: string;
  readonly at: string;
  readonly contentLength: number;
  bytes: number;
  state: 'running' | 'held' | 'done' | 'failed' | 'dropped';
  rule?: string;
}

/** Bounds the logs; totals are never cut. */
const LINES = 20_000;

/** The most recent entries of something. */
export class BoundedLog<T extends { readonly seq: number }> {
  #entries: T[] = [];
  #seq = 0;

  /** Numbers an entry and keeps it. */
  add(make: (seq: number) => T): T {
    this.#seq += 1;
    const entry = make(this.#seq);
    if (this.#entries.length >= LINES) this.#entries = this.#entries.slice(LINES / 2);
    this.#entries.push(entry);
    return entry;
  }

  since(seq: number): readonly T[] {
    return this.#entries.filter((entry) => entry.seq > seq);
  }

  reset(): void {
    this.#entries = [];
  }
}

/** Calls in order, and how often each method was called. */
export class CallLog {
  readonly #log = new BoundedLog<CallEntry>();
  #totals = new Map<string, number>();

  begin(method: string, session: string | undefined): CallEntry {
    this.#totals.set(method, (this.#totals.get(method) ?? 0) + 1);
    return this.#log.add((seq) => ({
      ...{ seq, at: new Date().toISOString(), method, status: 0, ended: false },
      ...(session === undefined ? {} : { session }),
    }));
  }

  since(seq: number): readonly CallEntry[] {
    return this.#log.since(seq);
  }

  totals(): { readonly total: number; readonly methods: Readonly<Record<string, number>> } {
    let total = 0;
    for (const count of this.#totals.values()) total += count;
    return { total, methods: Object.fromEntries(this.#totals) };
  }

  reset(): void {
    this.#totals = new Map();
    this.#log.reset();
  }
}

/** Ends an entry with the status that was sent; 0: nothing was. */
export function endEntry(entry: CallEntry, status: number): void {
  entry.status = status;
  entry.ended = true;
}
