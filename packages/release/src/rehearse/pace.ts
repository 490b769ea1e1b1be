import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '@drydock/kube';
import { ReleaseError } from '../errors.ts';

/** ms of patience on a machine that others use, too. */
export const PATIENCE = 300_000;

/** How fast a rehearsal plays, and how patient it is. */
export interface Pace {
  /** ms between two looks of an actor. */
  readonly beat: number;
  /** ms of patience, by what is waited for in the reference's time. */
  scaled(ms: number): number;
  /** Does something again and again until the signal ends, and resolves then. A server that is not there at the moment is tried again; what goes wrong otherwise ends the whole. */
  repeat(what: string, act: () => Promise<void>, signal: AbortSignal): Promise<void>;
  /** Waits until something holds; a server that is not there at the moment is asked again. Rejects with what was seen last where it does not hold within its time. */
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
          await act().catch(passing);
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
        let met: ApiError | undefined;
        const held = await holds().catch((error: unknown) => {
          met = passing(error);
          return false;
        });
        if (held) return;
        if (performance.now() > deadline)
          throw new ReleaseError(
            'REHEARSAL',
            `the rehearsal waited ${Math.round(limit / 1_000)} s for ${what}: ${met?.message ?? (seen() || 'it did not come')}`,
          );
        await delay(Math.min(beat, 250), undefined, { signal });
      }
    },
  };
}

/** What a call of a moment later may not meet any more. Throws whatever else it is. */
function passing(error: unknown): ApiError {
  if (error instanceof ApiError && error.retriable) return error;
  throw error;
}
