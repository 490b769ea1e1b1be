import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../clock.ts';
import { ApiError, Terminal } from '../errors.ts';
import { type Key, type KubeObject, keyText } from '../resource.ts';
import type { ControllerMetrics, KubeMetrics } from './metrics.ts';
import type { Predicate } from './predicates.ts';
import { LOW_PRIORITY, type WorkQueue, workQueue } from './queue.ts';
import { HANGS_AFTER, type RunningReconcile, type RunningReconciles, runningReconciles } from './running.ts';
import { forEach, type Source, type Watched } from './source.ts';
import type { Rate } from './token-bucket.ts';

/** What a reconcile gets besides its key. */
export interface ReconcileContext {
  /** Ends when the reconcile's time limit is over, when leadership is lost, and when a stop has lasted too long. */
  readonly signal: AbortSignal;
  /** Ends when the process is to stop: what lasts and can be left without harm is left then, instead of using up the time that a stop may take. */
  readonly stopping: AbortSignal;
  /** Carries the controller's name, the object and an id of this run. */
  readonly log: Logger;
  /** Wall-clock time, for what is written into objects. */
  readonly now: () => Date;
}

/** `{ after }`: look again after so many ms; 0: with back-off, like a failure that is none. `undefined`: done until something changes. */
export type ReconcileOutcome = { readonly after: number } | undefined;

/**
 * Brings the world one step closer to what the object with this key wants.
 *
 * It is told which object, never what happened: many changes may be one call, and one change may be two. So it reads what it
 * needs (from caches, whose objects it never edits), decides, acts, and is correct from any state, including its own crash
 * half-way. An object that is gone is a case, not an error. Two calls never run for the same key at the same time; calls
 * for different keys do.
 *
 * Return `undefined` when there is nothing to do until something changes, `{ after }` to be called again at that time at the
 * latest. Throw to be called again with back-off; throw `Terminal` when only a change of the object can help. After `signal`
 * ends nothing may be written any more.
 */
export type Reconcile = (key: Key, context: ReconcileContext) => Promise<ReconcileOutcome>;

/** A controller as data. */
export interface ControllerSpec<T extends KubeObject> {
  /** Names queue, metrics and log lines; unique in a process. */
  readonly name: string;
  /** Keys at a time; 1 when absent. */
  readonly concurrency?: number;
  /** The objects that it reconciles. */
  readonly for: Watched<T>;
  /** Which of their changes count; all when absent. */
  readonly when?: Predicate<T>;
  /** Other objects whose changes are work, see `on`. */
  readonly watches?: readonly Source[];
  readonly reconcile: Reconcile;
  /** Time limit of one reconcile in ms; none when absent. */
  readonly timeout?: number;
  /** A reconcile that runs longer than this (ms) is reported by name and age: log, metric, readiness detail. 60,000 when absent. */
  readonly hangsAfter?: number;
  /** Back-off of a failing key in ms: first and longest. 5 and 1,000,000 when absent. */
  readonly backOff?: { readonly first?: number; readonly longest?: number };
  /** How often failing keys are tried again, all together; see `QueueOptions`. */
  readonly retryRate?: Rate;
}

/** What a running controller needs from its manager. */
export interface ControllerEnvironment {
  readonly log: Logger;
  readonly metrics: KubeMetrics;
  readonly clock?: Clock;
  /** Ends running reconciles; the other signal only stops taking keys. */
  readonly abort?: AbortSignal;
  /** Stops taking keys; running reconciles go on. */
  readonly signal: AbortSignal;
}

/** A controller that can be run once. */
export interface Controller {
  readonly name: string;
  /** Resolves after the signal ended and the last reconcile returned. Rejects only if a source fails to sync. */
  run(environment: ControllerEnvironment): Promise<void>;
  /** Asks for a reconcile of this key, from outside any source. Ignored before `run`: the first list brings every key. */
  enqueue(key: Key, options?: { readonly after?: number; readonly priority?: number }): void;
  /** The reconciles that have not returned, the oldest first. */
  running(): readonly RunningReconcile[];
}

