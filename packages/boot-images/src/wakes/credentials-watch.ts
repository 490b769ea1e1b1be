import type { Infrastructure, Secret } from '@drydock/api';
import {
  type Cache,
  type Change,
  isForbidden,
  type Key,
  keyText,
  type ManagedCache,
  type Watched,
} from '@drydock/kube';
import { credentialSecrets } from '../observe/credential-secrets.ts';

/** The Secrets with credentials for the platform of the cluster. */
export interface CredentialsWatch extends ManagedCache, Watched<Secret> {
  readonly get: (key: Required<Key>) => Secret | undefined;
}

/** Starts the watch of one Secret. `failed` is told each time that it cannot be read. */
export type OpenSecret = (
  key: Required<Key>,
  failed: (error: unknown) => void,
) => Pick<Cache<Secret>, 'get' | 'synced' | 'subscribe' | typeof Symbol.asyncDispose>;

/**
 * Watches the Secrets of the platform that Infrastructure names, and no other. It counts as synced when each was read; one of a cloud also when it may not be,
 * because there images can be left unverified.
 */
export function watchCredentials(infrastructures: Watched<Infrastructure>, open: OpenSecret): CredentialsWatch {
  const watched = new Map<string, ReturnType<OpenSecret>>();
  const answered: Promise<void>[] = [];
  const listeners = new Map<(change: Change<Secret>) => void, Disposable[]>();
  const closing = new Set<Promise<void>>();

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

  function close(cache: AsyncDisposable): void {
    const closed = Promise.resolve(cache[Symbol.asyncDispose]()).finally(() => closing.delete(closed));
    closing.add(closed);
  }

  const following = infrastructures.subscribe(({ now }) => {
    // A platform never changes; one that is gone for a moment comes again.
    const platform = now?.metadata.name === 'cluster' ? now.status?.platformStatus?.type : undefined;
    for (const key of credentialSecrets(platform)) if (!watched.has(keyText(key))) add(key, platform === 'VSphere');
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
      for (const cache of watched.values()) close(cache);
      watched.clear();
      await Promise.allSettled(closing);
    },
  };
}
