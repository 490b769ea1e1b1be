import type { Infrastructure } from '@drydock/api';
import {
  type Cache,
  type Change,
  isForbidden,
  type Key,
  type KubeObject,
  keyText,
  type ManagedCache,
  type Watched,
} from '@drydock/kube';

/** Objects that one platform needs, by their names. */
export interface PlatformWatch<T extends KubeObject> extends ManagedCache, Watched<T> {
  readonly get: (key: Required<Key>) => T | undefined;
}

/** Starts the watch of one object. `failed` is told each time that it cannot be read. */
export type OpenNamed<T extends KubeObject> = (
  key: Required<Key>,
  failed: (error: unknown) => void,
) => Pick<Cache<T>, 'get' | 'synced' | 'subscribe' | typeof Symbol.asyncDispose>;

/**
 * Watches the objects of the platform that Infrastructure names, and of no other. It counts as synced when each was read; one of a cloud also when it may not be,
 * because there images can be left unverified.
 */
export function watchOfPlatform<T extends KubeObject>(
  infrastructures: Watched<Infrastructure>,
  keysOf: (platform: string | undefined) => readonly Required<Key>[],
  open: OpenNamed<T>,
): PlatformWatch<T> {
  const watched = new Map<string, ReturnType<OpenNamed<T>>>();
  const answered: Promise<void>[] = [];
  const listeners = new Map<(change: Change<T>) => void, Disposable[]>();

  function add(key: Required<Key>, needed: boolean): void {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => undefined);
    const cache = open(key, (error) => {
      if (!needed && isForbidden(error)) resolve();
    });
    cache.synced.then(resolve, reject);
    answered.push(promise);
    watched.set(keyText(key), cache);
    for (const [listener, subscriptions] of listeners) subscriptions.push(cache.subscribe(listener));
  }

  const following = infrastructures.subscribe(({ now }) => {
    // A platform never changes; one that is gone for a moment comes again.
    const platform = now?.metadata.name === 'cluster' ? now.status?.platformStatus?.type : undefined;
    for (const key of keysOf(platform)) if (!watched.has(keyText(key))) add(key, platform === 'VSphere');
  });
  const synced = infrastructures.synced.then(() => Promise.all(answered)).then(() => undefined);
  synced.catch(() => undefined);
  return {
    synced,
    get: (key) => watched.get(keyText(key))?.get(key),
    subscribe: (on) => {
      const subscriptions = [...watched.values()].map((cache) => cache.subscribe(on));
      listeners.set(on, subscriptions);
      return {
        [Symbol.dispose]: () => {
          listeners.delete(on);
          for (const subscription of subscriptions) subscription[Symbol.dispose]();
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      following[Symbol.dispose]();
      const caches = [...watched.values()];
      watched.clear();
      await Promise.allSettled(caches.map((cache) => cache[Symbol.asyncDispose]()));
    },
  };
}