/** For reconciles that nothing ends but themselves. */
const NEVER: AbortSignal = new AbortController().signal;

type Outcome =
  | { readonly kind: 'success' }
  | { readonly kind: 'after'; readonly after: number }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'timeout' | 'panic' | 'terminal' | 'error'; readonly error: unknown };

/** Makes a controller. Nothing runs before `run`. */
export function controller<T extends KubeObject>(spec: ControllerSpec<T>): Controller {
  const concurrency = spec.concurrency ?? 1;
  const sources = [forEach(spec.for, spec.when), ...(spec.watches ?? [])];
  let open: WorkQueue<Key> | undefined;
  let running: RunningReconciles | undefined;

  return {
    name: spec.name,
    enqueue: (key, options) => open?.add(key, options),
    running: () => running?.list() ?? [],
    run: async (environment) => {
      const clock = environment.clock ?? systemClock;
      const metrics = environment.metrics.controller(spec.name, concurrency);
      using queue: WorkQueue<Key> = workQueue<Key>({
        id: keyText,
        clock,
        observer: metrics.queue(() => queue),
        ...(spec.backOff?.first === undefined ? {} : { baseDelay: spec.backOff.first }),
        ...(spec.backOff?.longest === undefined ? {} : { maxDelay: spec.backOff.longest }),
        ...(spec.retryRate === undefined ? {} : { retryRate: spec.retryRate }),
      });
      using subscriptions = new DisposableStack();
      open = queue;
      using reconciles = runningReconciles(clock, spec.hangsAfter ?? HANGS_AFTER);
      running = reconciles;
      metrics.hanging(() => reconciles.list().filter((one) => one.hangs));
      for (const source of sources) {
        const enqueue = (key: Key, initial: boolean): void => queue.add(key, initial ? { priority: LOW_PRIORITY } : {});
        subscriptions.use(source.start(enqueue));
      }
      try {
        if (!(await synced(sources, environment.signal))) return;
        const work = new Worker(spec, environment, clock, metrics, queue, reconciles);
        await Promise.all(Array.from({ length: concurrency }, () => work.run()));
      } finally {
        open = undefined;
      }
    },
  };
}

class Worker<T extends KubeObject> {
  readonly #spec: ControllerSpec<T>;
  readonly #environment: ControllerEnvironment;
  readonly #clock: Clock;
  readonly #metrics: ControllerMetrics;
  readonly #queue: WorkQueue<Key>;
  readonly #running: RunningReconciles;
  readonly #log: Logger;

  constructor(
    spec: ControllerSpec<T>,
    environment: ControllerEnvironment,
    clock: Clock,
    metrics: ControllerMetrics,
    queue: WorkQueue<Key>,
    running: RunningReconciles,
  ) {
    this.#spec = spec;
    this.#environment = environment;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#queue = queue;
    this.#running = running;
    this.#log = environment.log.child({ controller: spec.name });
  }

  async run(): Promise<void> {
    for (;;) {
      const key = await this.#queue.take(this.#environment.signal);
      if (key === undefined) return;
      try {
        await this.#one(key);
      } finally {
        this.#queue.done(key);
      }
    }
  }

