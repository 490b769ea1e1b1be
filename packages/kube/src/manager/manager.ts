import type { Logger } from 'pino';
import type { WatchHealth } from '../cache/watch-health.ts';
import type { Client } from '../client/client.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { Controller } from '../controller/controller.ts';
import { type KubeMetrics, kubeMetrics } from '../controller/metrics.ts';
import { runningText } from '../controller/running.ts';
import { type HealthCheck, type HealthChecks, serveHealth } from './health.ts';
import type { Leader } from './leader.ts';
import { dropListGarbage } from './list-garbage.ts';
import { RunError } from './run-error.ts';

/** The part of a cache that a manager handles: it owns the cache, and disposes it. */
export interface ManagedCache extends AsyncDisposable {
  readonly synced: Promise<void>;
  /** For metrics and for `/readyz?verbose`. */
  health?(): WatchHealth;
}

/** Work that runs for as long as the process leads, beside the controllers. Must return soon after the signal ended. */
export interface Service {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
}

/** Everything that runs in one process. */
export interface RunOptions {
  readonly client: Client;
  /** Named for `/readyz`. Started by whoever made them; disposed here, the last one first. */
  readonly caches: Readonly<Record<string, ManagedCache>>;
  readonly controllers: readonly Controller[];
  readonly services?: readonly Service[];
  /** Absent: this process always leads. */
  readonly leader?: Leader;
  /** Absent: no server. */
  readonly http?: { readonly port: number; readonly host?: string };
  readonly live?: HealthChecks;
  readonly ready?: HealthChecks;
  readonly metrics?: KubeMetrics;
  /** How long running reconciles may go on after the signal, in ms. Default 30,000. */
  readonly graceful?: number;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly signal: AbortSignal;
}

/** A running process. Disposing it stops it as its signal would, and waits. */
export interface Operator extends AsyncDisposable {
  /** Port of the health server, if there is one. */
  readonly port: number | undefined;
  /** What a health server asks, where one serves several of them. */
  readonly live: HealthChecks;
  readonly ready: HealthChecks;
  /**
   * Resolves after a clean stop, also where the leader is to wait. Rejects with `RunError`: LeaseLost, StopTimeout, or PartEnded when a controller, service or cache
   * failed.
   */
  readonly finished: Promise<void>;
}

/**
 * Starts, in this order: health server, caches (already under way), leadership, then controllers and services. Stops in
 * the reverse: no more keys are taken, running reconciles end (for at most `graceful` ms), the lease is released, caches
 * are disposed, the health server closes last. Some seconds after the caches have synced, what their lists left is collected. A lost lease aborts running reconciles at once and releases nothing.
 */
export async function run(options: RunOptions): Promise<Operator> {
  const { log, leader } = options;
  const clock = options.clock ?? systemClock;
  const metrics = options.metrics ?? kubeMetrics();
  const dispose = new AbortController();
  const stop = AbortSignal.any([options.signal, dispose.signal]);

  // Ours from now on, also where the server cannot start.
  await using caches = new AsyncDisposableStack();
  for (const [name, cache] of Object.entries(options.caches)) {
    caches.use(cache);
    if (cache.health !== undefined) metrics.watch(name, cache.health.bind(cache));
  }
  await using cleanup = new AsyncDisposableStack();
  let acting = false;
  const lease: HealthChecks =
    leader === undefined
      ? {}
      : {
          [`lease-${leader.name}`]: () =>
            acting && !leader.leading ? 'work goes on past the renew deadline of the lease' : undefined,
        };
  const live = { ...lease, ...options.live };
  const ready = { ...cacheChecks(options.caches), ...hangChecks(options.controllers), ...options.ready };
  let port: number | undefined;
  if (options.http !== undefined) {
    const server = await serveHealth({
      ...options.http,
      ...{ live: () => live, ready: () => ready, registry: metrics.registry },
    });
    cleanup.use(server);
    port = server.port;
    log.info({ port }, 'health and metrics are served');
  }
  cleanup.use(caches.move());
  if (leader !== undefined) metrics.leading(leader.name, false);

  const lead = async (held?: AbortSignal, waits?: AbortSignal): Promise<void> => {
    acting = true;
    const halt = waits === undefined ? stop : AbortSignal.any([stop, waits]);
    await work(options, { clock, metrics, stop: halt, held });
    // Not in a `finally`: what was given up may still be acting, and that is what the lease check is for.
    acting = false;
  };
  const resources = cleanup.move();
  const finished = (async () => {
    const parts = leader === undefined ? lead() : leader.run(lead, stop);
    try {
      await Promise.race([parts, failureOf(options.caches, stop)]);
      await parts;
    } catch (error) {
      dispose.abort();
      await parts.catch(() => undefined);
      throw error;
    } finally {
      if (leader !== undefined) metrics.leading(leader.name, false);
      await resources.disposeAsync();
    }
    log.info('stopped');
  })();
  // Whoever awaits `finished` later still gets the error; nobody awaiting it must not hide it from the log.
  finished.catch((error: unknown) => log.error({ err: error }, 'ended'));

  return {
    ...{ port, live, ready, finished },
    [Symbol.asyncDispose]: async () => {
      dispose.abort();
      await finished.catch(() => undefined);
    },
  };
}

