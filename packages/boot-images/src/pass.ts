import type { MachineSet } from '@drydock/api';
import type { SetOutcome } from './boot-image.ts';
import { collectImages } from './collect.ts';
import { degraded, degradedType, progressing } from './conditions.ts';
import { type CountedOutcome, type Counter, countOutcomes, zeroCounter, zeroCounters } from './counters.ts';
import { decideSet, type SetDecision, wrapped } from './decide.ts';
import { BootImageError, errorText } from './errors.ts';
import { clusterStable, readiness } from './gates.ts';
import type { PassPorts, PassState } from './pass-state.ts';
import type { Platform, PlatformInput, PlatformPlan } from './platform.ts';
import { mapPool } from './pool.ts';
import { type Selection, selectionOf } from './selection.ts';
import { parseStream, type Stream } from './stream.ts';
import { updateSet } from './update.ts';

/** Why the pass runs: an event's name, and whether only a timer woke it. */
export interface PassCause {
  readonly reason: string;
  readonly timer: boolean;
  readonly signal?: AbortSignal;
}

interface Item {
  readonly set: MachineSet;
  counted: CountedOutcome;
  error?: string;
  input?: { readonly platform: Platform; readonly input: PlatformInput };
}

/**
 * One pass over all sets: gates, selection, a decision per set, updates, and both conditions written once at the end (plus once
 * before each step that lasts). Returns when to look again at the latest, in ms.
 */
export async function runPass(
  ports: PassPorts,
  state: PassState,
  cause: PassCause,
): Promise<{ after: number } | undefined> {
  const { world } = ports;
  const mc = world.machineConfiguration();
  const now = ports.now().getTime();
  const ready = readiness(mc, state.waitingSince, now);
  if (ready.kind === 'waiting' || mc === undefined) {
    state.waitingSince ??= now;
    if (ready.kind === 'waiting' && ready.degrade && mc !== undefined) {
      await ports.writeConditions([
        degraded({ counters: state.counters, errors: [ready.message], reason: cause.reason }),
      ]);
    }
    return { after: ready.kind === 'waiting' ? ready.after : 5_000 };
  }
  state.waitingSince = undefined;

  const pass = new Pass(ports, state, cause);
  let selection: Selection;
  try {
    selection = selectionOf(mc.status?.managedBootImagesStatus?.machineManagers, 'machinesets');
  } catch (error) {
    await pass.degrade(errorText(error));
    return undefined;
  }
  const all = world.machineSets();
  const enrolled = all.filter((set) => selection.includes(set.metadata.labels));
  if (enrolled.length === 0) state.hotLoop.clear();

  const version = world.clusterVersion();
  if (version !== undefined && !clusterStable(version)) {
    // An upgrade runs: nothing is done, except that opting out must be able to clear a failure, or the upgrade waits for it for ever.
    const isDegraded = mc.status?.conditions?.some((c) => c.type === degradedType && c.status === 'True') === true;
    if (enrolled.length === 0 && isDegraded) await pass.finish([]);
    await pass.waitForUpgrade(enrolled);
    return undefined;
  }
  await pass.leaveOut(
    all.filter((set) => !enrolled.includes(set)),
    selection.reason,
  );
  if (enrolled.length === 0) {
    await pass.finish([]);
    return undefined;
  }
  return pass.run(enrolled);
}

class Pass {
  readonly #ports: PassPorts;
  readonly #state: PassState;
  readonly #cause: PassCause;

  constructor(ports: PassPorts, state: PassState, cause: PassCause) {
    this.#ports = ports;
    this.#state = state;
    this.#cause = cause;
  }

