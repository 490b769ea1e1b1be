import type { Clock } from '../clock.ts';
import type { LedgerStore } from '../mark/ledger-store.ts';
import type { Uptime } from '../mark/sightings.ts';

/** A ledger that outlives the processes of a test. `texts` is what it holds. */
export function memoryLedger(
  kind: LedgerStore['kind'] = 'file',
  texts: Map<string, string> = new Map(),
): LedgerStore & { readonly texts: Map<string, string> } {
  return {
    kind,
    texts,
    read: async () => new Map(texts),
    change: async (key, next) => {
      const after = next(texts.get(key));
      if (after === undefined) texts.delete(key);
      else texts.set(key, after);
      return after;
    },
  };
}

/** The test's clock as the time since boot: nobody steps it. */
export function testUptime(clock: Pick<Clock, 'now'>): Uptime {
  return { boot: 'test', now: () => clock.now() };
}
