import { randomBytes } from 'node:crypto';
import { oneLine } from '@drydock/api/text';
import { type Clock, systemClock } from '@drydock/kube';
import { changesOf, type PageChange } from '../state/changes.ts';
import type { PageState } from '../state/page-state.ts';
import type { PageWorld } from '../state/page-world.ts';
import { pageState } from '../state/state.ts';

/** What a reader of the page is sent. */
export type FeedMessage =
  | { readonly event: 'state'; readonly id: string; readonly data: PageState }
  | { readonly event: 'change'; readonly id: string; readonly data: PageChange }
  /** The cluster was read, and nothing has changed. */
  | { readonly event: 'seen'; readonly data: { readonly asOf: string } }
  /** The cluster could not be read: what is shown is as old as it says. */
  | { readonly event: 'trouble'; readonly data: { readonly text: string } };

/** What the page is fed from. */
export interface FeedOptions {
  /** Reads the cluster once. */
  readonly read: (signal: AbortSignal) => Promise<PageWorld>;
  /** Calls back when something may have changed, until it is disposed. */
  readonly triggers: (changed: () => void) => AsyncDisposable;
  readonly clock?: Clock;
  /** Told what could not be read, too. */
  readonly onError?: (error: unknown) => void;
}

/** The state of the page for all who look. Nothing is read while nobody does. */
export interface Feed extends AsyncDisposable {
  /** The state of now, or of less than a second ago. Rejects where the cluster cannot be read. */
  now(): Promise<PageState>;
  /** Sends what is known from `lastId` on, or everything, and then what changes. */
  subscribe(lastId: string | undefined, send: (message: FeedMessage) => void): Disposable;
}

/** The cluster is read at most once in so many ms, however much changes in it. */
const LEAST_MS = 1000;
/** That a leader has died, or that a pin has lapsed, nothing tells but time. */
const MOST_MS = 10_000;
/** Reading takes at most this part of the time, however large the cluster is. */
const SHARE = 4;
/** So many changes are kept for readers that come back. */
const KEPT = 64;

/** Makes a feed. The first reader starts it, the last one that leaves ends what it does. */
export function feed(options: FeedOptions): Feed {
  const { read, triggers, clock = systemClock, onError = () => undefined } = options;
  // Another process counts anew: readers that come from there get everything.
  const origin = randomBytes(6).toString('hex');
  const readers = new Set<(message: FeedMessage) => void>();
  const stop = new AbortController();
  let kept: { readonly id: string; readonly data: PageChange }[] = [];
  let state: PageState | undefined;
  let trouble: string | undefined;
  let sequence = 0;
  let reading: Promise<PageState> | undefined;
  let [begun, took] = [Number.NEGATIVE_INFINITY, 0];
  let watching: AsyncDisposable | undefined;
  let timer: { readonly at: number; readonly cancel: () => void } | undefined;
  const closing = new Set<Promise<void>>();

  const idOf = (number: number): string => `${origin}-${number}`;
  const tell = (message: FeedMessage): void => {
    for (const send of readers) send(message);
  };

  async function readNow(): Promise<PageState> {
    begun = clock.now();
    try {
      const next = pageState(await read(stop.signal));
      took = clock.now() - begun;
      trouble = undefined;
      take(next);
      return next;
    } catch (error) {
      took = clock.now() - begun;
      if (!stop.signal.aborted) {
        onError(error);
        trouble = oneLine(error instanceof Error ? error.message : String(error));
        tell({ event: 'trouble', data: { text: trouble } });
      }
      throw error;
    } finally {
      reading = undefined;
      if (readers.size > 0) plan(MOST_MS);
    }
  }

  function take(next: PageState): void {
    const before = state;
    state = next;
    const change = before === undefined ? undefined : changesOf(before, next);
    if (before === undefined) {
      tell({ event: 'state', id: idOf(sequence), data: next });
    } else if (change === undefined) {
      tell({ event: 'seen', data: { asOf: next.asOf } });
    } else {
      sequence += 1;
      const message = { id: idOf(sequence), data: change };
      kept = [...kept.slice(1 - KEPT), message];
      tell({ event: 'change', ...message });
    }
  }

  /** Once for all who want to know at one time. */
  function once(): Promise<PageState> {
    reading ??= readNow();
    return reading;
  }

  /** Reads within so many ms, but no sooner than allowed. */
  function plan(within: number): void {
    const earliest = begun + Math.max(LEAST_MS, took * SHARE);
    const at = Math.max(clock.now() + within, earliest);
    if (stop.signal.aborted || (timer !== undefined && timer.at <= at)) return;
    timer?.cancel();
    const waiting = new AbortController();
    timer = { at, cancel: () => waiting.abort() };
    const due = (): void => {
      timer = undefined;
      // What went wrong was told.
      if (readers.size > 0) once().catch(() => undefined);
    };
    const wait = { background: true, signal: waiting.signal };
    clock.sleep(Math.max(0, at - clock.now()), wait).then(due, () => undefined);
  }

  function changed(): void {
    // What is being read now may have been read before the change.
    if (reading === undefined) plan(0);
    else
      reading.then(
        () => plan(0),
        () => plan(0),
      );
  }

  /** Without readers nothing is read: what was so then is not shown as what is so now. */
  function forget(): void {
    state = undefined;
    kept = [];
    sequence += 1;
  }

  function leave(send: (message: FeedMessage) => void): void {
    readers.delete(send);
    if (readers.size > 0) return;
    timer?.cancel();
    timer = undefined;
    close();
  }

  function close(): void {
    if (watching === undefined) return;
    const closed = Promise.resolve(watching[Symbol.asyncDispose]()).finally(() => closing.delete(closed));
    closing.add(closed);
    watching = undefined;
  }

  return {
    now: async () => {
      if (state !== undefined && clock.now() - begun < LEAST_MS && reading === undefined && trouble === undefined)
        return state;
      return once();
    },
    subscribe: (lastId, send) => {
      if (readers.size === 0 && clock.now() - begun > MOST_MS) forget();
      const number = lastId?.startsWith(`${origin}-`) === true ? Number(lastId.slice(origin.length + 1)) : Number.NaN;
      const missed = kept.filter(({ id }) => Number(id.slice(origin.length + 1)) > number);
      const complete = sequence - number === missed.length;
      if (state !== undefined) {
        if (complete) {
          for (const message of missed) send({ event: 'change', ...message });
          send({ event: 'seen', data: { asOf: state.asOf } });
        } else send({ event: 'state', id: idOf(sequence), data: state });
      }
      if (trouble !== undefined) send({ event: 'trouble', data: { text: trouble } });
      readers.add(send);
      watching ??= triggers(changed);
      plan(0);
      return { [Symbol.dispose]: () => leave(send) };
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      readers.clear();
      timer?.cancel();
      close();
      await Promise.allSettled([...closing, reading]);
    },
  };
}
