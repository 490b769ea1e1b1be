import { crc32 } from 'node:zlib';
import type { Clock, MoRef, UpdateFeed } from '@drydock/vsphere';
import type { Ledger } from './ledger.ts';

const EVERY_MS = 15 * 60_000;
/** Cheap to read of all machines, and every machine has one. */
const PATH = 'name';

/** What a self-check looks at. */
export interface SelfCheckOptions {
  readonly feed: Pick<UpdateFeed, 'survey'>;
  readonly ledger: Pick<Ledger, 'refs' | 'hashOf'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Default 15 minutes; 0 never. */
  readonly everyMs?: number | undefined;
}

/** A name as the inventory has it, and as the watch heard of it, both as a digest. */
interface Seen {
  readonly inventory: number;
  readonly watch: bigint;
}

/**
 * Compares what the server has in the watched containers with what the ledger has, when that is due; to be called often: which machines there are, and whether a name changed since the last
 * comparison without a word of it from the watch. Resolves to the difference as text when it was found twice in a row, since one that is found once may be a change on its way; else to ''.
 */
export function selfCheck(
  options: SelfCheckOptions,
): (watched: readonly MoRef[], signal: AbortSignal) => Promise<string> {
  const { feed, ledger, clock, everyMs = EVERY_MS } = options;
  let checked = clock.now();
  let suspect = '';
  let seen: ReadonlyMap<string, Seen> = new Map();

  /** Reads apart from the watch. */
  const difference = async (watched: readonly MoRef[], signal: AbortSignal): Promise<string> => {
    const survey = await feed.survey(watched, PATH, { signal });
    const known = new Set(ledger.refs().map(({ value }) => value));
    const [unknown, unheard]: [string[], string[]] = [[], []];
    const next = new Map<string, Seen>();
    for (const [machine, name] of survey) {
      const watch = ledger.hashOf(machine, PATH);
      if (!known.has(machine)) unknown.push(machine);
      else if (watch !== undefined) {
        const before = seen.get(machine);
        const now = { inventory: crc32(name), watch };
        const missed = before !== undefined && before.watch === watch && before.inventory !== now.inventory;
        if (missed) unheard.push(machine);
        next.set(machine, missed ? before : now);
      }
    }
    seen = next;
    const gone = [...known].filter((machine) => !survey.has(machine));
    if (unknown.length + gone.length + unheard.length === 0) return '';
    return [`+${sorted(unknown)}`, `-${sorted(gone)}`, `~${sorted(unheard)}`].join(' ');
  };

  return async (watched, signal) => {
    const due = everyMs > 0 && (suspect !== '' || clock.now() - checked >= everyMs);
    if (!due) return '';
    checked = clock.now();
    const before = suspect;
    suspect = '';
    const found = await difference(watched, signal);
    if (found !== '' && found === before) return found;
    suspect = found;
    return '';
  };
}

function sorted(machines: readonly string[]): string {
  return machines.toSorted().join();
}
