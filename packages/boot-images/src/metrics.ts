import { type BootImage, type BootImageStatus, bootImagePhases } from '@drydock/api';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { stubCondition } from './status/boot-image.ts';

/** What boot images count, besides what every controller does. Durations are in seconds. */
export interface BootImageMetrics {
  /** Where the info gauge reads the state of every set when metrics are scraped. */
  readonly images: (all: () => Iterable<BootImage>) => void;
  /** Where the gauge of skew enforcement reads whether a person turned it off. */
  readonly unenforced: (now: () => boolean) => void;
  /** Where the gauges of skew read how old the images in use are. */
  readonly skew: (now: () => { readonly releases: number | undefined; readonly held: boolean }) => void;
  /** A pass over all sets ended without an error, at this time. */
  readonly passed: (at: Date) => void;
  /** One more move of a set was refused, because somebody takes it back each time. */
  readonly hotLoop: (set: string) => void;
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
  /** Bytes of images that came from mirrors, those of broken downloads included. */
  readonly downloaded: (bytes: number) => void;
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
  new Gauge({
    name: 'drydock_bootimage_stuck',
    help: '1 for each machine set that is Blocked or Failed, with why.',
    labelNames: ['set', 'reason'],
    registers,
    collect() {
      this.reset();
      for (const { status } of all()) {
        const { set, phase, reason = '' } = status ?? {};
        if (set !== undefined && (phase === 'Blocked' || phase === 'Failed')) this.set({ set, reason }, 1);
      }
    },
  });
  new Gauge({
    name: 'drydock_bootimage_stub_authority',
    help: '1 for each machine set whose machines get their configuration from a server, with whether they trust it.',
    labelNames: ['set', 'status', 'reason'],
    registers,
    collect() {
      this.reset();
      for (const { status: said } of all()) {
        const { status, reason = '' } = said?.conditions?.find(({ type }) => type === stubCondition) ?? {};
        if (said?.set !== undefined && status !== undefined) this.set({ set: said.set, status, reason }, 1);
      }
    },
  });
  const state = (name: string, help: string, of: (status: BootImageStatus) => number | undefined): void =>
    void new Gauge({
      ...{ name, help, labelNames: ['set'], registers },
      collect() {
        this.reset();
        for (const { status } of all()) {
          const value = status === undefined ? undefined : of(status);
          if (status?.set !== undefined && value !== undefined) this.set({ set: status.set }, value);
        }
      },
    });
  state(
    'drydock_bootimage_age_seconds',
    'Age of the image that new machines start from, where its release names a day.',
    ({ template, current }) => ageOf(template?.release ?? current),
  );
  state(
    'drydock_bootimage_progress_bytes',
    'Bytes of the step that is under way.',
    ({ progressDetail }) => progressDetail?.bytes,
  );
  state(
    'drydock_bootimage_attempts',
    'Moves to one target in a row; more than 3 where one was refused.',
    ({ attempts }) => attempts?.count,
  );
  new Gauge({
    name: 'drydock_bootimage_sets',
    help: 'Machine sets by what became of them.',
    labelNames: ['phase'],
    registers,
    collect() {
      this.reset();
      for (const phase of bootImagePhases) this.set({ phase }, 0);
      for (const { status } of all()) if (status?.phase !== undefined) this.inc({ phase: status.phase });
    },
  });
  let unenforced = (): boolean => false;
  new Gauge({
    name: 'mcc_boot_image_skew_enforcement_none',
    help: '1 where a person turned the enforcement of boot image skew off.',
    registers,
    collect() {
      this.set(unenforced() ? 1 : 0);
    },
  });
  let skewNow: () => { readonly releases: number | undefined; readonly held: boolean } = () => ({
    ...{ releases: undefined, held: false },
  });
  new Gauge({
    name: 'drydock_bootimage_skew_releases',
    help: 'Minor releases between the cluster and the oldest boot image in use, by the record that says so.',
    // Without labels it would be 0 where nobody knows.
    labelNames: ['of'],
    registers,
    collect() {
      this.reset();
      const { releases } = skewNow();
      if (releases !== undefined) this.set({ of: 'oldest' }, releases);
    },
  });
  new Gauge({
    name: 'drydock_bootimage_upgrade_held',
    help: '1 where boot images hold the next minor release up.',
    registers,
    collect() {
      this.set(skewNow().held ? 1 : 0);
    },
  });
  const success = new Gauge({
    name: 'drydock_bootimage_last_success_timestamp_seconds',
    help: 'When a pass over all sets last ended without an error; 0 before the first.',
    registers,
  });
  const refusals = new Counter({
    name: 'drydock_bootimage_hot_loop_refusals_total',
    help: 'Moves that were refused, because somebody takes the image back each time.',
    labelNames: ['set'],
    registers,
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
  const fetched = new Counter({
    name: 'drydock_bootimage_download_bytes_total',
    help: 'Bytes of images downloaded, those of broken downloads included.',
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
    unenforced: (now) => {
      unenforced = now;
    },
    skew: (now) => {
      skewNow = now;
    },
    passed: (at) => success.set(at.getTime() / 1000),
    hotLoop: (set) => refusals.inc({ set }),
    step: (step, seconds) => steps.observe({ step }, seconds),
    templateAbsent: () => absent.inc(),
    templateSwapped: (seconds) => gap.observe(seconds),
    foreignWrite: (manager) => foreign.inc({ manager }),
    statusRejected: () => rejected.inc(),
    uploaded: (vcenter, count) => bytes.inc({ vcenter }, count),
    downloaded: (count) => fetched.inc(count),
    vcenterCall: (method, code) => calls.inc({ method, code }),
    cloudCall: (host, code) => cloudCalls.inc({ host, code }),
    vcenterSessions: (vcenter, count) => sessions.set({ vcenter }, count),
  };
}

const DAY = /(?:\b|-)(\d{4})(\d{2})(\d{2})(?:\d{4})?-\d+/;

/** Seconds since the day that is in the name of a release or of an image, as in `9.6.20260512-0`; undefined where none is. */
function ageOf(release: string | undefined): number | undefined {
  const [, year, month, day] = DAY.exec(release ?? '') ?? [];
  const at = year === undefined ? Number.NaN : Date.parse(`${year}-${month}-${day}T00:00:00Z`);
  return Number.isNaN(at) ? undefined : Math.max(0, (Date.now() - at) / 1000);
}
