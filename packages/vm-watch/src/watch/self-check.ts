import type { Clock, MoRef, UpdateFeed } from '@drydock/vsphere';
import type { Ledger } from './ledger.ts';

const EVERY_MS = 15 * 60_000;

/** What a self-check looks at. */
export interface SelfCheckOptions {
  readonly feed: Pick<UpdateFeed, 'survey'>;
  readonly ledger: Pick<Ledger, 'refs'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Default 15 minutes; 0 never. */
  readonly everyMs?: number | undefined;
}

/**
 * Compares what the server has in the watched containers with what the ledger has, when that is due; to be called often. Resolves to the difference as text when it was found twice
 * in a row, since one that is found once may be a change on its way; else to ''.
 */
export function selfCheck(
  options: SelfCheckOptions,
): (watched: readonly MoRef[], signal: AbortSignal) => Promise<string> {
  const { clock, everyMs = EVERY_MS } = options;
  let checked = clock.now();
  let suspect = '';
  return async (watched, signal) => {
    const due = everyMs > 0 && (suspect !== '' || clock.now() - checked >= everyMs);
    if (!due) return '';
    checked = clock.now();
    const before = suspect;
    suspect = '';
    const found = await difference(options, watched, signal);
    if (found !== '' && found === before) return found;
    suspect = found;
    return '';
  };
}

/** Reads apart from the watch. */
async function difference(
  { feed, ledger }: SelfCheckOptions,
  watched: readonly MoRef[],
  signal: AbortSignal,
): Promise<string> {
  const survey = await feed.survey(watched, 'name', { signal });
  const known = new Set(ledger.refs().map(({ value }) => value));
  const unknown = [...survey.keys()].filter((value) => !known.has(value));
  const gone = [...known].filter((value) => !survey.has(value));
  return unknown.length + gone.length === 0 ? '' : `+${unknown.toSorted().join()} -${gone.toSorted().join()}`;
}
