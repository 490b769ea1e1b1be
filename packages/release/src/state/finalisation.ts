import type { HistoryEntry } from './history.ts';
import type { Release } from './target.ts';

/** A release that was declared final, and since when. */
export interface Final {
  readonly version: string;
  readonly finalisedTime: string;
}

/** When the newest release will be final, if nothing else is wanted before; undefined: never, or it is. `soak` in ms. */
export function finalAt([head]: readonly HistoryEntry[], soak: number | undefined): Date | undefined {
  if (soak === undefined || head?.state !== 'Completed' || head.finalisedTime !== undefined) return undefined;
  const completed = Date.parse(head.completionTime ?? '');
  return Number.isNaN(completed) ? undefined : new Date(completed + soak);
}

/** The history with the newest release declared final once it has been complete for `soak` (ms). What was declared is never taken back, though the window changes. */
export function withFinalised(
  history: readonly HistoryEntry[],
  soak: number | undefined,
  now: Date,
): readonly HistoryEntry[] {
  const [head, ...older] = history;
  const at = finalAt(history, soak);
  if (head === undefined || at === undefined || at.getTime() > now.getTime()) return history;
  return [{ ...head, finalisedTime: now.toISOString() }, ...older];
}

/** The newest final release that lies between now and the last time that `target` was here: going to it would go past that one. */
export function finalBefore(
  history: readonly HistoryEntry[],
  target: Pick<Release, 'version' | 'image'>,
): Final | undefined {
  const last = history.findIndex(({ version, image }) => version === target.version && image === target.image);
  const since = last < 0 ? history : history.slice(0, last);
  for (const { version, finalisedTime } of since) if (finalisedTime !== undefined) return { version, finalisedTime };
  return undefined;
}
