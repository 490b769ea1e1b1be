import {
  type Clock,
  isVimError,
  type MoRef,
  type PropertyWatch,
  refKey,
  type UpdateFeed,
  VimError,
} from '@drydock/vsphere';
import { applied, type Container, type ContainerReport, Containers, isOfContainer, refused } from './containers.ts';
import { Failures } from './failures.ts';
import { Interrupt } from './interrupt.ts';
import type { Ledger } from './ledger.ts';
import { readWatch } from './reading.ts';
import { selfCheck } from './self-check.ts';
import { remedyFor, type WatchState, type WatchStateName } from './state.ts';
import type { WatchLog } from './watch-log.ts';

/** What a {@link Supervisor} needs. */
export interface SupervisorOptions {
  readonly feed: UpdateFeed;
  readonly ledger: Ledger;
  readonly paths: readonly string[];
  readonly clock: Clock;
  readonly log: WatchLog;
  /** In [0, 1); for the jitter of repetitions. */
  readonly random?: () => number;
  /** How long the server may hold a wait; at most half the idle limit of its sessions. Default 60. */
  readonly maxWaitSeconds?: number;
  /** How often the machines that the server has are compared with those that are known. Default 15 minutes; 0 never. */
  readonly selfCheckMs?: number;
  readonly onState?: (state: WatchState) => void;
  /** Another vCenter answers under the address: what is remembered of the former one anywhere is void. Called before anything is read from the new one. */
  readonly onReplaced?: () => void;
  /** A container is not there (any more), told at each attempt: who knows it by its path may find another one there. */
  readonly onGone?: (container: MoRef) => void;
}

/** How long `add` waits before it says `pending`. */
const PATIENCE_MS = 5_000;
/** How often it is looked for containers that are to be tried again, and for such as are gone. */
const RETRY_MS = 30_000;

