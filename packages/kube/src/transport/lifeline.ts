import { ApiError } from '../errors.ts';

/** The end of one exchange: the caller's signal, the client's end, or the deadline, whichever comes first. */
export interface Lifeline extends Disposable {
  readonly signal: AbortSignal;
  /** From now on the deadline runs, if it does not yet. A person who logs in is not under it. */
  arm(): void;
  /** The deadline no longer holds; the signals do. For a watch that was accepted. */
  relax(): void;
  /** Starts the work, unless the line has ended, and waits for it no longer than the line; the work goes on. */
  until<R>(work: () => Promise<R>): Promise<R>;
}

/**
 * Ties an exchange to what may end it. One controller and one timer that goes with the exchange: `AbortSignal.any` with `AbortSignal.timeout`
 * would stay in memory until its timer fires, and costs a third of the request rate.
 */
export function lifeline(
  deadline: number,
  action: string,
  server: string,
  ...signals: readonly (AbortSignal | undefined)[]
): Lifeline {
  const end = new AbortController();
  const { signal } = end;
  let timer: NodeJS.Timeout | undefined;
  const late = (): void => {
    const said = `${server} gave no complete answer within ${deadline} ms`;
    end.abort(new ApiError({ code: 'Timeout', action, said }));
  };
  const links = signals.flatMap((outer) => {
    if (outer === undefined) return [];
    const pass = (): void => end.abort(outer.reason);
    if (outer.aborted) pass();
    else outer.addEventListener('abort', pass, { once: true });
    return [() => outer.removeEventListener('abort', pass)];
  });
  return {
    signal,
    arm: () => {
      timer ??= setTimeout(late, deadline);
    },
    relax: () => clearTimeout(timer),
    until: async (work) => {
      signal.throwIfAborted();
      const { promise: ended, reject } = Promise.withResolvers<never>();
      const stop = (): void => reject(signal.reason as Error);
      signal.addEventListener('abort', stop, { once: true });
      try {
        return await Promise.race([work(), ended]);
      } finally {
        signal.removeEventListener('abort', stop);
      }
    },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      for (const unlink of links) unlink();
    },
  };
}