  async #one(key: Key): Promise<void> {
    // Most reconciles say nothing: a logger is made for those that do.
    let made: Logger | undefined;
    const log = (): Logger => (made ??= this.#log.child({ object: keyText(key), reconcileId: randomUUID() }));
    const ended = this.#running.begin(key, log);
    const outcome = await this.#reconcile(key, log);
    const seconds = ended() / 1000;
    switch (outcome.kind) {
      case 'success':
        this.#queue.forget(key);
        this.#metrics.result('success', seconds);
        return;
      case 'after':
        if (outcome.after > 0) {
          this.#queue.forget(key);
          this.#queue.add(key, { after: outcome.after });
        } else this.#queue.retry(key);
        this.#metrics.result(outcome.after > 0 ? 'requeue_after' : 'requeue', seconds);
        return;
      case 'stopped':
        return;
      case 'terminal':
        log().error({ err: outcome.error }, 'reconcile failed; not retried until something changes');
        this.#queue.forget(key);
        this.#metrics.terminal();
        this.#metrics.result('error', seconds);
        return;
      case 'panic':
        this.#metrics.panicked();
        break;
      case 'timeout':
        this.#metrics.timedOut();
        break;
      case 'error':
        break;
    }
    const { error } = outcome;
    const asked = error instanceof ApiError ? error.retryAfter : undefined;
    this.#queue.retry(key, asked === undefined ? {} : { atLeast: asked });
    log().error(
      { err: error, failures: this.#queue.failures(key) },
      `reconcile failed (${outcome.kind}); retried with back-off`,
    );
    this.#metrics.result('error', seconds);
  }

  async #reconcile(key: Key, log: () => Logger): Promise<Outcome> {
    const { abort } = this.#environment;
    const limit = this.#limit(key);
    const signal =
      limit !== undefined && abort !== undefined
        ? AbortSignal.any([limit.signal, abort])
        : (limit?.signal ?? abort ?? NEVER);
    try {
      const outcome = await this.#spec.reconcile(key, new Context(signal, this.#environment.signal, log, this.#clock));
      return outcome === undefined ? { kind: 'success' } : { kind: 'after', after: outcome.after };
    } catch (error) {
      // What failed while it was told to stop is done by whoever comes next.
      if (abort?.aborted === true || this.#environment.signal.aborted) return { kind: 'stopped' };
      if (limit?.signal.aborted === true) return { kind: 'timeout', error };
      if (error instanceof Terminal) return { kind: 'terminal', error };
      return { kind: isPanic(error) ? 'panic' : 'error', error };
    } finally {
      // Not `using`: V8 does not optimise functions that have it, and this one runs for every event.
      limit?.[Symbol.dispose]();
    }
  }

  /** Ends when the time of one reconcile is over; undefined where there is no limit. */
  #limit(key: Key): (Disposable & { readonly signal: AbortSignal }) | undefined {
    const ms = this.#spec.timeout;
    if (ms === undefined) return undefined;
    const end = new AbortController();
    const limit = new AbortController();
    this.#clock.sleep(ms, { signal: end.signal }).then(
      () => limit.abort(new DOMException(`reconcile of ${keyText(key)} took longer than ${ms} ms`, 'TimeoutError')),
      () => undefined,
    );
    return { signal: limit.signal, [Symbol.dispose]: () => end.abort() };
  }
}

class Context implements ReconcileContext {
  readonly signal: AbortSignal;
  readonly stopping: AbortSignal;
  readonly #log: () => Logger;
  readonly #clock: Clock;

  constructor(signal: AbortSignal, stopping: AbortSignal, log: () => Logger, clock: Clock) {
    this.signal = signal;
    this.stopping = stopping;
    this.#log = log;
    this.#clock = clock;
  }

  get log(): Logger {
    return this.#log();
  }

  get now(): () => Date {
    return () => this.#clock.date();
  }
}

/** A mistake in the program rather than in the world: what Go would panic on. Counted apart, retried like any failure. */
function isPanic(error: unknown): boolean {
  return (
    !(error instanceof Error) ||
    error instanceof TypeError ||
    error instanceof ReferenceError ||
    error instanceof RangeError ||
    error instanceof SyntaxError
  );
}

/** False when the signal ended first. */
async function synced(sources: readonly Source[], signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  const { promise, resolve } = Promise.withResolvers<false>();
  const stop = (): void => resolve(false);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([Promise.all(sources.map((source) => source.synced)).then(() => true as const), promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
