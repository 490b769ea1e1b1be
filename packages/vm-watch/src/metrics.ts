import type { MoRef } from '@drydock/vsphere';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { WatchState, WatchStateName } from './watch/state.ts';

/** How one watch stands, asked when metrics are read. */
export interface WatchReport {
  readonly vcenter: string;
  readonly state: WatchState;
  /** Machines in watched containers. */
  readonly machines: number;
  /** Machines whose change was not handed over yet. */
  readonly dirty: number;
  /** Machines that belong to nobody. */
  readonly unresolved: number;
  readonly containers: {
    readonly wanted: number;
    readonly watched: number;
    /** Those that the server does not let be watched now, and why. */
    readonly refused: readonly { readonly ref: MoRef; readonly why: string }[];
  };
  /** Age in seconds of the oldest change that was not handed over. */
  readonly lag: number;
}

/** Why a machine's change was handed to nobody. */
export type DropReason = 'baseline' | 'deleting' | 'left' | 'copy' | 'unresolved' | 'no-object';

/** What one watch counts; `watch` is `vms` or `templates`. Durations are in seconds. */
export interface WatchMetrics {
  reports(watch: string, read: () => readonly WatchReport[]): void;
  entered(watch: string, vcenter: string, state: WatchStateName): void;
  signal(watch: string, vcenter: string, kind: 'changed' | 'left', lag: number): void;
  dropped(watch: string, vcenter: string, reason: DropReason): void;
  refused(vcenter: string): void;
  /** Another vCenter answers under the name. */
  replaced(watch: string, vcenter: string): void;
  /** A machine came without this property, which the user may not read. */
  unreadable(watch: string, vcenter: string, path: string): void;
}

const STATES: readonly WatchStateName[] = [
  'idle',
  'connecting',
  'syncing',
  'live',
  'resuming',
  'rebuilding',
  'backoff',
  'stopped',
];
const LAG_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Registers the metrics, by default where nobody scrapes them. */
export function watchMetrics(registry: Registry = new Registry()): WatchMetrics {
  const registers = [registry];
  const of = ['watch', 'vcenter'] as const;
  const sources = new Map<string, () => readonly WatchReport[]>();
  const read = <L extends string>(
    name: string,
    help: string,
    more: readonly L[],
    set: (gauge: Gauge<L | 'watch' | 'vcenter'>, labels: { watch: string; vcenter: string }, one: WatchReport) => void,
  ): Gauge =>
    new Gauge({
      name: `drydock_watch_${name}`,
      help,
      labelNames: [...of, ...more],
      registers,
      collect() {
        this.reset();
        for (const [watch, reports] of sources) {
          for (const one of reports()) set(this, { watch, vcenter: one.vcenter }, one);
        }
      },
    });
  read('state', '1 for the state that the watch on a vCenter is in.', ['state'], (gauge, labels, { state }) => {
    for (const name of STATES) gauge.set({ ...labels, state: name }, name === state.name ? 1 : 0);
  });
  read('machines', 'Machines in watched containers.', [], (gauge, labels, one) => gauge.set(labels, one.machines));
  read('dirty_machines', 'Machines whose change was not handed over yet.', [], (gauge, labels, one) =>
    gauge.set(labels, one.dirty),
  );
  read('unresolved_machines', 'Machines that belong to no object.', [], (gauge, labels, one) =>
    gauge.set(labels, one.unresolved),
  );
  read(
    'containers',
    'Containers by whether they are watched now.',
    ['watched'],
    (gauge, labels, { containers: { wanted, watched } }) => {
      gauge.set({ ...labels, watched: 'true' }, watched);
      gauge.set({ ...labels, watched: 'false' }, wanted - watched);
    },
  );
  read('lag_seconds', 'Age of the oldest change that was not handed over.', [], (gauge, labels, one) =>
    gauge.set(labels, one.lag),
  );
  const counter = <L extends string>(
    name: string,
    help: string,
    more: readonly L[],
  ): Counter<L | (typeof of)[number]> =>
    new Counter({ name: `drydock_watch_${name}_total`, help, labelNames: [...of, ...more], registers });
  const signals = counter('signals', 'Changes of machines that were handed over.', ['kind']);
  const dropped = counter('dropped', 'Changes of machines that nobody has to look at.', ['reason']);
  const resumes = counter('resumes', 'Waits that were repeated after a broken connection.', []);
  const rebuilds = counter('rebuilds', 'Watches that were opened again.', []);
  const replaced = counter('replaced', 'Times that another vCenter answered under the name.', []);
  const unreadable = counter('unreadable', 'Properties that a vCenter did not give.', ['path']);
  const refusals = new Counter({
    name: 'drydock_watch_login_refusals_total',
    help: 'Logins that a vCenter refused.',
    labelNames: ['vcenter'],
    registers,
  });
  const delivery = new Histogram({
    name: 'drydock_watch_delivery_seconds',
    help: 'From the arrival of a change to its hand-over.',
    labelNames: of,
    buckets: LAG_BUCKETS,
    registers,
  });
  return {
    reports: (watch, reports) => void sources.set(watch, reports),
    entered: (watch, vcenter, state) => {
      if (state === 'resuming') resumes.inc({ watch, vcenter });
      if (state === 'rebuilding') rebuilds.inc({ watch, vcenter });
    },
    signal: (watch, vcenter, kind, lag) => {
      signals.inc({ watch, vcenter, kind });
      delivery.observe({ watch, vcenter }, lag);
    },
    dropped: (watch, vcenter, reason) => dropped.inc({ watch, vcenter, reason }),
    refused: (vcenter) => refusals.inc({ vcenter }),
    replaced: (watch, vcenter) => replaced.inc({ watch, vcenter }),
    unreadable: (watch, vcenter, path) => unreadable.inc({ watch, vcenter, path }),
  };
}
