import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Looks until there is something to see. Rejects with `sentence` when `deadline` (ms) has passed from now, or since `progress` last
 * changed: what is slow but moves is waited for.
 */
export async function awaited<T>(
  look: () => Promise<T | undefined> | T | undefined,
  options: {
    readonly deadline: number;
    readonly signal: AbortSignal;
    readonly sentence: () => string;
    readonly every?: number;
    readonly progress?: () => unknown;
  },
): Promise<T> {
  let reached = options.progress?.();
  let until = performance.now() + options.deadline;
  for (;;) {
    options.signal.throwIfAborted();
    const found = await look();
    if (found !== undefined) return found;
    const now = options.progress?.();
    if (now !== reached) until = performance.now() + options.deadline;
    reached = now;
    if (performance.now() > until) throw new Error(options.sentence());
    await sleep(options.every ?? 25, undefined, { signal: options.signal });
  }
}

/** Milliseconds as a person reads them. */
export function spent(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
