/** Bounds how much is done at a time for each of several keys. */
export interface Slots {
  /** Waits for a slot; disposal gives it back. Rejects when the signal ends. First come, first served. */
  take(key: string, signal?: AbortSignal): Promise<Disposable>;
}

/** At most `limit` slots of a key are taken at any time. */
export function createSlots(limit: number): Slots {
  const taken = new Map<string, number>();
  const waiting = new Map<string, Set<() => void>>();

  const giveBack = (key: string): void => {
    const [next] = waiting.get(key) ?? [];
    if (next === undefined) {
      const left = (taken.get(key) ?? 1) - 1;
      if (left === 0) taken.delete(key);
      else taken.set(key, left);
      return;
    }
    waiting.get(key)?.delete(next);
    next();
  };

  const slot = (key: string): Disposable => {
    let mine = true;
    return {
      [Symbol.dispose]: () => {
        if (mine) giveBack(key);
        mine = false;
      },
    };
  };

  return {
    take: async (key, signal) => {
      signal?.throwIfAborted();
      const count = taken.get(key) ?? 0;
      if (count < limit) {
        taken.set(key, count + 1);
        return slot(key);
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const queue = waiting.get(key) ?? new Set();
      waiting.set(key, queue.add(resolve));
      const stop = (): void => {
        if (queue.delete(resolve)) reject(signal?.reason);
      };
      signal?.addEventListener('abort', stop, { once: true });
      await promise.finally(() => signal?.removeEventListener('abort', stop));
      return slot(key);
    },
  };
}
