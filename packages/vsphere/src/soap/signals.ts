import { VimError } from '../errors.ts';

/** Waits for work that others share: the signal ends the waiting, not the work. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined, op: string): Promise<T> {
  if (signal === undefined) return work;
  if (signal.aborted) return Promise.reject(givenUp(op, signal));
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(givenUp(op, signal));
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** The error of a wait that its caller ended. */
export function givenUp(op: string, signal: AbortSignal): VimError {
  const cause: unknown = signal.reason;
  return new VimError({ kind: 'aborted', code: 'VIM_ABORTED', op, message: 'the wait was given up', cause });
}
