import type { Observer, Selector, WatchEvent } from './client.ts';
import { type Clock, systemClock } from './clock.ts';
import { ApiError, isExpired } from './errors.ts';
import type { KubeObject, Resource } from './resource.ts';

/** Where a reflector puts what it learns. Both calls are synchronous and must not throw. */
export interface ReflectorSink<T extends KubeObject> {
  /** The complete collection; everything else is gone. */
  replace(items: readonly T[]): void;
  change(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void;
}

/** What to reflect, and how. */
export interface ReflectOptions<T extends KubeObject> {
  readonly client: Observer;
  readonly resource: Resource<T>;
  readonly where?: Selector | undefined;
  readonly sink: ReflectorSink<T>;
  /** Told of every failure; the reflector goes on by itself. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  /** 0 ≤ n < 1; tests pass their own. */
  readonly random?: (() => number) | undefined;
  readonly signal: AbortSignal;
}

/** Watches last between these (s), each a different time, so that thousands of them do not end together. */
const SHORTEST_WATCH = 300;
const LONGEST_WATCH = 600;

/** First and longest pause (ms) after a failure; it doubles in between. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 30_000;

/** A watch that ended sooner than this (ms) without an event is a failure, or a closing server would be hammered. */
const BRIEF = 1000;

/**
 * Keeps a sink equal to a collection until the signal ends; never rejects.
 *
 * ```
 *           ┌──────── 410 ────────┐
 *           ▼                     │
 *   LIST (pages, no version) ─► WATCH from the last version ─┐
 *                                 ▲                          │ end, 429, 500, reset, torn line
 *                                 └────── pause ◄────────────┘
 * ```
 *
 * Only a version that the server no longer knows leads back to the list; every other failure resumes where it stopped.
 */
export async function reflect<T extends KubeObject>(options: ReflectOptions<T>): Promise<void> {
  const { client, resource, where, sink, signal, onError } = options;
  const clock = options.clock ?? systemClock;
  const random = options.random ?? Math.random;
  let version: string | undefined;
  let failures = 0;

  async function list(): Promise<string> {
    const items: T[] = [];
    let listed = '';
    for await (const page of client.pages(resource, where, { signal })) {
      for (const item of page.items) items.push(item);
      listed = page.resourceVersion;
    }
    signal.throwIfAborted();
    sink.replace(items);
    return listed;
  }

  /** Reads one watch to its end; tells whether it was of use. */
  async function follow(from: string): Promise<boolean> {
    const timeoutSeconds = Math.round(SHORTEST_WATCH + random() * (LONGEST_WATCH - SHORTEST_WATCH));
    const started = clock.now();
    let events = 0;
    for await (const event of client.watch(resource, { resourceVersion: from, timeoutSeconds }, where, { signal })) {
      if (signal.aborted) return true;
      events += 1;
      failures = 0;
      take(event);
    }
    return events > 0 || clock.now() - started >= BRIEF;
  }

  function take(event: WatchEvent<T>): void {
    if (event.type === 'BOOKMARK') {
      version = event.resourceVersion;
      return;
    }
    sink.change(event.type, event.object);
    // After the sink has it: a version beyond an event that was not taken would lose it.
    version = event.object.metadata.resourceVersion ?? version;
  }

  while (!signal.aborted) {
    let pause = 0;
    try {
      version ??= await list();
      if (await follow(version)) failures = 0;
      else pause = nextPause(undefined);
    } catch (error) {
      if (signal.aborted) return;
      onError?.(error);
      if (isExpired(error)) version = undefined;
      pause = nextPause(error);
    }
    if (pause > 0) await clock.sleep(pause, { signal }).catch(() => undefined);
  }

  /** Half to all of a doubling span, but never less than the server asked for. */
  function nextPause(error: unknown): number {
    const span = Math.min(FIRST_PAUSE * 2 ** failures, LONGEST_PAUSE);
    failures = Math.min(failures + 1, 20);
    const asked = error instanceof ApiError ? (error.retryAfter ?? 0) : 0;
    return Math.max(asked, span / 2 + (random() * span) / 2);
  }
}
