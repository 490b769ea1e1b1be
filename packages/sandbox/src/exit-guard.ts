/**
 * Leaves nothing behind when the process exits or is told to: each guard runs synchronously, once, on `exit` and on
 * SIGINT, SIGTERM and SIGHUP. A process that handles such a signal itself keeps the say: then only its exit counts.
 */
const guards = new Set<() => void>();
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function runAll(): void {
  for (const guard of guards) {
    guards.delete(guard);
    guard();
  }
}

function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  runAll();
  disarm();
  // Now without a listener: the default action, so that our parent sees what we died of.
  process.kill(process.pid, signal);
}

function arm(): void {
  process.on('exit', runAll);
  for (const signal of SIGNALS) process.on(signal, onSignal);
}

function disarm(): void {
  process.off('exit', runAll);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

/** Registers a guard and returns the function that takes it back. */
export function guardExit(guard: () => void): () => void {
  if (guards.size === 0) arm();
  guards.add(guard);
  return () => {
    if (guards.delete(guard) && guards.size === 0) disarm();
  };
}
