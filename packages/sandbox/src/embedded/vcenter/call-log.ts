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
export const MOST_ENTRIES = 20_000;

/** The most recent entries of something. */
export class BoundedLog<T> {
  readonly #forgotten: (entries: readonly T[]) => void;
  #entries: T[] = [];
  #seq = 0;

  /** `forgotten` hears of the entries that make room for others. */
  constructor(forgotten: (entries: readonly T[]) => void = () => undefined) {
    this.#forgotten = forgotten;
  }

  /** Numbers an entry and keeps it. */
  add(make: (seq: number) => T): T {
    this.#seq += 1;
    const entry = make(this.#seq);
    if (this.#entries.length >= MOST_ENTRIES) this.#forgotten(this.#entries.splice(0, MOST_ENTRIES / 2));
    this.#entries.push(entry);
    return entry;
  }

  /** Entries with a greater number. */
  since(seq: number): readonly T[] {
    const before = this.#seq - this.#entries.length;
    return this.#entries.slice(Math.max(seq - before, 0));
  }

  reset(): void {
    this.#entries = [];
  }
}

/** Transfers in order, and how much they brought. */
export class UploadLog {
  readonly #log = new BoundedLog<UploadEntry>((entries) => {
    this.#count += entries.length;
    this.#bytes += bytesOf(entries);
  });
  /** What forgotten uploads add to the totals. */
  #count = 0;
  #bytes = 0;

  begin(upload: Pick<UploadEntry, 'lease' | 'file' | 'method' | 'contentLength'>): UploadEntry {
    const at = new Date().toISOString();
    return this.#log.add((seq) => ({ id: String(seq), ...upload, at, bytes: 0, state: 'running' }));
  }

  totals(): { readonly count: number; readonly bytes: number; readonly uploads: readonly UploadEntry[] } {
    const uploads = this.#log.since(0);
    return { count: this.#count + uploads.length, bytes: this.#bytes + bytesOf(uploads), uploads };
  }

  reset(): void {
    this.#count = 0;
    this.#bytes = 0;
    this.#log.reset();
  }
}

const bytesOf = (uploads: readonly UploadEntry[]): number => uploads.reduce((sum, { bytes }) => sum + bytes, 0);

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