  /** Reports an error of the whole pass; counters stay what they were. */
  async degrade(error: string): Promise<void> {
    const summary = { counters: this.#state.counters, errors: [error], reason: this.#cause.reason };
    await this.#ports.writeConditions([progressing(summary), degraded(summary)]);
  }

  async leaveOut(sets: readonly MachineSet[], message: string): Promise<void> {
    for (const set of sets) {
      await this.#ports.report(set, {
        kind: 'skip',
        counted: false,
        reason: 'NotSelected',
        brief: 'not selected',
        message: `machineset ${set.metadata.name}: ${message}`,
        nextStep: 'select it in spec.managedBootImages of machineconfiguration/cluster',
      });
    }
  }

  async waitForUpgrade(sets: readonly MachineSet[]): Promise<void> {
    for (const set of sets) {
      // A set that failed before stays reported as failed: its check has not passed.
      if (this.#state.retries.get(set.metadata.name) !== undefined) continue;
      await this.#ports.report(set, {
        kind: 'waiting',
        phase: 'Pending',
        reason: 'ClusterNotStable',
        brief: 'waits for the cluster upgrade',
        message: 'boot images are updated when the newest entry of clusterversion/version is Completed',
      });
    }
  }

  async run(sets: readonly MachineSet[]): Promise<{ after: number } | undefined> {
    const { world } = this.#ports;
    const golden = world.golden();
    if (golden === undefined) {
      await this.degrade('failed to fetch coreos-bootimages config map: configmap "coreos-bootimages" not found');
      return undefined;
    }
    this.#state.retries.keep(new Set(sets.map((set) => set.metadata.name)));
    const stream = streamOf(golden.data?.['stream']);
    const items: Item[] = sets.map((set) => ({ set, counted: 'pending' }));
    const switched = await this.#all(items, stream);
    await this.finish(items);
    return this.#after(await this.#collect(items, switched));
  }

  /** Writes both conditions from what the items say now. */
  async finish(items: readonly Item[], between: boolean = false): Promise<void> {
    const counter: Counter = items.length === 0 ? zeroCounter : countOutcomes(items.map((item) => item.counted));
    this.#state.counters = { ...zeroCounters, 'MAPI MachineSets': counter };
    const errors = items.flatMap((item) => (item.error === undefined ? [] : [item.error]));
    const summary = { counters: this.#state.counters, errors, reason: this.#cause.reason };
    // In between, a failure of an earlier pass may be among what is pending, so Degraded waits for the end.
    await this.#ports.writeConditions(between ? [progressing(summary)] : [progressing(summary), degraded(summary)]);
  }

  async #all(items: readonly Item[], stream: Stream | BootImageError): Promise<boolean> {
    const limit = this.#ports.concurrency ?? 4;
    const groups = new Map<string, { readonly item: Item; readonly plan: Acting }[]>();
    await mapPool(items, limit, async (item) => {
      const plan = await this.#guard(item, () => this.#plan(item, stream));
      if (plan === undefined) return;
      const key = plan.kind === 'publish' ? plan.publication.key : `switch ${item.set.metadata.name}`;
      groups.set(key, [...(groups.get(key) ?? []), { item, plan }]);
    });
    let switched = false;
    await mapPool([...groups.values()], limit, async (group) => {
      for (const { item, plan } of group) {
        const done = await this.#guard(item, async () => {
          const outcome = await updateSet(item.set, plan, this.#updatePorts(items), this.#cause.signal);
          await this.#settle(item, outcome, 'reconciled');
          return true;
        });
        switched ||= done === true;
      }
    });
    return switched;
  }

  /** The plan, where something has to be done; everything else is settled here. */
  async #plan(item: Item, stream: Stream | BootImageError): Promise<Acting | undefined> {
    const { name } = item.set.metadata;
    const failure = this.#state.retries.get(name);
    if (failure !== undefined && this.#cause.timer && failure.due > this.#ports.now().getTime()) {
      if (failure.text === undefined) return undefined;
      item.counted = 'error';
      item.error = failure.text;
      return undefined;
    }
    const { world, platforms } = this.#ports;
    const decision: SetDecision = decideSet({
      set: item.set,
      clusterVersion: world.clusterVersion(),
      infrastructure: world.infrastructure(),
      stream,
      fallbackArchitecture: this.#ports.architecture,
      platforms: new Set(platforms.keys()),
    });
    if (decision.kind === 'error') throw decision.error;
    if (decision.kind === 'skip') {
      await this.#settle(item, decision, decision.counted ? 'skipped' : 'reconciled');
      return undefined;
    }
    const platform = platforms.get(decision.platform);
    if (platform === undefined) throw new TypeError(`no platform ${decision.platform}`);
    const input: PlatformInput = {
      set: item.set,
      spec: decision.spec,
      architecture: decision.architecture,
      stream: decision.stream,
      infrastructure: decision.infrastructure,
      cluster: world.clusterVersion()?.spec?.clusterID ?? decision.infrastructure.status?.infrastructureName ?? '',
      secret: world.secret,
      installConfig: world.installConfig(),
    };
    item.input = { platform, input };
    const signal = this.#cause.signal;
    const plan = await platform.plan(input, signal === undefined ? {} : { signal });
    switch (plan.kind) {
      case 'current':
        await this.#settle(item, plan, 'reconciled');
        return undefined;
      case 'skip':
        await this.#settle(item, plan, plan.counted ? 'skipped' : 'reconciled');
        return undefined;
      default:
        return plan;
    }
  }

  async #settle(item: Item, outcome: SetOutcome, counted: CountedOutcome): Promise<void> {
    item.counted = counted;
    this.#state.retries.clear(item.set.metadata.name);
    await this.#ports.report(item.set, outcome);
  }

  /** Runs one item's work; what it throws becomes the item's failure. */
  async #guard<R>(item: Item, work: () => Promise<R>): Promise<R | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#cause.signal?.throwIfAborted();
      await this.#fail(item, error);
      return undefined;
    }
  }

  async #fail(item: Item, thrown: unknown): Promise<void> {
    const { name } = item.set.metadata;
    const error = framed(name, thrown);
    if (error.code === uploadInProgress) {
      await this.#waitFor(item, error);
      return;
    }
    const blocked = !error.retriable;
    const outcome: SetOutcome = {
      kind: 'failed',
      blocked,
      reason: error.code,
      message: error.message,
      ...(error.nextStep === undefined ? {} : { nextStep: error.nextStep }),
    };
    const text = `error syncing MAPI MachineSet ${name}: ${error.message}`;
    const before = this.#state.retries.get(name);
    this.#state.retries.fail(name, outcome, text, error.retriable, this.#ports.now().getTime());
    item.counted = 'error';
    item.error = text;
    if (before?.text !== text) this.#ports.event(item.set, 'Failed', text);
    await this.#ports.report(item.set, outcome);
  }

  /** Another process, perhaps this one's predecessor, is importing the image: no failure, only not yet done. */
  async #waitFor(item: Item, error: BootImageError): Promise<void> {
    const outcome: SetOutcome = {
      kind: 'waiting',
      phase: 'Pending',
      reason: 'UploadInProgress',
      brief: 'waits for another upload',
      message: error.message,
    };
    // Always the first pause: it takes as long as a lease takes to expire.
    this.#state.retries.clear(item.set.metadata.name);
    this.#state.retries.fail(item.set.metadata.name, outcome, undefined, true, this.#ports.now().getTime());
    await this.#ports.report(item.set, outcome);
  }

  #updatePorts(items: readonly Item[]): Parameters<typeof updateSet>[2] {
    const { client, report, event, warn, now, progressMs = 1000 } = this.#ports;
    const { hotLoop, pointed } = this.#state;
    return {
      client,
      hotLoop,
      report,
      event,
      warn,
      now,
      progressMs,
      announceStep: () => this.finish(items, true),
      pointed: (set, image) => void pointed.set(set, image),
    };
  }

  #collect(items: readonly Item[], switched: boolean): Promise<number | undefined> {
    const inputs = items.flatMap((item) => (item.input === undefined ? [] : [item.input]));
    return collectImages(inputs, switched, this.#ports, this.#state, this.#cause.signal);
  }

  #after(collect: number | undefined): { after: number } | undefined {
    const retry = this.#state.retries.nextIn(this.#ports.now().getTime());
    const after = Math.min(retry ?? Number.POSITIVE_INFINITY, collect ?? Number.POSITIVE_INFINITY);
    return Number.isFinite(after) ? { after } : undefined;
  }
}

type Acting = Extract<PlatformPlan, { readonly kind: 'switch' | 'publish' }>;

/** The template store's `UPLOAD_IN_PROGRESS`. */
const uploadInProgress: string = 'UploadInProgress';

/** Rows of §2.3 whose text is not framed as a platform's failure. */
const unframed: ReadonlySet<string> = new Set([
  'ArchitectureInvalid',
  'ClusterVersionUnreadable',
  'InfrastructureUnreadable',
  'HotLoop',
  'PatchFailed',
]);

function framed(set: string, error: unknown): BootImageError {
  return error instanceof BootImageError && unframed.has(error.code) ? error : wrapped(set, error);
}

function streamOf(text: string | undefined): Stream | BootImageError {
  try {
    return parseStream(text);
  } catch (error) {
    if (error instanceof BootImageError) return error;
    throw error;
  }
}
