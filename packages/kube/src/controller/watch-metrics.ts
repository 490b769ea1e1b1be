import { Counter, Gauge, type Registry } from 'prom-client';
import type { WatchHealth } from '../cache/watch-health.ts';

/** Adds the metrics of caches to a registry; `add` names one cache, which is asked whenever metrics are read. */
export function watchMetrics(registry: Registry): (cache: string, health: () => WatchHealth) => void {
  const caches = new Map<string, () => WatchHealth>();
  const labelNames = ['cache', 'kind'] as const;
  const registers = [registry];
  const gauge = (name: string, help: string, value: (health: WatchHealth) => number): Gauge =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const [cache, read] of caches) {
          const health = read();
          this.set({ cache, kind: health.kind }, value(health));
        }
      },
    });
  const counter = (name: string, help: string, value: (health: WatchHealth) => number): Counter =>
    new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const [cache, read] of caches) {
          const health = read();
          this.inc({ cache, kind: health.kind }, value(health));
        }
      },
    });
  gauge(
    'drydock_watch_healthy',
    '1 while the cache has its first list and its watch has not failed since it was opened.',
    (health) => (health.healthy ? 1 : 0),
  );
  gauge(
    'drydock_watch_broken_seconds',
    'How old the cache may be because its watch fails.',
    (health) => health.brokenFor / 1000,
  );
  counter('drydock_watch_lists_total', 'Complete lists.', (health) => health.lists);
  counter('drydock_watch_opened_total', 'Watches that the server accepted.', (health) => health.watches);
  counter('drydock_watch_failures_total', 'Failed lists and watches.', (health) => health.failures);
  return (cache, health) => void caches.set(cache, health);
}
