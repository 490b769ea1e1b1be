import type { HistoryEntry } from './history.ts';

/** How a release is applied: the first of all, another one than is there, or the same again. */
export type Mode = 'initializing' | 'updating' | 'reconciling';

/** The mode for `image`, from what is recorded alone, so that another process begins where this one stood. */
export function modeOf(history: readonly HistoryEntry[], image: string): Mode {
  if (!history.some(({ state }) => state === 'Completed')) return 'initializing';
  const [head] = history;
  return head?.state === 'Completed' && head.image === image ? 'reconciling' : 'updating';
}
