import type { Logger } from 'pino';
import type { Clock } from './clock.ts';
import { type Key, keyText } from './resource.ts';

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
export interface RunningReconciles {
  /** Dispose the result when the reconcile has returned. */
  begin(key: Key, log: Logger): Disposable;
  /** The oldest first. */
  list(): readonly RunningReconcile[];
}

/** Reports a reconcile after `limit` ms and then each time its age has doubled. */
export function runningReconciles(clock: Clock, limit: number): RunningReconciles {
  const running = new Map<symbol, { readonly key: Key; readonly since: number }>();

  async function speakUp(since: number, log: Logger, over: AbortSignal): Promise<void> {
    for (let next = limit; ; next *= 2) {
      await clock.sleep(since + next - clock.now(), { background: true, signal: over });
      const seconds = Math.round((clock.now() - since) / 1000);
      log.warn({ seconds }, `reconcile has not returned for ${seconds} s; what it waits for has no deadline`);
    }
  }

  return {
    begin(key, log) {
      const id = Symbol(keyText(key));
      const since = clock.now();
      const over = new AbortController();
      running.set(id, { key, since });
      speakUp(since, log, over.signal).catch(() => undefined);
      return {
        [Symbol.dispose]: () => {
          running.delete(id);
          over.abort();
        },
      };
    },
    list: () =>
      [...running.values()]
        .map(({ key, since }) => ({ key, age: clock.now() - since, hangs: clock.now() - since >= limit }))
        .sort((a, b) => b.age - a.age),
  };
}

/** `ns/a for 312 s, ns/b for 70 s`: at most five, for messages. */
export function runningText(running: readonly RunningReconcile[]): string {
  const named = running.slice(0, 5).map(({ key, age }) => `${keyText(key)} for ${Math.round(age / 1000)} s`);
  return running.length > 5 ? `${named.join(', ')} and ${running.length - 5} more` : named.join(', ');
}
