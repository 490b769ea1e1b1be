import { setTimeout as delay } from 'node:timers/promises';
import { ReleaseError } from '../errors.ts';

/** How fast a rehearsal plays, and how patient it is. */
export interface Pace {
  /** ms between two looks of an actor. */
  readonly beat: number;
  /** ms of patience, by what is waited for in the reference's time. */
  scaled(ms: number): number;
  /** Does something again and again until the signal ends. Resolves then; rejects with what goes wrong otherwise. */
  repeat(what: string, act: () => Promise<void>, signal: AbortSignal): Promise<void>;
  /** Waits until something holds. Rejects with what was seen last where it does not within its time. */
  until(what: string, limit: number, holds: () => Promise<boolean>, seen?: () => string): Promise<void>;
}

/** `scale` 1 is the time of a real cluster; smaller is faster. `failed` ends the whole with what an actor met. */
export function paceOf(scale: number, signal: AbortSignal, failed: (error: unknown) => void): Pace {
  const beat = Math.max(100, Math.round(2_500 * scale));
  return {
    beat,
    scaled: (ms) => Math.round(ms * scale),
    repeat: async (what, act, stop) => {
      const ended = AbortSignal.any([signal, stop]);
      while (!ended.aborted) {
        try {
          await act();
          await delay(beat, undefined, { signal: ended });
        } catch (error) {
          if (ended.aborted) return;
          failed(new Error(`${what} of the rehearsal cannot go on: ${(error as Error).message}`, { cause: error }));
          return;
        }
      }
    },
    until: async (what, limit, holds, seen = () => '') => {
      const deadline = performance.now() + limit;
      for (;;) {
        signal.throwIfAborted();
        if (await holds()) return;
        if (performance.now() > deadline)
          throw new ReleaseError(
            'REHEARSAL',
            `the rehearsal waited ${Math.round(limit / 1_000)} s for ${what}: ${seen() || 'it did not come'}`,
          );
        await delay(Math.min(beat, 250), undefined, { signal });
      }
    },
  };
}
