import type { LedgerStore } from '../project/ledger.ts';

/** A store in memory that outlives the ledgers that use it. */
export interface MemoryStore extends LedgerStore {
  readonly texts: Map<string, string>;
}

/** Makes one. `call` is asked before and after each change: it may reject, as a lost connection does, or wait. */
export function memoryStore(call: (place: string) => Promise<void> = () => Promise.resolve()): MemoryStore {
  const texts = new Map<string, string>();
  return {
    texts,
    read: async () => {
      await call('before the ledger is read');
      return new Map(texts);
    },
    change: async (key, next) => {
      await call('before the ledger is saved');
      const text = next(texts.get(key));
      if (text === undefined) texts.delete(key);
      else texts.set(key, text);
      await call('after the ledger was saved');
      return text;
    },
  };
}
