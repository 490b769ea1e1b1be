import { isVimError, type PropertyWatch } from '@drydock/vsphere';
import type { Interrupt } from './interrupt.ts';
import type { Ledger } from './ledger.ts';
import { whileWaiting } from './small-heap.ts';
import { delayBefore, remedyFor } from './state.ts';

/** What reading from a watch does besides. */
export interface ReadingHooks {
  readonly ledger: Pick<Ledger, 'sink' | 'beginPass' | 'heard' | 'resumed'>;
  /** Everything was read once. */
  readonly endPass: () => Promise<void>;
  readonly onLive: () => void;
  readonly enter: (name: 'syncing' | 'live' | 'resuming', error?: unknown) => void;
  readonly sleep: (ms: number) => Promise<void>;
  readonly now: () => number;
  /** In [0, 1). */
  readonly random: () => number;
}

/** The same bytes would be as unreadable the next time. */
const MAX_UNREADABLE = 3;

/**
 * Reads from a watch until it breaks in a way that takes another one, which is what this rejects with; what can be asked for again is. An interruption of `wait` begins a full pass, its
 * outer signal ends everything.
 */
export async function readWatch(watch: PropertyWatch, wait: Interrupt, hooks: ReadingHooks): Promise<never> {
  const { ledger, endPass, onLive, enter, sleep, now, random } = hooks;
  const sink = ledger.sink();
  let version = '';
  let truncated = false;
  let passing = false;
  /** When the first page was asked for. */
  let since = now();
  let hiccups = 0;
  let unreadable = 0;
  const restart = (): void => {
    version = '';
    truncated = false;
    passing = true;
    ledger.beginPass();
  };
  restart();
  enter('syncing');
  for (;;) {
    try {
      if (!truncated) since = now();
      const asked = watch.next(version, sink, wait);
      whileWaiting();
      const answer = await asked;
      if (hiccups > 0) ledger.resumed();
      hiccups = 0;
      unreadable = 0;
      version = answer.version ?? version;
      truncated = answer.version !== undefined && answer.truncated;
      if (passing && !truncated) {
        passing = false;
        await endPass();
        onLive();
      }
      if (!truncated) ledger.heard(since);
      enter(passing ? 'syncing' : 'live');
    } catch (error) {
      if (wait.ended) throw error;
      if (wait.interrupted) {
        wait.renew();
        restart();
        enter('syncing');
        continue;
      }
      if (isVimError(error) && error.kind === 'protocol' && !error.retriable) unreadable += 1;
      if (remedyFor(error) !== 'resume' || unreadable >= MAX_UNREADABLE) throw error;
      hiccups += 1;
      enter('resuming', error);
      await sleep(delayBefore('resume', hiccups, random));
      // A version in the middle of a page sequence cannot be asked for again.
      if (truncated || (passing && version === '')) restart();
    }
  }
}
