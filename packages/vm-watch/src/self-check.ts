import type { MoRef, UpdateFeed } from '@drydock/vsphere';
import type { Ledger } from './ledger.ts';

/** What the server has in these containers and the ledger has not, and the other way round, as text; '' where they agree. Reads apart from the watch. */
export async function difference(
  feed: UpdateFeed,
  watched: readonly MoRef[],
  ledger: Ledger,
  signal: AbortSignal,
): Promise<string> {
  const survey = await feed.survey(watched, 'name', { signal });
  const known = new Set(ledger.refs().map(({ value }) => value));
  const unknown = [...survey.keys()].filter((value) => !known.has(value));
  const gone = [...known].filter((value) => !survey.has(value));
  return unknown.length + gone.length === 0 ? '' : `+${unknown.toSorted().join()} -${gone.toSorted().join()}`;
}
