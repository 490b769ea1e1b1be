/** So many names are told of those that come first. */
const TOLD = 3;

/** Some things that may be done at the same time, and a line for the others. */
export interface Turns {
  /** Resolves once it is the caller's turn, first come, first served; disposing gives it back. Rejects with the signal's reason. */
  readonly take: (who: string, signal: AbortSignal) => Promise<Disposable>;
  /** Whose turn it is, in words; undefined: a place is free. */
  readonly taken: () => string | undefined;
}

interface Waiting {
  readonly who: string;
  readonly call: (turn: Disposable) => void;
}

/** A line in front of `places`. */
export function turns(places: number): Turns {
  const held = new Set<{ readonly who: string }>();
  const line = new Set<Waiting>();
  const place = (who: string): Disposable => {
    const mine = { who };
    held.add(mine);
    return {
      [Symbol.dispose]: () => {
        if (!held.delete(mine)) return;
        const [next] = line;
        if (next === undefined) return;
        line.delete(next);
        next.call(place(next.who));
      },
    };
  };
  return {
    take: async (who, signal) => {
      signal.throwIfAborted();
      if (held.size < places) return place(who);
      const { promise, resolve, reject } = Promise.withResolvers<Disposable>();
      const waiting: Waiting = { who, call: resolve };
      const leave = (): void => {
        if (line.delete(waiting)) reject(signal.reason as Error);
      };
      line.add(waiting);
      signal.addEventListener('abort', leave, { once: true });
      try {
        return await promise;
      } finally {
        signal.removeEventListener('abort', leave);
      }
    },
    taken: () => {
      if (held.size < places) return undefined;
      const names = Array.from(held, ({ who }) => who);
      const more = names.length > TOLD ? ` and ${names.length - TOLD} more` : '';
      return `${names.slice(0, TOLD).join(', ')}${more}`;
    },
  };
}
