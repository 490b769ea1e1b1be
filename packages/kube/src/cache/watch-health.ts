import type { Clock } from '../clock.ts';

/** How a reflector stands with its server. */
export interface WatchHealth {
  /** Such as `MachineSet`. */
  readonly kind: string;
  /** A first list has arrived. */
  readonly synced: boolean;
  /** A first list has arrived, and the watch is open or about to be opened again without a failure in between. */
  readonly healthy: boolean;
  /** For how long (ms) it has not been healthy; 0 when it is. What the cache shows may be as old as this. */
  readonly brokenFor: number;
  /** The last failure, while not healthy. */
  readonly reason?: string;
  /** Complete lists so far. */
  readonly lists: number;
  /** Watches that the server accepted so far. */
  readonly watches: number;
  /** Failed lists and watches so far. */
  readonly failures: number;
}

/** Keeps the account of one reflector. */
export interface HealthKeeper {
  listed(): void;
  opened(): void;
  failed(error: unknown): void;
  read(): WatchHealth;
}

/** Starts an account: not synced, and broken since now. */
export function healthKeeper(kind: string, clock: Clock): HealthKeeper {
  let brokenSince: number | undefined = clock.now();
  let reason: string | undefined;
  let lists = 0;
  let watches = 0;
  let failures = 0;
  const settle = (): void => {
    if (lists === 0) return;
    brokenSince = undefined;
    reason = undefined;
  };
  return {
    listed: () => {
      lists += 1;
      settle();
    },
    opened: () => {
      watches += 1;
      settle();
    },
    failed: (error) => {
      failures += 1;
      brokenSince ??= clock.now();
      reason = error instanceof Error ? error.message : String(error);
    },
    read: () => ({
      kind,
      synced: lists > 0,
      healthy: brokenSince === undefined,
      brokenFor: brokenSince === undefined ? 0 : clock.now() - brokenSince,
      ...(reason === undefined ? {} : { reason }),
      lists,
      watches,
      failures,
    }),
  };
}
