import { type Clock, systemClock } from '../clock.ts';
import { DueList } from './due.ts';
import { type Entry, Lane } from './lane.ts';
import { type Rate, type TokenBucket, tokenBucket } from './token-bucket.ts';

/** Priority of what the initial list and resyncs bring: it yields to what changes now. Default priority is 0; higher goes first. */
export const LOW_PRIORITY = -100;

/** How `add` adds. */
export interface AddOptions {
  /** Milliseconds until the key becomes ready. Absent or 0: now. */
  readonly after?: number;
  /** Higher goes first; 0 when absent. A key that is added twice keeps the higher one. */
  readonly priority?: number;
}

/** What a queue tells its observer; durations in ms. All optional. */
export interface QueueObserver {
  added?(): void;
  retried?(): void;
  taken?(waited: number): void;
  done?(worked: number): void;
}

/** How a queue is made. */
export interface QueueOptions<K> {
  /** Text that identifies a key. */
  readonly id: (key: K) => string;
  /** First back-off of a key in ms (default 5); doubles with each `retry`. */
  readonly baseDelay?: number;
  /** Longest back-off of a key in ms (default 1,000,000). */
  readonly maxDelay?: number;
  /** How often `retry` makes any key ready, over all keys (default 10 per second after 100 at once): an outage must not become a storm. */
  readonly retryRate?: Rate;
  /** After this many takes in a row that passed over lower priorities, the longest waiting key goes next (default 8). */
  readonly fairness?: number;
  readonly clock?: Clock;
  readonly observer?: QueueObserver;
}

/**
 * Keys that need work. A key is in at most one place: waiting for its time, ready, or with a worker.
 *
 * - Adding a ready key changes nothing (its priority may rise); adding one that waits for a later time makes it ready sooner.
 * - Adding a key that a worker has marks it: it becomes ready again at `done`. Two workers never have the same key.
 * - Within a priority first come, first served; no key starves behind higher priorities.
 */
export interface WorkQueue<K> extends Disposable {
  add(key: K, options?: AddOptions): void;
  /**
   * Adds with the key's back-off, which doubles until `forget`, and not before the rate of the whole queue allows it; `atLeast` (ms) is what a
   * server asked for.
   */
  retry(key: K, options?: { readonly priority?: number; readonly atLeast?: number }): void;
  /** Ends the key's back-off. */
  forget(key: K): void;
  /** How many times `retry` was called since `forget`. */
  failures(key: K): number;
  /** The next ready key, which the caller must give back with `done`; undefined once the signal or the queue ended. */
  take(signal: AbortSignal): Promise<K | undefined>;
  done(key: K): void;
  /** Keys that are ready. */
  readonly depth: number;
  /** Keys that wait for their time. */
  readonly waiting: number;
  /** For each key that a worker has: since how many ms. */
  working(): readonly number[];
}

/** A work queue. Disposing it ends its timer and every `take`. */
export function workQueue<K>(options: QueueOptions<K>): WorkQueue<K> {
  return new Queue(options);
}

class Queue<K> implements WorkQueue<K> {
  readonly #id: (key: K) => string;
  readonly #base: number;
  readonly #max: number;
  readonly #fairness: number;
  readonly #bucket: TokenBucket;
  readonly #clock: Clock;
  readonly #observer: QueueObserver;
  /** By priority. An empty one stays: there are few priorities, and the next key has one of them. */
  readonly #lanes = new Map<number, Lane<K>>();
  readonly #entries = new Map<string, Entry<K>>();
  /** How many of the entries are with a worker. */
  #taken = 0;
  readonly #due = new DueList<K>();
  readonly #failures = new Map<string, number>();
  /** Those who wait for a change, the longest first. */
  #takers: (() => void)[] = [];
  readonly #heard = new WeakSet<AbortSignal>();
  readonly #end = new AbortController();
  #order = 0;
  #passedOver = 0;
  #alarm: { readonly at: number; readonly stop: AbortController } | undefined;

  constructor(options: QueueOptions<K>) {
    this.#id = options.id;
    this.#base = options.baseDelay ?? 5;
    this.#max = options.maxDelay ?? 1_000_000;
    this.#fairness = options.fairness ?? 8;
    this.#bucket = tokenBucket(options.retryRate ?? { perSecond: 10, burst: 100 });
    this.#clock = options.clock ?? systemClock;
    this.#observer = options.observer ?? {};
  }

  get depth(): number {
    return this.#entries.size - this.#taken;
  }

  get waiting(): number {
    return this.#due.size;
  }

