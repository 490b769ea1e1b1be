import type { MachineSet, Secret } from '@drydock/api';
import type { Cache, Change, ManagedCache, Watched } from '@drydock/kube';
import { exemptionOf } from '../decide/decide.ts';
import { keptName } from '../user-data/old-stub.ts';
import { userDataSecret } from '../user-data/user-data.ts';

/** The user-data Secrets of the machine sets, as far as it matters here: that one changed. */
export interface UserDataWatch extends ManagedCache, Watched<Secret> {}

/**
 * Watches each user-data Secret that a set names, and no other: the right to list all Secrets of a namespace is the right to read them. `open` starts the
 * watch of one.
 */
export function watchUserData(
  machineSets: Watched<MachineSet>,
  open: (secret: string) => Pick<Cache<Secret>, 'subscribe' | typeof Symbol.asyncDispose>,
): UserDataWatch {
  const watched = new Map<string, { readonly sets: Set<string>; readonly cache: AsyncDisposable }>();
  const listeners = new Set<(change: Change<Secret>) => void>();
  const closing = new Set<Promise<void>>();

  function add(secret: string, set: string): void {
    const known = watched.get(secret);
    if (known !== undefined) {
      known.sets.add(set);
      return;
    }
    const cache = open(secret);
    cache.subscribe((change) => {
      for (const listener of listeners) listener(change);
    });
    watched.set(secret, { sets: new Set([set]), cache });
  }

  function remove(secret: string, set: string): void {
    const known = watched.get(secret);
    if (known === undefined || !known.sets.delete(set) || known.sets.size > 0) return;
    watched.delete(secret);
    close(known.cache);
  }

  function close(cache: AsyncDisposable): void {
    const closed = Promise.resolve(cache[Symbol.asyncDispose]()).finally(() => closing.delete(closed));
    closing.add(closed);
  }

  const following = machineSets.subscribe(({ old, now }) => {
    const [before, after] = [wantedBy(old), wantedBy(now)];
    if (before === after) return;
    if (after !== undefined && now !== undefined) add(after, now.metadata.name);
    if (before !== undefined && old !== undefined) remove(before, old.metadata.name);
  });
  return {
    synced: Promise.resolve(),
    subscribe: (on) => {
      listeners.add(on);
      return { [Symbol.dispose]: () => void listeners.delete(on) };
    },
    [Symbol.asyncDispose]: async () => {
      following[Symbol.dispose]();
      for (const { cache } of watched.values()) close(cache);
      watched.clear();
      await Promise.allSettled(closing);
    },
  };
}

/** The Secret of a set that is not left alone anyway. An old stub never changes, and nobody may watch it. */
function wantedBy(set: MachineSet | undefined): string | undefined {
  const name = set === undefined || exemptionOf(set) !== undefined ? undefined : userDataSecret(set);
  return name === undefined || keptName(name) !== undefined ? undefined : name;
}
