import type { ApplyMode } from '../apply/owner.ts';
import type { HistoryEntry } from './history.ts';

/** The mode for `image`, from what is recorded alone, so that another process begins where this one stood. */
export function modeOf(history: readonly HistoryEntry[], image: string): ApplyMode {
  if (!history.some(({ state }) => state === 'Completed')) return 'initializing';
  const [head] = history;
  return head?.state === 'Completed' && head.image === image ? 'reconciling' : 'updating';
}