/**
 * Keeps a watch on the machines of one vCenter, whatever happens to connections, sessions and the server. What is to be watched is kept here and outlives every watch; what
 * was seen is kept in the ledger. `run` returns when its signal ends, and never throws for anything that a server does.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #containers = new Containers();
  /** Dropped while no watch was open, or in vain: their machines will be missed in the next pass, which is no news. */
  readonly #dropped: MoRef[] = [];
  #state: WatchState;
  /** about.instanceUuid of the vCenter that was watched last. */
  #instance: string | undefined;
  #watch: PropertyWatch | undefined;
  /** The end of the last change of an open watch: changes go one after another. */
  #changes: Promise<void> = Promise.resolve();
  #wake = new AbortController();
  /** Ends the wait that is under way, for a full pass. */
  #wait: Interrupt | undefined;
  /** Settles when a watch was opened, or none will be any more. */
  #opened = Promise.withResolvers<void>();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#state = { name: 'idle', since: options.clock.now() };
  }

  get state(): WatchState {
    return this.#state;
  }

  /** Containers that somebody wants, and whether they are watched at this moment. */
  get containers(): readonly ContainerReport[] {
    return this.#containers.reports;
  }

  /**
   * Wants a container on behalf of `id`. Resolves to `applied` when it is watched, to `pending` where that takes longer than 5 s (no connection, or the container does
   * not exist): it is wanted all the same, and watched as soon as that is possible. Never fails.
   */
  async add(ref: MoRef, id: string): Promise<'applied' | 'pending'> {
    const { container, fresh } = this.#containers.want(ref, id);
    if (fresh) this.#wakeUp();
    if (container.applied) return 'applied';
    const late = new AbortController();
    let patient = true;
    const deadline = this.#options.clock
      .sleep(PATIENCE_MS, { background: true, signal: late.signal })
      .catch(() => undefined)
      .then(() => {
        patient = false;
      });
    while (!isApplied(container) && patient && this.#state.name !== 'stopped') {
      const watch = this.#watch;
      await Promise.race([watch === undefined ? this.#opened.promise : this.#apply(container), deadline]);
      // Refused by the server: the upkeep tries it again.
      if (watch !== undefined && watch === this.#watch) break;
    }
    late.abort();
    return isApplied(container) ? 'applied' : 'pending';
  }

  /** `id` no longer wants the container; it is watched as long as somebody does. Unknown ids and containers are none of an error. */
  async remove(ref: MoRef, id: string): Promise<void> {
    const container = this.#containers.release(ref, id);
    if (container === undefined) return;
    if (this.#watch === undefined) {
      if (container.everApplied) this.#dropped.push(ref);
      return;
    }
    await this.#drop(ref);
  }

  /** Another credential is at hand: a back-off ends now. */
  credentialsChanged(): void {
    this.#wakeUp();
  }

  /** Looks at everything again. */
  resync(): void {
    this.#wait?.interrupt();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, feed, log } = this.#options;
    const upkeep = this.#upkeep(signal);
    const failures = new Failures();
    while (!signal.aborted) {
      if (this.#containers.size === 0) {
        this.#enter('idle');
        await this.#sleep(RETRY_MS, signal);
        continue;
      }
      try {
        await this.#watchOnce(signal, () => failures.live(clock.now()));
      } catch (error) {
        if (signal.aborted) break;
        const remedy = remedyFor(error);
        const waitMs = Math.round(failures.next(remedy, clock.now(), this.#random));
        log.warn(
          { server: feed.server, err: error, remedy, waitMs },
          'The watch on this vCenter ended; Drydock opens it again. If this warning repeats, follow the error.',
        );
        this.#enter('rebuilding', error);
        if (waitMs === 0) continue;
        const due = isVimError(error) ? (error.retryAfterMs ?? 0) : 0;
        this.#enter('backoff', error, clock.now() + Math.max(waitMs, due));
        await this.#sleep(waitMs, signal);
      }
    }
    await upkeep;
    this.#enter('stopped');
    this.#tellAdders();
  }

  readonly #random = (): number => (this.#options.random ?? Math.random)();

  /** Opens a watch and reads from it until it breaks. */
  async #watchOnce(signal: AbortSignal, onLive: () => void): Promise<void> {
    const { feed, ledger, paths, maxWaitSeconds, clock } = this.#options;
    this.#enter('connecting');
    const wanted = [...this.#containers];
    const asked: Container[] = [];
    for (const container of wanted) {
      try {
        if (!container.everApplied && ledger.passed)
          ledger.expectIn((await feed.survey([container.ref], 'name', { signal })).keys());
        asked.push(container);
      } catch (error) {
        if (!isOfContainer(error)) throw error;
        this.#refuse(container, error);
      }
    }
    const spec = { paths, containers: asked.map(({ ref }) => ref) };
    await using watch = await feed.watch(spec, { signal, ...(maxWaitSeconds === undefined ? {} : { maxWaitSeconds }) });
    await this.#recognize(signal);
    this.#watch = watch;
    const refusals = new Map(watch.refused.map(({ ref, error }) => [refKey(ref), error]));
    const there: Container[] = [];
    for (const container of asked) {
      const error = refusals.get(refKey(container.ref));
      if (error !== undefined) this.#refuse(container, error);
      else {
        applied(container);
        there.push(container);
      }
    }
    this.#tellAdders();
    try {
      // Wanted or dropped while it was opened.
      for (const container of this.#containers) if (!wanted.includes(container)) void this.#apply(container);
      for (const { ref } of there) {
        if (!this.#containers.has(ref)) await this.#change((open) => open.remove(ref).catch(() => undefined));
      }
      const wait = new Interrupt(signal);
      this.#wait = wait;
      await readWatch(watch, wait, {
        ...{ ledger, onLive, now: () => clock.now(), random: this.#random },
        endPass: () => this.#endPass(signal),
        enter: (name, error) => this.#enter(name, error),
        // Other credentials, or another address, end this one, too.
        sleep: (ms) => this.#sleep(ms, signal),
      });
    } finally {
      this.#watch = undefined;
      this.#wait = undefined;
      this.#containers.closed();
    }
  }

  /** References mean nothing in another vCenter, and what it has under them was never looked at. */
  async #recognize(signal: AbortSignal): Promise<void> {
    const { feed, ledger, log, onReplaced } = this.#options;
    const now = await feed.instanceUuid({ signal });
    const before = this.#instance;
    this.#instance = now;
    if (before === undefined || before === now) return;
    log.warn(
      { server: feed.server, before, now },
      'Another vCenter answers under this address: what was known of the former one is void. Check what refers to it by reference, such as the folders of Zones.',
    );
    ledger.clear();
    this.#dropped.length = 0;
    this.#containers.forget();
    onReplaced?.();
  }

  async #endPass(signal: AbortSignal): Promise<void> {
    const { feed, ledger } = this.#options;
    const dropped = this.#dropped.splice(0);
    if (dropped.length > 0) {
      try {
        ledger.expectOut((await feed.survey(dropped, 'name', { signal })).keys());
      } catch (error) {
        signal.throwIfAborted();
        // Then their machines are told as gone: a look too many.
        this.#note(
          error,
          undefined,
          'The machines of a removed container could not be listed; Drydock looks at each of them once more. No action is needed.',
        );
      }
    }
    ledger.endPass(this.#containers.obscured);
  }

  /** Puts a container into the open watch. */
  #apply(container: Container): Promise<void> {
    return this.#change(async (watch) => {
      const { feed, ledger } = this.#options;
      if (container.applied || !this.#containers.wants(container)) return;
      try {
        // What it has at this moment is found; what comes into it later is news.
        ledger.expectIn((await feed.survey([container.ref], 'name')).keys());
        await watch.add(container.ref);
        if (this.#watch !== watch) return;
        // Which of its machines are still there only a full pass tells.
        if (applied(container)) this.resync();
      } catch (error) {
        if (isOfContainer(error)) this.#refuse(container, error);
        else
          this.#note(
            error,
            container.ref,
            'A container cannot be watched now; Drydock tries again. If this warning repeats, check the container and the privileges of the user.',
          );
      }
    });
  }

  /** Takes a container out of the open watch. */
  #drop(ref: MoRef): Promise<void> {
    return this.#change(async (watch) => {
      const { feed, ledger } = this.#options;
      try {
        const others = this.#containers.applied;
        const [inside, kept] = [await feed.survey([ref], 'name'), await feed.survey(others, 'name')];
        // What is in another container as well stays, and nobody would say of it that it entered.
        ledger.expectOut([...inside.keys()].filter((machine) => !kept.has(machine)));
        await watch.remove(ref);
        ledger.dropExpected();
      } catch (error) {
        // It is tried again, and the next watch has only what is wanted then.
        this.#dropped.push(ref);
        this.#note(
          error,
          ref,
          'A removed container is still watched; Drydock tries again within 30 s. If this warning repeats, check the connection to this vCenter.',
        );
      }
    });
  }

  #change(change: (watch: PropertyWatch) => Promise<void>): Promise<void> {
    const done = this.#changes.then(async () => {
      if (this.#watch !== undefined) await change(this.#watch);
    });
    this.#changes = done.catch(() => undefined);
    return done;
  }

  /** Retries what is pending, and compares now and then. Ends with the signal. */
  async #upkeep(signal: AbortSignal): Promise<void> {
    const { clock, feed, ledger, log, selfCheckMs } = this.#options;
    const differs = selfCheck({ feed, ledger, clock, everyMs: selfCheckMs });
    while (!signal.aborted) {
      try {
        await clock.sleep(RETRY_MS, { background: true, signal });
        if (this.#watch === undefined) continue;
        await this.#missing(signal);
        for (const container of this.#containers.due(clock.now())) await this.#apply(container);
        if (this.#state.name !== 'live') continue;
        for (const ref of this.#dropped.splice(0)) if (!this.#containers.has(ref)) await this.#drop(ref);
        // Of machines that may not be seen the inventory says nothing.
        if (this.#containers.obscured) continue;
        const found = await differs(this.#containers.applied, signal);
        if (found === '') continue;
        log.warn(
          { server: feed.server, difference: found },
          'The watch and the inventory differ; Drydock reads everything again. No action is needed.',
        );
        this.resync();
      } catch (error) {
        if (!signal.aborted)
          this.#note(
            error,
            undefined,
            'The watch could not be compared with the inventory; Drydock tries again within 30 s. If this warning repeats, check the connection to this vCenter.',
          );
      }
    }
  }

  /** No server says that a container is gone while it is watched: it has no machines any more, that is all. */
  async #missing(signal: AbortSignal): Promise<void> {
    const { feed } = this.#options;
    const watched = [...this.#containers].filter(isApplied);
    if (watched.length === 0) return;
    const found = new Set((await feed.existing(this.#containers.applied, { signal })).map(refKey));
    for (const container of watched) {
      if (!found.has(refKey(container.ref)))
        await this.#change(async (watch) => {
          if (!container.applied || !this.#containers.wants(container)) return;
          await watch.remove(container.ref);
          this.#refuse(container, gone(container.ref));
        });
    }
  }

  /** It is tried again by itself, and nothing else waits for it. */
  #refuse(container: Container, error: VimError): void {
    const { clock, onGone } = this.#options;
    if (refused(container, error, clock.now()))
      this.#note(
        error,
        container.ref,
        'A container cannot be watched now; Drydock tries again and watches the others. If this warning repeats, check the container and the privileges of the user.',
      );
    if (error.code === 'VIM_GONE') onGone?.(container.ref);
  }

  /** Until the time is over, somebody wakes us, or the signal ends. */
  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    this.#wake = new AbortController();
    const end = AbortSignal.any([signal, this.#wake.signal]);
    await this.#options.clock.sleep(ms, { background: true, signal: end }).catch(() => undefined);
  }

  #wakeUp(): void {
    this.#wake.abort();
  }

  #tellAdders(): void {
    this.#opened.resolve();
    this.#opened = Promise.withResolvers<void>();
  }

  #enter(name: WatchStateName, error?: unknown, until?: number): void {
    const reason = error instanceof Error ? error.message : undefined;
    if (this.#state.name === name && this.#state.reason === reason) return;
    this.#state = {
      name,
      since: this.#options.clock.now(),
      ...(reason === undefined ? {} : { reason }),
      ...(until === undefined ? {} : { until }),
    };
    this.#options.onState?.(this.#state);
  }

  #note(error: unknown, container: MoRef | undefined, message: string): void {
    const { log, feed } = this.#options;
    const about = container === undefined ? {} : { container: refKey(container) };
    log.warn({ server: feed.server, err: error, ...about }, message);
  }
}

function isApplied(container: Container): boolean {
  return container.applied;
}

function gone(ref: MoRef): VimError {
  const message = `${refKey(ref)} is not there any more, or this user may not see it`;
  return new VimError({ kind: 'protocol', code: 'VIM_GONE', op: 'watch', message });
}
