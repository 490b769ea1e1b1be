/** Writes the latest value at most once per interval; see {@link throttle}. */
export interface Throttle<T> extends AsyncDisposable {
  readonly push: (value: T) => void;
}

/**
 * Writes values one at a time, at least `ms` apart, dropping those that a newer one overtook. Disposal waits for the write that
 * runs and drops what is pending: who disposes writes the final state itself. A failed write is given to `onError`.
 */
export function throttle<T>(
  write: (value: T) => Promise<void>,
  ms: number,
  onError: (error: unknown) => void,
): Throttle<T> {
  let pending: { readonly value: T } | undefined;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let next = 0;
  let closed = false;

  function pump(): void {
    if (closed || running !== undefined || timer !== undefined || pending === undefined) return;
    const wait = next - performance.now();
    if (wait > 0) {
      timer = setTimeout(() => {
        timer = undefined;
        pump();
      }, wait);
      return;
    }
    const { value } = pending;
    pending = undefined;
    next = performance.now() + ms;
    running = write(value)
      .catch(onError)
      .finally(() => {
        running = undefined;
        pump();
      });
  }

  return {
    push: (value) => {
      pending = { value };
      pump();
    },
    [Symbol.asyncDispose]: async () => {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
