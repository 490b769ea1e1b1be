import type { ImageStore } from './options.ts';

/** The reading half of a store. */
type Looks = Pick<ImageStore, 'inspect' | 'list'>;

/** The same of many sets that are planned together, see {@link sharedLooks}. */
export interface SharedLooks extends Looks {
  /** Sets are about to be planned: from now on each template, and each place, is asked about once for all of them. */
  readonly begin: () => void;
}

/** Before the first `begin` every question is asked. What was found for the sets before is never told of those that come after: only what begins asks anew. */
export function sharedLooks(store: Looks): SharedLooks {
  let known: Map<string, Promise<unknown>> | undefined;
  const once = <T>(question: readonly unknown[], ask: () => Promise<T>): Promise<T> => {
    if (known === undefined) return ask();
    return known.getOrInsertComputed(JSON.stringify(question), ask) as Promise<T>;
  };
  return {
    begin: () => {
      known = new Map();
    },
    inspect: (placement, reference, call) =>
      once(['inspect', placement, reference], () => store.inspect(placement, reference, call)),
    list: (placement, owner, call) => once(['list', placement, owner], () => store.list(placement, owner, call)),
  };
}
