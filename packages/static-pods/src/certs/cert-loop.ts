import { ConfigMap, Secret } from '@drydock/api';
import { type Cache, createCache, type KubeClient, systemClock } from '@drydock/kube';
import { type Environment, textOf } from '../revision/environment.ts';
import type { Source, SourceKind } from '../revision/object-files.ts';
import { type CertSyncResult, type CertSyncSpec, syncCerts, validateCertSync } from './cert-sync.ts';

/** What a cert syncer that stays acts through. */
export interface CertLoopEnvironment extends Environment {
  readonly client: KubeClient;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Time between two passes where nothing is heard of; default 10 min. */
  readonly resyncMs?: number;
  /** Told of each pass that succeeded. */
  readonly onPass?: (result: CertSyncResult) => void;
}

/** Pauses (ms) after failed passes; the last one repeats. */
const PAUSES = [1_000, 2_000, 5_000, 15_000, 60_000];

/** Keeps a directory of certificates as the cluster has them, until the signal ends: a pass at the start, after each change, after failures and now and then. */
export async function runCertSync(spec: CertSyncSpec, env: CertLoopEnvironment): Promise<void> {
  validateCertSync(spec);
  const { client, signal, clock = systemClock, resyncMs = 600_000, log } = env;
  const wake = wakeup();
  await using secrets = watched(
    Secret,
    spec.secrets.map(({ name }) => name),
  );
  await using configmaps = watched(
    ConfigMap,
    spec.configmaps.map(({ name }) => name),
  );
  const cached = (kind: SourceKind, name: string): Source | undefined =>
    (kind === 'secrets' ? secrets : configmaps).get({ namespace: spec.namespace, name });

  function watched<T extends Secret | ConfigMap>(
    resource: Parameters<typeof createCache<T>>[0]['resource'],
    names: readonly string[],
  ): Cache<T> {
    const wanted = new Set(names);
    const cache = createCache<T>({
      client,
      resource,
      where: { namespace: spec.namespace },
      // The namespace may hold much that is nobody's business here.
      transform: (object) => (wanted.has(object.metadata.name) ? object : { ...object, data: {}, binaryData: {} }),
      onError: (error) => log?.(textOf(error)),
      clock,
      signal,
    });
    cache.subscribe(({ key, initial }) => {
      if (!initial && wanted.has(key.name)) wake.now();
    });
    return cache;
  }

  try {
    await Promise.all([secrets.synced, configmaps.synced]);
    for (let failures = 0; !signal.aborted; ) {
      wake.reset();
      let pause = resyncMs;
      try {
        env.onPass?.(await syncCerts(spec, { ...env, cached }));
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        log?.(textOf(error));
        pause = PAUSES[failures] ?? PAUSES.at(-1) ?? resyncMs;
        failures += 1;
      }
      const rest = new AbortController();
      const timer = clock.sleep(pause, { signal: AbortSignal.any([signal, rest.signal]) }).catch(() => undefined);
      await Promise.race([timer, wake.heard()]);
      rest.abort();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function wakeup(): { readonly now: () => void; readonly reset: () => void; readonly heard: () => Promise<void> } {
  let current = Promise.withResolvers<void>();
  return {
    now: () => current.resolve(),
    reset: () => {
      current = Promise.withResolvers<void>();
    },
    heard: () => current.promise,
  };
}
