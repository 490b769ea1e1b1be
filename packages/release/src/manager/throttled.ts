import type { ReleasePorts } from './ports.ts';

/** ms between two writes while something is applied or waited for. */
const PROGRESS = 5_000;

/** Writes that may be asked for at any time. */
export interface Throttled extends AsyncDisposable {
  readonly ask: () => void;
}

/** Writes at most every few seconds, one at a time; what is asked for in between is written once that time is over, for it may be the last for long. After its disposal nothing is written. */
export function throttled(
  write: () => Promise<void>,
  { clock, warn }: Pick<ReleasePorts, 'clock' | 'warn'>,
): Throttled {
  const over = new AbortController();
  let last = clock.now();
  let asked = false;
  let running: Promise<void> | undefined;
  const writeAll = async (): Promise<void> => {
    while (asked && !over.signal.aborted) {
      const wait = last + PROGRESS - clock.now();
      if (wait > 0) await clock.sleep(wait, { background: true, signal: over.signal }).catch(() => undefined);
      if (over.signal.aborted) return;
      asked = false;
      last = clock.now();
      await write().catch((error: unknown) => warn('progress cannot be written', error));
    }
  };
  return {
    ask: () => {
      asked = true;
      running ??= writeAll().finally(() => {
        running = undefined;
      });
    },
    [Symbol.asyncDispose]: async () => {
      over.abort();
      await running;
    },
  };
}
