import { BootImagePolicy } from '@drydock/api';
import { type Cache, createCache, isNotFound, type ManagedCache, type Observer, type Watched } from '@drydock/kube';

/** The policies of the cluster. */
export interface PolicyWatch
  extends ManagedCache,
    Watched<BootImagePolicy>,
    Pick<Cache<BootImagePolicy>, 'get' | 'all'> {}

/** Watches policies. A cluster that does not serve the kind has none: that counts as synced, and is looked at again. `warn` is told of failures. */
export function watchPolicies(client: Observer, warn: (error: unknown) => void): PolicyWatch {
  const { promise: synced, resolve, reject } = Promise.withResolvers<void>();
  synced.catch(() => undefined);
  let told = false;
  const cache = createCache({
    client,
    resource: BootImagePolicy,
    onError: (error) => {
      const unserved = isNotFound(error);
      if (unserved) resolve();
      if (!unserved || !told) warn(error);
      told = unserved;
    },
  });
  cache.synced.then(resolve, reject);
  return {
    synced,
    get: (key) => cache.get(key),
    all: () => cache.all(),
    subscribe: (on) => cache.subscribe(on),
    health: () => cache.health(),
    [Symbol.asyncDispose]: () => cache[Symbol.asyncDispose](),
  };
}
