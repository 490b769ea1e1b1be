import { type Cache, compareVersions, type Key, type KubeObject, keyText } from '@drydock/kube';

/** Objects as this process left them, until a cache shows them so: whoever decides by an older state undoes what it did itself. */
export interface OwnWrites<T extends KubeObject> {
  /** The newer of what the cache shows and what was written. */
  latest(key: Key): T | undefined;
  wrote(object: T): void;
}

/** Nothing was written yet. Holds an object only until the cache has it. */
export function ownWrites<T extends KubeObject>(cache: Pick<Cache<T>, 'get'>, keyOf: (object: T) => Key): OwnWrites<T> {
  const written = new Map<string, T>();
  return {
    latest: (key) => {
      const shown = cache.get(key);
      const own = written.get(keyText(key));
      if (own === undefined) return shown;
      const order = compareVersions(shown?.metadata.resourceVersion, own.metadata.resourceVersion);
      if (shown?.metadata.uid === own.metadata.uid && order !== undefined && order < 0) return own;
      written.delete(keyText(key));
      return shown;
    },
    wrote: (object) => {
      const key = keyOf(object);
      const order = compareVersions(cache.get(key)?.metadata.resourceVersion, object.metadata.resourceVersion);
      if (order !== undefined && order < 0) written.set(keyText(key), object);
    },
  };
}
