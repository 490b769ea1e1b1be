import type { HealthCheck, Service } from '@drydock/kube';
import { type MoRef, refKey } from '@drydock/vsphere';
import type { Claim } from '../delivery/courier.ts';
import type { Lookup, Signal } from '../delivery/resolve.ts';
import { createWatcher, type Watcher, type WatcherOptions } from '../delivery/watcher.ts';
import { type WatchMetrics, type WatchReport, watchMetrics } from '../metrics.ts';
import type { Links } from '../watch/links.ts';
import type { WatchState } from '../watch/state.ts';

/** What a {@link WatchService} needs; the rest is passed on to each watcher. */
export interface WatchServiceOptions
  extends Pick<
    WatcherOptions,
    'clock' | 'log' | 'random' | 'paths' | 'ignoredKeys' | 'maxWaitSeconds' | 'selfCheckMs' | 'recheckMs'
  > {
  /** `vms` or `templates`: names the watch in metrics, logs and health. */
  readonly name: string;
  readonly links: Links;
  /** Of the objects that belong to machines of this vCenter. */
  readonly lookup: (server: string) => Lookup;
  readonly deliver: (server: string, signal: Signal) => void | Promise<void>;
  /**
   * A machine was seen for the first time, and its object names it: no signal, since nothing is known to have changed. Whoever looked at it before has to look again, because what
   * changed between that look and this moment is told by nobody. Say `looked` before.
   */
  readonly onBaseline?: (server: string, ref: MoRef) => void;
  /** False: nothing is watched, and no session opened. Default true. */
  readonly enabled?: boolean;
  /** What the look-ups read from; watching begins when all are synced. */
  readonly after?: readonly Promise<unknown>[];
  readonly metrics?: WatchMetrics;
  readonly onState?: (server: string, state: WatchState) => void;
  /** Another vCenter answers under the name: references to the former one mean nothing, and nothing that it has was looked at. */
  readonly onReplaced?: (server: string) => void;
  /** A container is not there (any more), told at each attempt: whoever knows it by its path may find another one there. */
  readonly onGone?: (server: string, container: MoRef) => void;
}

/** Where something is watched. */
export interface Holding {
  readonly server: string;
  readonly ref: MoRef;
}

interface OneWatch {
  readonly server: string;
  readonly watcher: Watcher;
  /** When the oldest answer came whose changes are being handed over, or were last. */
  since: number;
  /** Nothing is left to hand over. */
  idle: boolean;
}

/** Watchers that end in good order take no longer than this; then their connections are closed, which ends them. */
const ORDERLY_MS = 1_000;

/**
 * Watches several vCenters for one purpose, for as long as the process leads. Containers are wanted and dropped at any time, also while nothing runs: that is remembered. Failures of
 * one vCenter concern no other.
 */
export class WatchService implements Service {
  readonly name: string;
  readonly enabled: boolean;
  readonly #options: WatchServiceOptions;
  readonly #metrics: WatchMetrics;
  readonly #watches = new Map<string, Promise<OneWatch>>();
  readonly #made = new Map<string, OneWatch>();
  /** Wanted while the watcher is being made. */
  readonly #early = new Set<Holding & { readonly id: string }>();
  readonly #running = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;

  constructor(options: WatchServiceOptions) {
    this.name = `watch-${options.name}`;
    this.enabled = options.enabled ?? true;
    this.#options = options;
    this.#metrics = options.metrics ?? watchMetrics();
    this.#metrics.reports(options.name, () => this.reports());
  }

  /** Wants a container on behalf of `id`; see `Supervisor.add`. `disabled` where nothing is watched. */
  async add(server: string, ref: MoRef, id: string): Promise<'applied' | 'pending' | 'disabled'> {
    if (!this.enabled) return 'disabled';
    const early = { server, ref, id };
    this.#early.add(early);
    const { watcher } = await this.#of(server);
    this.#early.delete(early);
    return watcher.supervisor.add(ref, id);
  }

  /** `id` no longer wants the container. Resolves when it is no longer watched for `id`, which may take as long as the vCenter does; wanted it is at once no more. */
  async remove(server: string, ref: MoRef, id: string): Promise<'applied' | 'disabled'> {
    if (!this.enabled) return 'disabled';
    // Behind whatever was wanted before, also while the watcher is being made.
    const one = await this.#watches.get(server);
    await one?.watcher.supervisor.remove(ref, id);
    return 'applied';
  }