  add(key: K, options: AddOptions = {}): void {
    if (this.#end.signal.aborted) return;
    this.#observer.added?.();
    const id = this.#id(key);
    const priority = options.priority ?? 0;
    if (options.after === undefined || options.after <= 0) this.#ready(id, key, priority);
    else this.#wait(id, key, priority, this.#clock.now() + options.after);
  }

  retry(key: K, options: { readonly priority?: number; readonly atLeast?: number } = {}): void {
    const id = this.#id(key);
    const failures = this.#failures.get(id) ?? 0;
    this.#failures.set(id, failures + 1);
    this.#observer.retried?.();
    // 2 ** 1024 is Infinity, and min() makes that the cap: no overflow to guard against.
    const backOff = Math.min(this.#max, this.#base * 2 ** failures);
    const turn = this.#bucket.reserve(this.#clock.now());
    this.add(key, { priority: options.priority ?? 0, after: Math.max(backOff, turn, options.atLeast ?? 0) });
  }

  forget(key: K): void {
    if (this.#failures.size > 0) this.#failures.delete(this.#id(key));
  }

  failures(key: K): number {
    return this.#failures.get(this.#id(key)) ?? 0;
  }

  async take(signal: AbortSignal): Promise<K | undefined> {
    for (;;) {
      // Whoever was woken for a ready key may have ended since: the end of its signal woke all others, too.
      if (this.#end.signal.aborted || signal.aborted) return undefined;
      const next = this.#next();
      if (next !== undefined) return next;
      await this.#change(signal);
    }
  }

  done(key: K): void {
    const id = this.#id(key);
    const entry = this.#entries.get(id);
    if (entry?.taken !== true) return;
    this.#entries.delete(id);
    this.#taken -= 1;
    this.#observer.done?.(this.#clock.now() - entry.since);
    if (entry.again !== undefined) this.#ready(id, key, entry.again);
  }

  working(): readonly number[] {
    const now = this.#clock.now();
    return Array.from(this.#entries.values())
      .filter(({ taken }) => taken)
      .map(({ since }) => now - since);
  }

  [Symbol.dispose](): void {
    this.#end.abort();
    this.#alarm?.stop.abort();
    this.#wakeAll();
  }

  #ready(id: string, key: K, wanted: number): void {
    if (this.#end.signal.aborted) return;
    // A run that is due now serves the one that was due later: reconciles are level-triggered.
    const delayed = this.#due.delete(id);
    const priority = Math.max(wanted, delayed?.priority ?? wanted);
    const known = this.#entries.get(id);
    if (known === undefined) {
      const since = this.#clock.now();
      const fresh = { taken: false, again: undefined, previous: undefined, next: undefined };
      this.#enter({ id, key, priority, order: 0, since, ...fresh });
    } else if (known.taken) known.again = Math.max(priority, known.again ?? priority);
    else if (known.priority < priority) {
      this.#lanes.get(known.priority)?.remove(known);
      known.priority = priority;
      this.#enter(known);
    }
  }

  #enter(entry: Entry<K>): void {
    entry.order = this.#order++;
    this.#entries.set(entry.id, entry);
    const lane = this.#lanes.get(entry.priority) ?? new Lane<K>();
    this.#lanes.set(entry.priority, lane);
    lane.push(entry);
    this.#wakeOne();
  }

  #wakeOne(): void {
    this.#takers.shift()?.();
  }

  #wakeAll(): void {
    const takers = this.#takers;
    this.#takers = [];
    for (const wake of takers) wake();
  }

  #wait(id: string, key: K, priority: number, at: number): void {
    if (this.#entries.get(id)?.taken === false) return;
    const known = this.#due.get(id);
    if (known !== undefined && known.at <= at && known.priority >= priority) return;
    this.#due.set({
      id,
      key,
      at: Math.min(at, known?.at ?? at),
      priority: Math.max(priority, known?.priority ?? priority),
    });
    this.#setAlarm();
  }

  #next(): K | undefined {
    let highest: Entry<K> | undefined;
    let oldest: Entry<K> | undefined;
    let lanes = 0;
    for (const { first } of this.#lanes.values()) {
      if (first === undefined) continue;
      lanes += 1;
      if (highest === undefined || first.priority > highest.priority) highest = first;
      if (oldest === undefined || first.order < oldest.order) oldest = first;
    }
    if (highest === undefined || oldest === undefined) return undefined;
    this.#passedOver = lanes === 1 ? 0 : this.#passedOver + 1;
    const fair = this.#passedOver >= this.#fairness;
    if (fair) this.#passedOver = 0;
    const entry = fair ? oldest : highest;
    this.#lanes.get(entry.priority)?.remove(entry);
    const now = this.#clock.now();
    this.#observer.taken?.(now - entry.since);
    entry.taken = true;
    entry.since = now;
    this.#taken += 1;
    return entry.key;
  }

  #change(signal: AbortSignal): Promise<void> {
    if (!this.#heard.has(signal)) {
      this.#heard.add(signal);
      // Once for all takes with this signal. Each of them looks at its own when it is woken.
      signal.addEventListener('abort', () => this.#wakeAll(), { once: true, signal: this.#end.signal });
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#takers.push(resolve);
    return promise;
  }

  #setAlarm(): void {
    const next = this.#due.peek();
    if (next === undefined || (this.#alarm !== undefined && this.#alarm.at <= next.at)) return;
    this.#alarm?.stop.abort();
    const stop = new AbortController();
    this.#alarm = { at: next.at, stop };
    this.#clock.sleep(next.at - this.#clock.now(), { signal: stop.signal }).then(
      () => this.#ring(stop),
      () => undefined,
    );
  }

  #ring(stop: AbortController): void {
    if (this.#alarm?.stop !== stop) return;
    this.#alarm = undefined;
    for (let due = this.#due.take(this.#clock.now()); due !== undefined; due = this.#due.take(this.#clock.now())) {
      this.#ready(due.id, due.key, due.priority);
    }
    this.#setAlarm();
  }
}
