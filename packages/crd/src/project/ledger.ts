import { equal, type JsonObject } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';
import {
  type EntryOrigin,
  entriesFor,
  type LedgerEntry,
  type LedgerRecord,
  readRecord,
  recordText,
  union,
} from './ledger-record.ts';
import type { Loss } from './losses.ts';
import { recall } from './recall.ts';

/** Texts by key that outlive the process, such as the data of ConfigMaps. Every change is a compare-and-set. */
export interface LedgerStore {
  /** All of them. */
  readonly read: () => Promise<ReadonlyMap<string, string>>;
  /**
   * Puts what `next` makes of the text that is there (undefined: none, and for the result: remove it). Asked again when somebody else was faster. Resolves to what is there afterwards; rejects when it could
   * not be saved, and then nothing was.
   */
  readonly change: (key: string, next: (now: string | undefined) => string | undefined) => Promise<string | undefined>;
}

/** What a ledger knows of one object. */
export interface LedgerView {
  readonly entries: readonly LedgerEntry[];
  /** The stored text behind them; what may be taken out is decided by it. */
  readonly text: string | undefined;
}

/** Whose values are kept. */
export interface LedgerSubject {
  readonly uid: string;
  /** `namespace/name`. */
  readonly object: string;
  readonly resourceVersion: string;
}

/**
 * What was left out of statuses of one kind. It only grows before a write and shrinks after it, and it shrinks only when nobody has touched the object's record since before that write: a status can
 * be cut only by a write that follows a record of its own, so whoever may still cut it has left another text.
 */
export interface Ledger {
  /** What is known of an object. The first call reads everything; a failure is told and tried again after some time. `again`: somebody else may have written since, so it is read anew, once a second at most. */
  readonly view: (uid: string, again?: boolean) => Promise<LedgerView>;
  /** The same without waiting: nothing, as long as it was not read. */
  readonly peek: (uid: string) => LedgerView;
  /** Saves what the next write will leave out. Rejects when it cannot be saved: then it must not be left out. */
  readonly grow: (
    subject: LedgerSubject,
    lost: readonly Loss[],
    origin: EntryOrigin,
    stored: JsonObject,
  ) => Promise<LedgerView>;
  /** What is still left out after a write that was based on `before`. Never rejects: what stays too long does no harm. */
  readonly shrink: (subject: LedgerSubject, before: LedgerView, entries: readonly LedgerEntry[]) => Promise<void>;
  /** Forgets objects that are gone. `exists` asks the server, not a cache. Resolves to how many were forgotten. */
  readonly sweep: (exists: (subject: Pick<LedgerSubject, 'uid' | 'object'>) => Promise<boolean>) => Promise<number>;
}

/** What a ledger is made of. */
export interface LedgerOptions {
  readonly store: LedgerStore;
  /** Told of what cannot be read, saved or tidied up. */
  readonly onProblem?: (problem: { readonly what: string; readonly key: string; readonly error?: unknown }) => void;
  /** Monotonic ms. */
  readonly now?: () => number;
}

/** What ledgers are for, as a label of what they are kept in. */
export const LEDGER_COMPONENT = 'rollback-ledger';

/** Name of what the ledger of a definition is kept in. */
export function ledgerName({ plural, group }: { readonly plural: string; readonly group: string }): string {
  return `drydock-${LEDGER_COMPONENT}-${plural}.${group}`;
}

/** How long (ms) a ledger that could not be read is left alone. */
const READ_AGAIN = 30_000;
/** And one that was read (ms). */
const READ_ANEW = 1_000;
/** Characters of one object's record. Beyond, entries that the stored status no longer needs go, and then the write waits. */
const RECORD_MOST = 256 * 1024;

/** See {@link Ledger}. */
export function createLedger(options: LedgerOptions): Ledger {
  const { store, onProblem = () => undefined, now = () => performance.now() } = options;
  let known: Map<string, string> | undefined;
  let reading: Promise<void> | undefined;
  let failedAt: number | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let stale = false;
  const told = new Set<string>();

  async function read(again: boolean): Promise<void> {
    stale ||= again;
    if (known !== undefined && (!stale || now() < readAt + READ_ANEW)) return;
    if (failedAt !== undefined && now() < failedAt + READ_AGAIN) return;
    readAt = now();
    stale = false;
    reading ??= store.read().then(
      (found) => {
        known = new Map(found);
        failedAt = undefined;
        for (const [key, text] of found) examine(key, text);
      },
      (error: unknown) => {
        failedAt = now();
        onProblem({ what: 'the ledger cannot be read', key: '', error });
      },
    );
    await reading;
    reading = undefined;
  }

  /** What nobody can read is told once. */
  function examine(key: string, text: string | undefined): LedgerRecord {
    const record: LedgerRecord = text === undefined ? { object: '', base: '', entries: [] } : readRecord(text);
    if (record.unreadable !== undefined && !told.has(key)) {
      told.add(key);
      onProblem({
        what: 'a record of the ledger cannot be read; it is kept as it is, and what it says is not restored',
        key,
      });
    }
    return record;
  }

  function viewOf(uid: string, text: string | undefined): LedgerView {
    if (text === undefined) known?.delete(uid);
    else known?.set(uid, text);
    return { text, entries: examine(uid, text).entries };
  }

  return {
    view: async (uid, again = false) => {
      await read(again);
      return viewOf(uid, known?.get(uid));
    },
    peek: (uid) => viewOf(uid, known?.get(uid)),
    grow: async ({ uid, object, resourceVersion }, lost, origin, stored) => {
      const text = await store.change(uid, (there) => {
        const { entries, unreadable } = examine(uid, there);
        const fresh = entriesFor(lost, entries, origin);
        const record = (all: readonly LedgerEntry[]): string =>
          recordText({
            object,
            base: resourceVersion,
            entries: all,
            ...(unreadable === undefined ? {} : { unreadable }),
          });
        const whole = record(union(entries, fresh));
        if (whole.length <= RECORD_MOST) return whole;
        const needed = record(
          union(
            entries.filter((entry) => isLeftOut(stored, entry)),
            fresh,
          ),
        );
        if (needed.length > RECORD_MOST)
          throw new RangeError(`what the status of ${object} would lose is larger than ${RECORD_MOST} characters`);
        return needed;
      });
      return viewOf(uid, text);
    },
    shrink: async ({ uid, object, resourceVersion }, before, entries) => {
      try {
        const text = await store.change(uid, (there) => {
          if (there !== before.text) return there;
          const { unreadable } = examine(uid, there);
          if (entries.length === 0 && unreadable === undefined) return undefined;
          return recordText({
            object,
            base: resourceVersion,
            entries,
            ...(unreadable === undefined ? {} : { unreadable }),
          });
        });
        viewOf(uid, text);
      } catch (error) {
        onProblem({ what: 'the ledger cannot be tidied up', key: uid, error });
      }
    },
    sweep: async (exists) => {
      let swept = 0;
      const found = await store.read();
      for (const [uid, text] of found) {
        const { object, unreadable } = examine(uid, text);
        if (unreadable !== undefined || (await exists({ uid, object }))) continue;
        // Somebody who writes about it now knows better.
        const left = await store.change(uid, (there) => (there === text ? undefined : there));
        viewOf(uid, left);
        if (left === undefined) swept += 1;
      }
      return swept;
    },
  };
}

/** Whether a stored status lacks what an entry keeps: the entry alone can bring it back. */
export function isLeftOut(stored: JsonObject, loss: Loss, schema?: Schema): boolean {
  return !equal(recall(stored, [loss], schema), stored);
}
