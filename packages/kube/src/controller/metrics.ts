import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { WatchHealth } from '../cache/watch-health.ts';
import { keyText } from '../resource.ts';
import type { QueueObserver } from './queue.ts';
import type { RunningReconcile } from './running.ts';
import { watchMetrics } from './watch-metrics.ts';

/** How one reconcile ended, in controller-runtime's words. */
export type ReconcileResult = 'success' | 'error' | 'requeue' | 'requeue_after';

/** What one controller counts. Durations are in seconds. */
export interface ControllerMetrics {
  result(result: ReconcileResult, seconds: number): void;
  terminal(): void;
  panicked(): void;
  timedOut(): void;
  active(workers: number): void;
  /** Asked when metrics are read: what has not returned for too long. */
  hanging(read: () => readonly RunningReconcile[]): void;
  /** The queue's part; `working` is asked when metrics are read: ms of work so far per key. */
  queue(working: () => readonly number[]): QueueObserver;
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
  const histogram = <L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    buckets: number[],
  ): Histogram<L> => new Histogram({ name, help, labelNames, buckets, registers });

  const runs = 'controller_runtime_reconcile';
  const total = counter(`${runs}_total`, 'Reconciles by result.', ['controller', 'result']);
  const errors = counter(`${runs}_errors_total`, 'Reconciles that failed.', ['controller']);
  const terminal = counter('controller_runtime_terminal_reconcile_errors_total', 'Failures that are not retried.', [
    'controller',
  ]);
  const panics = counter(`${runs}_panics_total`, 'Reconciles that ended in a programming error.', ['controller']);
  const timeouts = counter(`${runs}_timeouts_total`, 'Reconciles that ran into their time limit.', ['controller']);
  const time = histogram(`${runs}_time_seconds`, 'Length of reconciles.', ['controller'], RECONCILE_BUCKETS);
  const workers = gauge('controller_runtime_max_concurrent_reconciles', 'Most reconciles at a time.', ['controller']);
  const active = gauge('controller_runtime_active_workers', 'Reconciles that run now.', ['controller']);

  const of = ['name', 'controller'] as const;
  const depth = gauge('workqueue_depth', 'Keys that are ready.', of);
  const adds = counter('workqueue_adds_total', 'Adds.', of);
  const retries = counter('workqueue_retries_total', 'Adds with back-off.', of);
  const waited = histogram('workqueue_queue_duration_seconds', 'Time from ready to taken.', of, QUEUE_BUCKETS);
  const worked = histogram('workqueue_work_duration_seconds', 'Time from taken to done.', of, QUEUE_BUCKETS);
  const queues = new Map<string, () => readonly number[]>();
  const collected = (name: string, help: string, measure: (seconds: readonly number[]) => number): Gauge =>
    new Gauge({
      name,
      help,
      labelNames: of,
      registers,
      collect() {
        for (const [queue, working] of queues) {
          this.set({ name: queue, controller: queue }, measure(working().map((ms) => ms / 1000)));
        }
      },
    });
  collected('workqueue_unfinished_work_seconds', 'Sum of work in progress.', (all) =>
    all.reduce((sum, one) => sum + one, 0),
  );
  collected('workqueue_longest_running_processor_seconds', 'Longest work in progress.', (all) => Math.max(0, ...all));

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
  const latency = histogram(
    'rest_client_request_duration_seconds',
    'Length of calls.',
    ['verb', 'host'],
    REQUEST_BUCKETS,
  );
  const master = gauge('leader_election_master_status', '1 while this process leads.', ['name']);

  return {
    registry,
    controller: (name, concurrency) => {
      const controller = { controller: name };
      const queue = { name, controller: name };
      workers.set(controller, concurrency);
      active.set(controller, 0);
      for (const result of ['success', 'error', 'requeue', 'requeue_after']) total.inc({ ...controller, result }, 0);
      for (const one of [errors, terminal, panics, timeouts]) one.inc(controller, 0);
      return {
        result: (result, seconds) => {
          total.inc({ ...controller, result });
          time.observe(controller, seconds);
          if (result === 'error') errors.inc(controller);
        },
        terminal: () => terminal.inc(controller),
        panicked: () => panics.inc(controller),
        timedOut: () => timeouts.inc(controller),
        active: (count) => active.set(controller, count),
        hanging: (read) => void hanging.set(name, read),
        queue: (working) => {
          queues.set(name, working);
          return {
            added: () => adds.inc(queue),
            retried: () => retries.inc(queue),
            taken: (ms) => waited.observe(queue, ms / 1000),
            done: (ms) => worked.observe(queue, ms / 1000),
            depth: (count) => depth.set(queue, count),
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
