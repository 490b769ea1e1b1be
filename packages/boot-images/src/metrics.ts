import type { BootImage } from '@drydock/api';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** What boot images count, besides what every controller does. Durations are in seconds. */
export interface BootImageMetrics {
  /** Where the info gauge reads the state of every set when metrics are scraped. */
  readonly images: (all: () => Iterable<BootImage>) => void;
  /** A step of an update ended well. */
  readonly step: (step: string, seconds: number) => void;
  /** A reference of a set was looked up, and no template was there. */
  readonly templateAbsent: () => void;
  /** A template took over a name, which was absent for so long meanwhile. */
  readonly templateSwapped: (seconds: number) => void;
  /** Somebody else changed the image of a set. */
  readonly foreignWrite: (manager: string) => void;
  /** A schema refused a status. */
  readonly statusRejected: () => void;
  /** Bytes that went to a vCenter, those of broken uploads included. */
  readonly uploaded: (vcenter: string, bytes: number) => void;
  /** A call on a vCenter ended; `code` is `OK` or the code of its error. */
  readonly vcenterCall: (method: string, code: string) => void;
  /** A call on the API of a cloud ended; `code` is the HTTP status, or the code of its error. */
  readonly cloudCall: (host: string, code: string) => void;
  /** SOAP sessions that this process has at a vCenter. */
  readonly vcenterSessions: (vcenter: string, count: number) => void;
}

/** From a second to two hours: a conversion of a stub, and an OVA over a slow line. */
const STEP_BUCKETS = [0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200];

/** Registers the metrics, by default where nobody scrapes them. */
export function bootImageMetrics(registry: Registry = new Registry()): BootImageMetrics {
  const registers = [registry];
  let all: () => Iterable<BootImage> = () => [];
  new Gauge({
    name: 'drydock_bootimage_info',
    help: '1 for each machine set, with what it boots from and what it should.',
    labelNames: ['set', 'platform', 'current', 'target', 'phase'],
    registers,
    collect() {
      this.reset();
      for (const { status } of all()) {
        if (status?.set === undefined) continue;
        const { set, platform = '', current = '', target = '', phase = '' } = status;
        this.set({ set, platform, current, target, phase }, 1);
      }
    },
  });
  const steps = new Histogram({
    name: 'drydock_bootimage_operation_seconds',
    help: 'Length of the steps of updates that ended well.',
    labelNames: ['step'],
    buckets: STEP_BUCKETS,
    registers,
  });
  const absent = new Counter({
    name: 'drydock_bootimage_template_absent_observed_total',
    help: 'How often the template of a machine set was looked up and was not there. Must stay 0.',
    registers,
  });
  const gap = new Histogram({
    name: 'drydock_bootimage_template_absent_seconds',
    help: 'How long a swap left the name of a template without one.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const foreign = new Counter({
    name: 'drydock_bootimage_foreign_writes_total',
    help: 'Changes of the image of a machine set by others.',
    labelNames: ['manager'],
    registers,
  });
  const rejected = new Counter({
    name: 'drydock_bootimage_status_write_rejected_total',
    help: 'Statuses that a schema refused. Must stay 0.',
    registers,
  });
  const bytes = new Counter({
    name: 'drydock_bootimage_upload_bytes_total',
    help: 'Bytes uploaded, those of broken uploads included.',
    labelNames: ['vcenter'],
    registers,
  });
  const calls = new Counter({
    name: 'drydock_vcenter_calls_total',
    help: 'Calls on vCenters by method and result.',
    labelNames: ['method', 'code'],
    registers,
  });
  const cloudCalls = new Counter({
    name: 'drydock_cloud_calls_total',
    help: 'Calls on the APIs of clouds by host and result.',
    labelNames: ['host', 'code'],
    registers,
  });
  const sessions = new Gauge({
    name: 'drydock_vcenter_sessions',
    help: 'SOAP sessions of this process.',
    labelNames: ['vcenter'],
    registers,
  });
  return {
    images: (source) => {
      all = source;
    },
    step: (step, seconds) => steps.observe({ step }, seconds),
    templateAbsent: () => absent.inc(),
    templateSwapped: (seconds) => gap.observe(seconds),
    foreignWrite: (manager) => foreign.inc({ manager }),
    statusRejected: () => rejected.inc(),
    uploaded: (vcenter, count) => bytes.inc({ vcenter }, count),
    vcenterCall: (method, code) => calls.inc({ method, code }),
    cloudCall: (host, code) => cloudCalls.inc({ host, code }),
    vcenterSessions: (vcenter, count) => sessions.set({ vcenter }, count),
  };
}
