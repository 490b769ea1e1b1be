import type { Clock, MoRef, UpdateFeed, XmlElement } from '@drydock/vsphere';
import { carriedName } from '../watch/carried-name.ts';
import { xxHash64 } from '../watch/hash.ts';
import { IGNORED_KEYS } from '../watch/ignored-keys.ts';
import { Ledger } from '../watch/ledger.ts';
import type { WatchState } from '../watch/state.ts';
import { Supervisor } from '../watch/supervisor.ts';
import type { WatchLog } from '../watch/watch-log.ts';
import { EXTRA_CONFIG, WATCHED_PATHS } from '../watch/watched-paths.ts';
import { Courier, type CourierOptions } from './courier.ts';

/** What a {@link Watcher} needs. */
export interface WatcherOptions
  extends Pick<CourierOptions, 'lookup' | 'deliver' | 'onResolved' | 'recheckMs' | 'gatherMs'> {
  readonly feed: UpdateFeed;
  readonly clock: Clock;
  readonly log: WatchLog;
  readonly random?: () => number;
  /** Default {@link WATCHED_PATHS}. */
  readonly paths?: readonly string[];
  /** Default {@link IGNORED_KEYS}. */
  readonly ignoredKeys?: ReadonlySet<string>;
  readonly maxWaitSeconds?: number;
  readonly selfCheckMs?: number;
  readonly onState?: (state: WatchState) => void;
  /** See `SupervisorOptions.onReplaced`. */
  readonly onReplaced?: () => void;
  /** See `SupervisorOptions.onGone`. */
  readonly onGone?: (container: MoRef) => void;
  /** A property that the server does not give; each occurrence. */
  readonly onUnreadable?: (path: string) => void;
  readonly onChange?: (ref: MoRef, path: string, value: XmlElement | undefined) => void;
}

/** The watch on one vCenter: what was seen, what keeps seeing, and what carries it on. */
export interface Watcher {
  readonly ledger: Ledger;
  readonly supervisor: Supervisor;
  readonly courier: Courier;
  /** Runs until the signal ends; nothing that a server does makes it throw. */
  run(signal: AbortSignal): Promise<void>;
}

/** Puts a watch together. Nothing happens before `run`. */
export async function createWatcher(options: WatcherOptions): Promise<Watcher> {
  const { feed, clock, log, paths = WATCHED_PATHS } = options;
  const warned = new Set<string>();
  const ledger = new Ledger({
    paths,
    ignoredKeys: options.ignoredKeys ?? IGNORED_KEYS,
    hash: await xxHash64(),
    onDirty: () => courier.wake(),
    onUnreadable: (ref, path, fault) => {
      options.onUnreadable?.(path);
      const why = fault?.children.find((node) => typeof node !== 'string')?.type?.local ?? 'unreadable';
      if (warned.has(`${path} ${why}`)) return;
      warned.add(`${path} ${why}`);
      log.warn(
        { server: feed.server, vm: ref.value, path, why },
        'A property is not given by this vCenter: its changes are not seen. Check the privileges of the user on this machine.',
      );
    },
    ...(options.onChange === undefined ? {} : { onChange: options.onChange }),
  });
  const random = options.random === undefined ? {} : { random: options.random };
  const courier = new Courier({
    ledger,
    lookup: options.lookup,
    deliver: options.deliver,
    existing: (refs, signal) => feed.existing(refs, { signal }),
    // What the ledger sees of extraConfig holds the name; without it the machine has to be asked.
    ...(paths.includes(EXTRA_CONFIG) ? {} : { readName: carriedName(feed) }),
    clock,
    log,
    ...random,
    ...(options.onResolved === undefined ? {} : { onResolved: options.onResolved }),
    ...(options.recheckMs === undefined ? {} : { recheckMs: options.recheckMs }),
    ...(options.gatherMs === undefined ? {} : { gatherMs: options.gatherMs }),
  });
  const supervisor = new Supervisor({
    feed,
    ledger,
    paths,
    clock,
    log,
    ...random,
    ...(options.maxWaitSeconds === undefined ? {} : { maxWaitSeconds: options.maxWaitSeconds }),
    ...(options.selfCheckMs === undefined ? {} : { selfCheckMs: options.selfCheckMs }),
    ...(options.onState === undefined ? {} : { onState: options.onState }),
    ...(options.onGone === undefined ? {} : { onGone: options.onGone }),
    onReplaced: () => {
      courier.clear();
      options.onReplaced?.();
    },
  });
  return {
    ledger,
    supervisor,
    courier,
    run: async (signal) => {
      await Promise.all([supervisor.run(signal), courier.run(signal)]);
    },
  };
}
