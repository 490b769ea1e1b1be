import { givenUp } from './signals.ts';

/** Lets at most `places` pieces of work run at once, first come, first served. */
export function gate(
  places: number,
): <T>(op: string, signal: AbortSignal | undefined, work: () => Promise<T>) => Promise<T> {
  let free = places;
  const waiting: (() => void)[] = [];
  const enter = (op: string, signal: AbortSignal | undefined): Promise<void> => {
    if (free > 0) {
      free--;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        const at = waiting.indexOf(admit);
        if (at >= 0) waiting.splice(at, 1);
        if (signal !== undefined) reject(givenUp(op, signal));
      };
      const admit = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      waiting.push(admit);
    });
  };
  return async (op, signal, work) => {
    await enter(op, signal);
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
