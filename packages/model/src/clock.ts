/** A clock that stands still until it is moved. */
export interface VirtualClock {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Resolves when the clock has been moved far enough; rejects when the signal ends. */
  sleep(ms: number, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** Moves the clock and wakes whoever is due, the earliest first. */
  advance(ms: number): void;
  /** Moves the clock to the next sleeper; false when nobody sleeps. */
  advanceToNext(): boolean;
}

/** A virtual clock. With `auto` nobody ever sleeps: time jumps instead, which suits one actor alone. */
export function virtualClock(options: { readonly start?: number; readonly auto?: boolean } = {}): VirtualClock {
  let now = options.start ?? Date.UTC(2026, 0, 1);
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();

  const advanceTo = (at: number): void => {
    now = Math.max(now, at);
    for (const sleeper of [...sleepers].toSorted((a, b) => a.at - b.at)) {
      if (sleeper.at > now) continue;
      sleepers.delete(sleeper);
      sleeper.wake();
    }
  };

  return {
    now: () => now,
    sleep: (ms, { signal } = {}) => {
      if (signal?.aborted === true) return Promise.reject(signal.reason);
      if (options.auto === true) {
        now += ms;
        return Promise.resolve();
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const sleeper = { at: now + ms, wake: resolve };
      const stop = (): void => {
        sleepers.delete(sleeper);
        reject(signal?.reason);
      };
      sleepers.add(sleeper);
      signal?.addEventListener('abort', stop, { once: true });
      return promise.finally(() => signal?.removeEventListener('abort', stop));
    },
    advance: (ms) => advanceTo(now + ms),
    advanceToNext: () => {
      const next = Math.min(...[...sleepers].map(({ at }) => at));
      if (!Number.isFinite(next)) return false;
      advanceTo(next);
      return true;
    },
  };
}
