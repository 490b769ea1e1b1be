import {
  type Cache,
  type CacheOptions,
  type KubeClient,
  type KubeObject,
  keyOf,
  keyText,
  type WatchHealth,
} from '@drydock/kube';

/** As much of a cache as is there without a watch. */
type ListedOnce = Pick<Cache<KubeObject>, 'synced' | 'get' | typeof Symbol.asyncDispose> & {
  health(): Pick<WatchHealth, 'healthy'>;
};

/** A collection as it is once; where it cannot be listed nothing is known of it. */
export function listedOnce({
  client,
  resource,
  where,
  signal,
  onError,
  transform,
}: Required<Pick<CacheOptions<KubeObject>, 'resource' | 'where' | 'signal' | 'onError' | 'transform'>> & {
  readonly client: KubeClient;
}): ListedOnce {
  const objects = new Map<string, KubeObject>();
  const stop = new AbortController();
  const reading = { signal: AbortSignal.any([signal, stop.signal]) };
  let healthy = false;
  const synced = (async () => {
    try {
      for await (const object of client.list(resource, where, reading))
        objects.set(keyText(keyOf(object)), transform(object));
      healthy = true;
    } catch (error) {
      if (!reading.signal.aborted) onError(error);
    }
  })();
  return {
    synced,
    health: () => ({ healthy }),
    get: (key) => objects.get(keyText(key)),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await synced;
    },
  };
}
