/** The part of `process` that is used; a test passes its own. */
export interface SignalSource {
  on(event: 'SIGINT' | 'SIGTERM', listener: (name: 'SIGINT' | 'SIGTERM') => void): unknown;
  off(event: 'SIGINT' | 'SIGTERM', listener: (name: 'SIGINT' | 'SIGTERM') => void): unknown;
  exit(code: number): unknown;
}

/** A signal that ends with the first SIGINT or SIGTERM; the name of the signal is its reason's message. */
export interface ProcessSignals extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * Listens to SIGINT and SIGTERM: the first one ends `signal`, so that everything stops in order, the second one exits with code
 * 1 at once. PID 1 in a container has no default action for either, so an operator must call this.
 */
export function processSignals(source: SignalSource = process): ProcessSignals {
  const controller = new AbortController();
  const listener = (name: 'SIGINT' | 'SIGTERM'): void => {
    if (controller.signal.aborted) source.exit(1);
    else controller.abort(new DOMException(name, 'AbortError'));
  };
  source.on('SIGINT', listener);
  source.on('SIGTERM', listener);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      source.off('SIGINT', listener);
      source.off('SIGTERM', listener);
    },
  };
}
