import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { WatchHealth } from '../cache/watch-health.ts';
import { keyText } from '../resource.ts';
import type { QueueObserver, WorkQueue } from './queue.ts';
import type { RunningReconcile } from './running.ts';
import { tallies } from './tally.ts';
import { watchMetrics } from './watch-metrics.ts';

/** How one reconcile ended, in controller-runtime's words. */
export type ReconcileResult = 'success' | 'error' | 'requeue' | 'requeue_after';

/** What a queue holds; `working`: ms of work so far for each key that a worker has. */
export type QueueState = Pick<WorkQueue<never>, 'depth' | 'working'>;

/** What one controller counts. Durations are in seconds. */
export interface ControllerMetrics {
  result(result: ReconcileResult, seconds: number): void;
  terminal(): void;
  panicked(): void;
  timedOut(): void;
  /** Asked when metrics are read: what has not returned for too long. */
  hanging(read: () => readonly RunningReconcile[]): void;
  /** The queue's part; what the queue holds is asked when metrics are read. */
  queue(read: () => QueueState): QueueObserver;
}

/** One set of metrics with a registry of its own. Names and buckets are controller-runtime's, so existing dashboards fit. */
export interface KubeMetrics {
  readonly registry: Registry;
  controller(name: string, concurrency: number): ControllerMetrics;
  /** One call on the API server; `code` is the HTTP status or `<error>`. */
  request(call: {
    readonly code: string;
    readonly method: string;
    readonly host: string;
    readonly seconds: number;
  }): void;
  leading(name: string, leading: boolean): void;
  /** The account of one cache's watch, asked when metrics are read. */
  watch(cache: string, health: () => WatchHealth): void;
}

const RECONCILE_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
const QUEUE_BUCKETS = Array.from({ length: 12 }, (_, power) => 10 ** (power - 8));
const REQUEST_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** Makes the set. `process: true` adds memory, CPU and event loop metrics of this process; once per process is enough. */
export function kubeMetrics(options: { readonly process?: boolean } = {}): KubeMetrics {
  const registry = new Registry();
  const registers = [registry];
  if (options.process === true) collectDefaultMetrics({ register: registry });
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[]): Gauge<L> =>
    new Gauge({ name, help, labelNames, registers });

  const runs = 'controller_runtime_reconcile';
  const results = new Map<string, Readonly<Record<ReconcileResult, number>>>();
  new Counter({
    name: `${runs}_total`,
    help: 'Reconciles by result.',
    labelNames: ['controller', 'result'],
    registers,
    collect() {
      this.reset();
      for (const [controller, ended] of results)
        for (const [result, count] of Object.entries(ended)) this.inc({ controller, result }, count);
    },
  });
  const errors = counter(`${runs}_errors_total`, 'Reconciles that failed.', ['controller']);
  const terminal = counter('controller_runtime_terminal_reconcile_errors_total', 'Failures that are not retried.', [
    'controller',
  ]);
  const panics = counter(`${runs}_panics_total`, 'Reconciles that ended in a programming error.', ['controller']);
  const timeouts = counter(`${runs}_timeouts_total`, 'Reconciles that ran into their time limit.', ['controller']);
  const time = tallies(registry, {
    name: `${runs}_time_seconds`,
    help: 'Length of reconciles.',
    buckets: RECONCILE_BUCKETS,
  });
  const workers = gauge('controller_runtime_max_concurrent_reconciles', 'Most reconciles at a time.', ['controller']);

  const of = ['name', 'controller'] as const;
  const retries = counter('workqueue_retries_total', 'Adds with back-off.', of);
  const waited = tallies(registry, {
    name: 'workqueue_queue_duration_seconds',
    help: 'Time from ready to taken.',
    buckets: QUEUE_BUCKETS,
  });
  const worked = tallies(registry, {
    name: 'workqueue_work_duration_seconds',
    help: 'Time from taken to done.',
    buckets: QUEUE_BUCKETS,
  });
  const queues = new Map<string, { readonly read: () => QueueState; added: number }>();
  // Asked when metrics are read: to set a metric costs more than most that happens between two changes.
  const collected = (name: string, help: string, measure: (state: QueueState) => number): Gauge =>
    new Gauge({
      name,
      help,
      labelNames: of,
      registers,
      collect() {
        for (const [queue, { read }] of queues) this.set({ name: queue, controller: queue }, measure(read()));
      },
    });
  collected('workqueue_depth', 'Keys that are ready.', ({ depth }) => depth);
  collected('workqueue_unfinished_work_seconds', 'Sum of work in progress.', (state) =>
    state.working().reduce((sum, ms) => sum + ms / 1000, 0),
  );
  collected('workqueue_longest_running_processor_seconds', 'Longest work in progress.', (state) =>
    Math.max(0, ...state.working().map((ms) => ms / 1000)),
  );
  new Gauge({
    name: 'controller_runtime_active_workers',
    help: 'Reconciles that run now.',
    labelNames: ['controller'],
    registers,
    collect() {
      for (const [controller, { read }] of queues) this.set({ controller }, read().working().length);
    },
  });
  new Counter({
    name: 'workqueue_adds_total',
    help: 'Adds.',
    labelNames: of,
    registers,
    collect() {
      this.reset();
      for (const [queue, { added }] of queues) this.inc({ name: queue, controller: queue }, added);
    },
  });

  const hanging = new Map<string, () => readonly RunningReconcile[]>();
  // The object as a label: there are never more of them than workers.
  new Gauge({
    name: 'drydock_hanging_reconcile_seconds',
    help: 'Age of a reconcile that has not returned for too long.',
    labelNames: ['controller', 'object'],
    registers,
    collect() {
      this.reset();
      for (const [controller, read] of hanging) {
        for (const { key, age } of read()) this.set({ controller, object: keyText(key) }, age / 1000);
      }
    },
  });

  const requests = counter('rest_client_requests_total', 'Calls on the API server.', ['code', 'method', 'host']);
  const latency = new Histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'Length of calls.',
    labelNames: ['verb', 'host'],
    buckets: REQUEST_BUCKETS,
    registers,
  });
  const master = gauge('leader_election_master_status', '1 while this process leads.', ['name']);

  return {
    registry,
    controller: (name, concurrency) => {
      const controller = { controller: name };
      const queue = { name, controller: name };
      workers.set(controller, concurrency);
      const ended: Record<ReconcileResult, number> = { success: 0, error: 0, requeue: 0, requeue_after: 0 };
      results.set(name, ended);
      const observe = time(controller);
      for (const one of [errors, terminal, panics, timeouts]) one.inc(controller, 0);
      return {
        result: (result, seconds) => {
          ended[result] += 1;
          observe(seconds);
          if (result === 'error') errors.inc(controller);
        },
        terminal: () => terminal.inc(controller),
        panicked: () => panics.inc(controller),
        timedOut: () => timeouts.inc(controller),
        hanging: (read) => void hanging.set(name, read),
        queue: (read) => {
          const state = { read, added: 0 };
          queues.set(name, state);
          const [wait, work] = [waited(queue), worked(queue)];
          return {
            added: () => {
              state.added += 1;
            },
            retried: () => retries.inc(queue),
            taken: (ms) => wait(ms / 1000),
            done: (ms) => work(ms / 1000),
          };
        },
      };
    },
    request: ({ code, method, host, seconds }) => {
      requests.inc({ code, method, host });
      latency.observe({ verb: method, host }, seconds);
    },
    watch: watchMetrics(registry),
    leading: (name, leading) => master.set({ name }, leading ? 1 : 0),
  };
}
