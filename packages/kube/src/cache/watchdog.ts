import type { Clock } from '../clock.ts';

/** Ends something that has gone silent. */
export interface Watchdog extends Disposable {
  /** Ends with the outer signal, or with `error` when nothing was heard for too long. */
  readonly signal: AbortSignal;
  /** Whether it was the silence that ended it. */
  readonly barked: boolean;
  /** Something was heard. */
  heard(): void;
}

/**
 * Watches over a peer that should say something at least every `silence` ms. One sleep at a time, however often something is heard. `clock`
 * is monotonic, so after a pause of the whole process it barks at once: the connection most likely did not survive it either.
 */
export function watchdog(
  silence: () => number,
  error: () => Error,
  { clock, signal: outer }: { readonly clock: Clock; readonly signal: AbortSignal },
): Watchdog {
  const bark = new AbortController();
  const over = new AbortController();
  const signal = AbortSignal.any([outer, bark.signal]);
  let last = clock.now();
  const watch = async (): Promise<void> => {
    for (let left = silence(); left > 0; left = last + silence() - clock.now()) {
      await clock.sleep(left, { background: true, signal: over.signal });
    }
    bark.abort(error());
  };
  // Only `over` rejects the sleep: then nobody is interested any more.
  watch().catch(() => undefined);
  return {
    signal,
    get barked() {
      return bark.signal.aborted;
    },
    heard: () => {
      last = clock.now();
    },
    [Symbol.dispose]: () => over.abort(),
  };
}