interface Work {
  readonly clock: Clock;
  readonly metrics: KubeMetrics;
  readonly stop: AbortSignal;
  readonly held: AbortSignal | undefined;
}

/** Runs controllers and services until the stop signal, the loss of the lease, or the failure of one of them. */
async function work(options: RunOptions, { clock, metrics, stop, held }: Work): Promise<void> {
  if (options.leader !== undefined) metrics.leading(options.leader.name, true);
  const halt = new AbortController();
  const abort = new AbortController();
  const lost = (): void => {
    halt.abort();
    abort.abort(held?.reason);
  };
  const halted = (): void => halt.abort();
  held?.addEventListener('abort', lost, { once: true });
  stop.addEventListener('abort', halted, { once: true });
  if (stop.aborted) halted();

  const parts = [
    ...options.controllers.map((controller) => ({
      name: controller.name,
      done: controller.run({ log: options.log, metrics, clock, signal: halt.signal, abort: abort.signal }),
    })),
    ...(options.services ?? []).map((service) => ({
      name: service.name,
      done: (async () => service.run(halt.signal))(),
    })),
  ];
  const running = new Set(parts.map((part) => part.name));
  let failure: RunError | undefined;
  // Without any part the process still leads until it is told to stop.
  const idle = { name: '', done: parts.length === 0 ? ended(halt.signal) : Promise.resolve() };
  const all = Promise.all(
    [...parts, idle].map(async ({ name, done }) => {
      try {
        await done;
      } catch (error) {
        failure ??= new RunError('PartEnded', `${name} failed`, error);
        halt.abort();
      }
      running.delete(name);
    }),
  );
  const watch = new AbortController();
  try {
    const overdue = lateAfterHalt(halt.signal, abort.signal, options.graceful ?? 30_000, clock, watch.signal);
    if ((await Promise.race([all, overdue])) === 'late') {
      const names = [...running].map((name) => unfinished(name, options.controllers)).join('; ');
      const late = new RunError('StopTimeout', `${names} did not stop in time`, held?.reason);
      abort.abort(late);
      throw late;
    }
  } finally {
    watch.abort();
    held?.removeEventListener('abort', lost);
    stop.removeEventListener('abort', halted);
  }
  if (failure !== undefined) throw failure;
}

/** 'late' when `graceful` ms have passed since the halt, or a second since work was aborted. */
async function lateAfterHalt(
  halt: AbortSignal,
  abort: AbortSignal,
  graceful: number,
  clock: Clock,
  over: AbortSignal,
): Promise<'late' | undefined> {
  try {
    await ended(halt, over);
    if (over.aborted) return undefined;
    const wait = AbortSignal.any([over, abort]);
    await clock.sleep(graceful, { signal: wait }).catch(() => undefined);
    if (over.aborted) return undefined;
    if (abort.aborted) await clock.sleep(1_000, { signal: over });
    return 'late';
  } catch {
    return undefined;
  }
}

/** Resolves when the first of them ends. */
function ended(...signals: readonly AbortSignal[]): Promise<void> {
  const first = AbortSignal.any([...signals]);
  if (first.aborted) return Promise.resolve();
  return new Promise((resolve) => first.addEventListener('abort', () => resolve(), { once: true }));
}

/** Never resolves before the stop; rejects when a cache cannot sync. */
async function failureOf(caches: Readonly<Record<string, ManagedCache>>, stop: AbortSignal): Promise<void> {
  const all = Object.entries(caches).map(([name, cache]) =>
    cache.synced.catch((error: unknown) => {
      if (stop.aborted) return;
      throw new RunError('PartEnded', `cache ${name} did not sync`, error);
    }),
  );
  await Promise.all(all);
  if (all.length > 0) dropListGarbage();
  await ended(stop);
}

/** `machinesets (ns/a for 31 s)`: the part, and what in it has not returned. */
function unfinished(name: string, controllers: readonly Controller[]): string {
  const running = controllers.find((controller) => controller.name === name)?.running() ?? [];
  return running.length === 0 ? name : `${name} (${runningText(running)})`;
}

function hangChecks(controllers: readonly Controller[]): Record<string, HealthCheck> {
  return Object.fromEntries(
    controllers.map((controller): [string, HealthCheck] => [
      `controller-${controller.name}`,
      () => {
        const hanging = controller.running().filter((one) => one.hangs);
        return hanging.length === 0 ? undefined : { remark: `has not returned: ${runningText(hanging)}` };
      },
    ]),
  );
}

function cacheChecks(caches: Readonly<Record<string, ManagedCache>>): Record<string, HealthCheck> {
  const checks: Record<string, HealthCheck> = {};
  for (const [name, cache] of Object.entries(caches)) {
    let state: string | undefined = 'not synced';
    cache.synced.then(
      () => {
        state = undefined;
      },
      () => {
        state = 'failed to sync';
      },
    );
    checks[`cache-${name}`] = () => {
      const health = cache.health?.();
      const why = health?.reason === undefined ? '' : `: ${health.reason}`;
      if (state !== undefined) return `${state}${why}`;
      // A replica whose watch is broken works on with what it has: to take it out of service would help nobody.
      return health === undefined || health.healthy
        ? undefined
        : { remark: `WatchHealthy is false for ${Math.round(health.brokenFor / 1000)} s${why}` };
    };
  }
  return checks;
}
