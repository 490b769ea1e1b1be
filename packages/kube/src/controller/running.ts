import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { type Key, keyText } from '../resource.ts';

/** A reconcile that has not returned yet. */
export interface RunningReconcile {
  readonly key: Key;
  /** Since it began, in ms. */
  readonly age: number;
  /** Whether it is older than it should be. */
  readonly hangs: boolean;
}

/** A reconcile that runs longer than this (ms) is reported. */
export const HANGS_AFTER = 60_000;

/** Knows which reconciles run, and speaks up about those that do not return. */
export interface RunningReconciles extends Disposable {
  /** The result is to be called when the reconcile has returned, and tells how long that took (ms). */
  begin(key: Key, log: () => Logger): () => number;
  /** The oldest first. */
  list(): readonly RunningReconcile[];
}

interface Running {
  readonly key: Key;
  readonly since: number;
  readonly log: () => Logger;
  /** When it is spoken of next. */
  due: number;
}

/** Reports a reconcile after `limit` ms and then each time its age has doubled. */
export function runningReconciles(clock: Clock, limit: number): RunningReconciles {
  // A list: there are no more than workers, and a set that takes one and gives it back makes itself anew every few times.
  const running: Running[] = [];
  const end = new AbortController();
  let watching = false;

  // One sleeper for all of them, not one each: nearly every reconcile is over long before anybody would speak of it.
  async function watch(): Promise<void> {
    watching = true;
    while (running.length > 0) {
      const due = Math.min(...running.map((one) => one.due));
      await clock.sleep(due - clock.now(), { background: true, signal: end.signal });
      for (const one of running) if (one.due <= clock.now()) speakUp(one);
    }
    watching = false;
  }

  function speakUp(one: Running): void {
    const seconds = Math.round((clock.now() - one.since) / 1000);
    one.log().warn({ seconds }, `reconcile has not returned for ${seconds} s; what it waits for has no deadline`);
    one.due = one.since + 2 * (one.due - one.since);
  }

  return {
    [Symbol.dispose]: () => end.abort(),
    begin(key, log) {
      const since = clock.now();
      const one: Running = { key, since, due: since + limit, log };
      running.push(one);
      if (!watching) watch().catch(() => undefined);
      return () => {
        const at = running.indexOf(one);
        if (at >= 0) running.splice(at, 1);
        return clock.now() - since;
      };
    },
    list: () =>
      running
        .map(({ key, since }) => ({ key, age: clock.now() - since, hangs: clock.now() - since >= limit }))
        .sort((a, b) => b.age - a.age),
  };
}

/** `ns/a for 312 s, ns/b for 70 s`: at most five, for messages. */
export function runningText(running: readonly RunningReconcile[]): string {
  const named = running.slice(0, 5).map(({ key, age }) => `${keyText(key)} for ${Math.round(age / 1000)} s`);
  return running.length > 5 ? `${named.join(', ')} and ${running.length - 5} more` : named.join(', ');
}
