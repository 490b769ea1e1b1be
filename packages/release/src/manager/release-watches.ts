import type { Clock, KubeClient } from '@drydock/kube';
import type { LiveObjects } from '../apply/live.ts';
import type { ApplyMemory } from '../apply/memory.ts';
import type { ApplyMode } from '../apply/owner.ts';
import { type WatchedObjects, watchedObjects } from '../apply/watched.ts';
import type { Manifest } from '../payload/manifest.ts';

/** Watched objects of releases, of each in the name of its account: nobody sees by a Payload what its account may not see. */
export interface ReleaseWatches extends AsyncDisposable {
  /** What is known of the objects of these manifests. Rejects with the signal's reason. */
  of(uid: string, options: WatchingOptions): Promise<LiveObjects>;
  /** Ends the watches of one release. */
  forget(uid: string): void;
}

/** Whose objects are watched. */
export interface WatchingOptions {
  /** In whose name. Another one begins anew. */
  readonly client: KubeClient;
  readonly manifests: readonly Manifest[];
  readonly memory: ApplyMemory;
  readonly mode: ApplyMode;
  readonly signal: AbortSignal;
}

/** No watches yet. Dispose it to end all. */
export function releaseWatches({
  clock,
  onError,
}: {
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}): ReleaseWatches {
  const watches = new Map<string, { readonly client: KubeClient; readonly live: WatchedObjects }>();
  const ends = new AbortController();
  return {
    of: async (uid, { client, manifests, memory, mode, signal }) => {
      const known = watches.get(uid);
      if (known !== undefined && known.client !== client) await known.live[Symbol.asyncDispose]();
      const live =
        known?.client === client ? known.live : watchedObjects({ client, memory, clock, onError, signal: ends.signal });
      watches.set(uid, { client, live });
      // In a first installation the changes are our own, and nothing waits for others: to be told of each would cost both sides.
      await live.cover(manifests, signal, { once: mode === 'initializing' });
      return live;
    },
    forget: (uid) => {
      void watches.get(uid)?.live[Symbol.asyncDispose]();
      watches.delete(uid);
    },
    [Symbol.asyncDispose]: async () => {
      ends.abort(new Error('the process stops'));
      await Promise.all([...watches.values()].map(({ live }) => live[Symbol.asyncDispose]()));
    },
  };
}