  /** What is wanted on behalf of `id`. */
  holdings(id: string): readonly Holding[] {
    const early = [...this.#early].filter((one) => one.id === id);
    const held = [...this.#made.values()].flatMap(({ server, watcher }) =>
      watcher.supervisor.containers.filter(({ ids }) => ids.includes(id)).map(({ ref }) => ({ server, ref })),
    );
    return [...early, ...held];
  }

  /** Somebody looks at a machine though no signal bade him: see `Courier.looked`. */
  looked(server: string, machine: string): void {
    this.#made.get(server)?.watcher.courier.looked(machine);
  }

  /** An object appeared or got another machine: see `Courier.claimed`. */
  claimed(server: string, by: Claim): void {
    this.#made.get(server)?.watcher.courier.claimed(by);
  }

  /** How the watch on a vCenter stands, and whether something is left to hand over; undefined where there is none. Cheap. */
  standing(server: string): { readonly state: WatchState; readonly idle: boolean } | undefined {
    const watcher = this.#made.get(server)?.watcher;
    return watcher && { state: watcher.supervisor.state, idle: watcher.courier.pending === 0 };
  }

  /** For metrics and people: counts every machine. */
  reports(): readonly WatchReport[] {
    const now = this.#options.clock.now();
    return Array.from(this.#made.values(), ({ server, watcher: { ledger, supervisor, courier }, since, idle }) => ({
      vcenter: server,
      state: supervisor.state,
      machines: ledger.size,
      dirty: courier.pending,
      unresolved: courier.unresolved,
      containers: {
        wanted: supervisor.containers.length,
        watched: supervisor.containers.filter(({ watched }) => watched).length,
        refused: supervisor.containers.flatMap(({ ref, refused }) =>
          refused === undefined ? [] : [{ ref, why: refused }],
        ),
      },
      lag: idle ? 0 : (now - since) / 1000,
    }));
  }

  /** For `/readyz?verbose`: a vCenter that cannot be watched takes no replica out of service. */
  readonly check: HealthCheck = () => {
    if (!this.enabled) return { remark: 'disabled' };
    const remark = this.reports()
      .map(({ vcenter, state, dirty, unresolved, containers: { refused } }) => {
        const why = state.reason === undefined ? '' : ` (${state.reason})`;
        const [first] = refused;
        const more = refused.length > 1 ? `, and ${refused.length - 1} more` : '';
        const without = first === undefined ? '' : `, without ${refKey(first.ref)} (${first.why})${more}`;
        return `${vcenter} ${state.name}${why}${without}, ${dirty} to hand over, ${unresolved} without an object`;
      })
      .join('; ');
    return remark === '' ? undefined : { remark };
  };

  async run(signal: AbortSignal): Promise<void> {
    const stopped = ended(signal);
    if (this.enabled) {
      await Promise.race([Promise.all(this.#options.after ?? []), stopped]);
      if (!signal.aborted) {
        this.#signal = signal;
        using _ = this.#options.links.onChange((server) => {
          this.#made.get(server)?.watcher.supervisor.credentialsChanged();
        });
        for (const one of this.#made.values()) this.#start(one, signal);
        await stopped;
      }
    }
    await stopped;
    await Promise.race([Promise.all(this.#running), later(this.#options, ORDERLY_MS)]);
    if (this.#running.size > 0) await this.#options.links.disconnect();
    await Promise.all(this.#running);
  }

  #of(server: string): Promise<OneWatch> {
    let known = this.#watches.get(server);
    if (known === undefined) {
      known = this.#make(server);
      this.#watches.set(server, known);
    }
    return known;
  }

  async #make(server: string): Promise<OneWatch> {
    const { name, links, lookup, deliver, onState, onBaseline, onReplaced, onGone, ...more } = this.#options;
    const { enabled: _, after: __, metrics: ___, ...rest } = more;
    const { clock } = rest;
    const settled = (): void => {
      one.idle = one.watcher.courier.pending === 0;
    };
    const feed = links.of(server).feed(() => {
      if (one.idle) one.since = clock.now();
      // What changed may be noise, which nobody hands over.
      settled();
    });
    const watcher = await createWatcher({
      ...rest,
      feed,
      lookup: lookup(server),
      deliver: async (signal) => {
        await deliver(server, signal);
        this.#metrics.signal(name, server, signal.kind, (clock.now() - one.since) / 1000);
      },
      onResolved: (ref, resolution) => {
        if (resolution.kind === 'drop' && resolution.reason === 'baseline') onBaseline?.(server, ref);
        if (resolution.kind === 'drop') this.#metrics.dropped(name, server, resolution.reason);
        else if (resolution.kind !== 'signal') this.#metrics.dropped(name, server, resolution.kind);
        settled();
      },
      onState: (state) => {
        this.#metrics.entered(name, server, state.name);
        onState?.(server, state);
      },
      onReplaced: () => {
        this.#metrics.replaced(name, server);
        onReplaced?.(server);
      },
      onGone: (container) => onGone?.(server, container),
      onUnreadable: (path) => this.#metrics.unreadable(name, server, path),
    });
    const one: OneWatch = { server, watcher, since: clock.now(), idle: true };
    this.#made.set(server, one);
    if (this.#signal !== undefined) this.#start(one, this.#signal);
    return one;
  }

  #start({ watcher }: OneWatch, signal: AbortSignal): void {
    const run = watcher.run(signal).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }
}

async function ended(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

async function later({ clock }: Pick<WatchServiceOptions, 'clock'>, ms: number): Promise<void> {
  await clock.sleep(ms, { background: true });
}
