import type { MachineSet } from '@drydock/api';
import { keyOf } from '@drydock/kube';
import { upstreamRefusal } from '../decide/coexistence.ts';
import { skip } from '../decide/decide.ts';
import { clusterStable, readiness } from '../decide/gates.ts';
import { type Selection, selectionOf } from '../decide/selection.ts';
import { BootImageError, errorText } from '../errors.ts';
import { type Stream, streamOf } from '../observe/stream.ts';
import type { World } from '../observe/world.ts';
import { factsOf, type ImageFacts, type Platform, type PlatformInput, type PlatformPlan } from '../platform.ts';
import type { PassResult } from '../skew/record.ts';
import type { SetOutcome } from '../status/boot-image.ts';
import { type ConditionLike, degraded, degradedType, progressing } from '../status/conditions.ts';
import { type CountedOutcome, type Counter, countOutcomes, zeroCounter, zeroCounters } from '../status/counters.ts';
import type { PassCause } from '../wakes/causes.ts';
import { collectImages } from './collect.ts';
import { failureOf } from './failure.ts';
import { besideUpstream, duringUpgrade, notSelected } from './left-alone.ts';
import type { PassPorts, PassSignals, PassState } from './pass-state.ts';
import { eachOf } from './pool.ts';
import { foresee, questionAbout } from './question.ts';
import { updateSet } from './update.ts';

/** When to look again at the latest, in ms; undefined: when something changes. */
export type PassOutcome = { readonly after: number } | undefined;

/** Nothing that is watched tells of what happens in vCenter, nor that a template has become old enough to be collected. */
const LOOK_AGAIN_MS = 3_600_000;
/** A right that is granted, or an image that is published again, tells nobody. */
const DOUBTED_MS = 300_000;

type Acting = Extract<PlatformPlan, { readonly kind: 'switch' | 'publish' }>;

interface Item {
  readonly set: MachineSet;
  counted: CountedOutcome;
  error?: string;
  /** What became of it, unless it failed. */
  outcome?: SetOutcome;
  /** Bytes of its image went to the platform in this pass. */
  uploaded?: boolean;
  input?: { readonly platform: Platform; readonly input: PlatformInput };
}

/**
 * One pass over all sets: gates, selection, a decision per set, updates, and both conditions written once at the end (plus once
 * before each step that lasts). Beside an upstream controller it only reads, and says so in the BootImages.
 */
export async function runPass(
  ports: PassPorts,
  state: PassState,
  cause: PassCause,
  options: PassSignals = {},
): Promise<PassOutcome> {
  const pass = new Pass(ports, state, cause, options);
  const outcome = await passOver(ports, state, pass);
  pass.end();
  return outcome;
}

async function passOver(ports: PassPorts, state: PassState, pass: Pass): Promise<PassOutcome> {
  const { world } = ports;
  const refusal = upstreamRefusal(world.upstream());
  if (refusal !== state.refusal) {
    ports.warn(refusal === undefined ? 'boot images are managed here again' : `nothing is changed here: ${refusal}`);
  }
  state.refusal = refusal;
  if (refusal !== undefined) {
    await pass.refuse(refusal);
    return undefined;
  }

  const mc = world.machineConfiguration();
  const now = ports.now().getTime();
  const ready = readiness(mc, state.waitingSince, now);
  if (ready.kind === 'waiting') {
    state.waitingSince ??= now;
    if (ready.degrade && mc !== undefined) await pass.degrade(ready.message, false);
    return { after: ready.after };
  }
  state.waitingSince = undefined;

  let selection: Selection;
  try {
    selection = selectionNow(world);
  } catch (error) {
    await pass.degrade(errorText(error));
    return undefined;
  }
  const [enrolled, others] = partition(world.machineSets(), (set) => selection.includes(set.metadata.labels));
  if (enrolled.length === 0) state.hotLoop.clear();
  const names = new Set(enrolled.map((set) => set.metadata.name));
  state.retries.keep(names);
  state.waysBack.keep(names);
  for (const name of state.left.keys()) if (!names.has(name)) state.left.delete(name);

  const version = world.clusterVersion();
  if (version !== undefined && !clusterStable(version)) {
    // An upgrade runs: nothing is done, except that opting out must be able to clear a failure, or the upgrade waits for it for ever.
    const isDegraded = mc?.status?.conditions?.some((c) => c.type === degradedType && c.status === 'True') === true;
    if (enrolled.length === 0 && isDegraded) await pass.finish([]);
    await pass.waitForUpgrade(enrolled);
    return undefined;
  }
  await pass.leaveOut(others, selection.reason);
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
  readonly #signal: AbortSignal | undefined;
  readonly #signals: PassSignals;
  /** A set was left to the next pass. */
  #left = false;
  /** Why the outcome of a set could not be told. */
  readonly #untold: unknown[] = [];

  constructor(ports: PassPorts, state: PassState, cause: PassCause, signals: PassSignals) {
    this.#ports = ports;
    this.#state = state;
    this.#cause = cause;
    this.#signal = signals.signal;
    this.#signals = signals;
  }

  /** Reports an error of the whole pass; counters stay what they were. */
  async degrade(error: string, both: boolean = true): Promise<void> {
    const summary = { counters: this.#state.counters, errors: [error], reason: this.#cause.reason };
    await this.#write(both ? [progressing(summary), degraded(summary)] : [degraded(summary)]);
  }

  /** Says of every set what it boots from and that this process leaves it alone. Nothing but BootImages is written. */
  async refuse(refusal: string): Promise<void> {
    const stream = streamOf(this.#ports.world.golden());
    const sets = this.#ports.world.machineSets();
    if (stream !== undefined) foresee(sets, stream, this.#ports);
    await eachOf(sets, this.#limit, async (set) => {
      let facts: ImageFacts = {};
      try {
        if (stream !== undefined) facts = factsOf(await this.#ask({ set, counted: 'pending' }, stream));
      } catch (error) {
        // Only what could be read is told; why the rest could not is upstream's to say.
        this.#signal?.throwIfAborted();
        if (error instanceof BootImageError) facts = error.facts ?? {};
      }
      await this.#tell(set, besideUpstream(refusal, facts));
    });
  }

  async leaveOut(sets: readonly MachineSet[], why: string): Promise<void> {
    for (const set of sets) await this.#tell(set, notSelected(set, why));
  }

  async waitForUpgrade(sets: readonly MachineSet[]): Promise<void> {
    for (const set of sets) {
      // A set that failed before stays reported as failed: its check has not passed.
      if (this.#state.retries.get(set.metadata.name, 0) !== undefined) continue;
      await this.#tell(set, duringUpgrade);
    }
  }

  async run(sets: readonly MachineSet[]): Promise<PassOutcome> {
    const stream = streamOf(this.#ports.world.golden());
    if (stream === undefined) {
      await this.degrade('failed to fetch coreos-bootimages config map: configmap "coreos-bootimages" not found');
      return undefined;
    }
    const items: Item[] = sets.map((set) => ({ set, counted: 'pending' }));
    const switched = await this.#all(items, stream);
    this.#signals.stopping?.throwIfAborted();
    await this.finish(items, this.#left);
    if (this.#left) return { after: 1 };
    const asked = items.flatMap((item) => (item.input === undefined ? [] : [item.input]));
    const news = new Set<string>();
    const found = (set: string, releases: readonly string[]): void => {
      if (this.#state.waysBack.found(set, releases)) news.add(set);
    };
    const collect = await collectImages(asked, switched, this.#ports, this.#state, found, this.#call.signal);
    for (const { set, outcome } of items)
      if (outcome !== undefined && news.has(set.metadata.name)) await this.#tell(set, outcome);
    const doubted = items.some(({ outcome }) => (outcome?.verified?.status ?? 'True') !== 'True');
    const retry = this.#state.retries.nextIn(this.#now);
    const again = doubted ? DOUBTED_MS : LOOK_AGAIN_MS;
    return { after: Math.min(retry ?? again, collect ?? again, again) };
  }

  /** Writes both conditions from what the items say now. */
  async finish(items: readonly Item[], between: boolean = false): Promise<void> {
    const counter: Counter = items.length === 0 ? zeroCounter : countOutcomes(items.map((item) => item.counted));
    this.#state.counters = { ...zeroCounters, 'MAPI MachineSets': counter };
    const errors = items.flatMap((item) => (item.error === undefined ? [] : [item.error]));
    const summary = { counters: this.#state.counters, errors, reason: this.#cause.reason };
    // In between, a failure of an earlier pass may be among what is pending, so Degraded waits for the end.
    if (between) return this.#write([progressing(summary)]);
    const { world } = this.#ports;
    await this.#write([progressing(summary), degraded(summary)], {
      ...{ errors: errors.length, skipped: counter.skipped, clusterVersion: world.clusterVersion() },
      releaseVersion: world.golden()?.data?.['releaseVersion'],
      marketplaceVersions: items.flatMap(({ outcome }) => outcome?.marketplaceVersion ?? []),
    });
  }

  /** To be called last. The pass counts as failed, and is repeated, where something could not be told. */
  end(): void {
    if (this.#untold.length > 0) throw this.#untold[0];
  }

  /** Tells what became of a set. Where that fails, the other sets and the conditions must not suffer from it. */
  async #tell(set: MachineSet, outcome: SetOutcome): Promise<void> {
    try {
      await this.#ports.report(set, this.#state.waysBack.told(set.metadata.name, outcome));
    } catch (error) {
      this.#signal?.throwIfAborted();
      this.#untold.push(error);
    }
  }

  get #limit(): number {
    return this.#ports.concurrency ?? 4;
  }

  /** For calls that only read. */
  get #call(): { readonly signal?: AbortSignal } {
    const { signal, stopping } = this.#signals;
    const both = [signal, stopping].filter((one) => one !== undefined);
    return both.length === 0 ? {} : { signal: AbortSignal.any(both) };
  }

  get #now(): number {
    return this.#ports.now().getTime();
  }

  async #write(conditions: readonly ConditionLike[], ended?: PassResult): Promise<void> {
    // It may have come since the pass began: from then on the conditions are its own.
    if (upstreamRefusal(this.#ports.world.upstream()) === undefined)
      await this.#ports.writeConditions(conditions, ended);
  }

  /** Plans every set, then acts: publications of one image one after the other. Resolves to whether a set was switched. */
  async #all(items: readonly Item[], stream: Stream | BootImageError): Promise<boolean> {
    foresee(
      items.map(({ set }) => set),
      stream,
      this.#ports,
    );
    const groups = new Map<string, { readonly item: Item; readonly plan: Acting }[]>();
    await eachOf(items, this.#limit, async (item) => {
      const plan = await this.#guard(item, () => this.#plan(item, stream));
      if (plan === undefined) return;
      const key = plan.kind === 'publish' ? plan.publication.key : `switch ${item.set.metadata.name}`;
      groups.set(key, [...(groups.get(key) ?? []), { item, plan }]);
    });
    let switched = false;
    const work = async (group: NonNullable<ReturnType<typeof groups.get>>): Promise<void> => {
      for (const { item, plan } of group) {
        const done = await this.#guard(item, async () => {
          const outcome = await updateSet(item.set, plan, this.#updatePorts(item, items, stream), this.#signals);
          if (outcome !== undefined) await this.#settle(item, outcome);
          return outcome?.kind ?? 'left';
        });
        switched ||= done === 'current';
        if (done !== 'left') continue;
        this.#left = true;
        return;
      }
    };
    // Images that take their time must hold up neither sets that need none nor each other; the store has its own limit of imports.
    const [publications, switches] = partition([...groups.values()], ([first]) => first?.plan.kind === 'publish');
    await Promise.all([eachOf(switches, this.#limit, work), eachOf(publications, publications.length, work)]);
    return switched;
  }

  /** The plan, where something has to be done; everything else is settled here. */
  async #plan(item: Item, stream: Stream | BootImageError): Promise<Acting | undefined> {
    const { name } = item.set.metadata;
    const failure = this.#state.retries.get(name, this.#now);
    const touched = this.#cause.touched === 'all' || this.#cause.touched.has(name);
    if (failure !== undefined && !failure.due && !touched) {
      if (failure.text === undefined) return undefined;
      item.counted = 'error';
      item.error = failure.text;
      return undefined;
    }
    this.#state.looked.add(name);
    const plan = await this.#ask(item, stream);
    await this.#askWho(item);
    if (plan.kind === 'switch' || plan.kind === 'publish') return plan;
    await this.#settle(item, plan);
    return undefined;
  }

  /** Reads and decides; writes nothing. */
  async #ask(item: Item, stream: Stream | BootImageError): Promise<PlatformPlan> {
    const asked = questionAbout(item.set, stream, this.#ports);
    if (asked.kind === 'skip') return asked;
    item.input = asked;
    return asked.platform.plan(asked.input, this.#call);
  }

  /** The hot loop's next step and the metrics name who else changed the image. */
  async #askWho({ set, input }: Item): Promise<void> {
    const { foreign } = this.#state;
    const { name } = set.metadata;
    if (input === undefined || !foreign.has(name) || foreign.get(name) !== undefined) return;
    foreign.set(name, await this.#ports.foreignWriter(set, input.platform, this.#call));
  }

  async #settle(item: Item, outcome: SetOutcome): Promise<void> {
    item.counted = outcome.kind === 'skip' && outcome.counted ? 'skipped' : 'reconciled';
    item.outcome = outcome;
    if (outcome.kind === 'current' && outcome.switchedFrom !== undefined)
      this.#state.waysBack.switched(item.set.metadata.name);
    this.#state.retries.clear(item.set.metadata.name);
    await this.#tell(item.set, outcome);
  }

  /** Runs one item's work; what it throws becomes the item's failure. */
  async #guard<R>(item: Item, work: () => Promise<R>): Promise<R | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#signal?.throwIfAborted();
      this.#signals.stopping?.throwIfAborted();
      await this.#fail(item, error);
      return undefined;
    }
  }

  async #fail(item: Item, thrown: unknown): Promise<void> {
    const { name } = item.set.metadata;
    const { retries } = this.#state;
    const told = failureOf(name, thrown, item.uploaded === true);
    const before = retries.get(name, 0);
    // The wait for another process is as long as a lease takes to expire, so its pauses do not grow.
    if (told.kind === 'waiting') retries.clear(name);
    retries.fail(name, told.failure, this.#now);
    if (told.kind === 'failed') {
      item.counted = 'error';
      item.error = told.text;
      if (before?.text !== told.text) this.#ports.event(item.set, 'Failed', told.text);
    }
    await this.#tell(item.set, told.outcome);
  }

  /** Why a set that was asked about must be left alone by now: an image may have taken an hour to make. */
  #overtaken(asking: MachineSet, stream: Stream | BootImageError): SetOutcome | undefined {
    const { world } = this.#ports;
    const refusal = upstreamRefusal(world.upstream());
    if (refusal !== undefined) return besideUpstream(refusal, {});
    const version = world.clusterVersion();
    if (version !== undefined && !clusterStable(version)) return duringUpgrade;
    const set = world.machineSet(keyOf(asking));
    if (set === undefined || set.metadata.uid !== asking.metadata.uid)
      return skip(false, 'Deleting', 'being deleted', `machineset ${asking.metadata.name} was deleted`);
    const selection = selectionNow(world);
    if (!selection.includes(set.metadata.labels)) return notSelected(set, selection.reason);
    const asked = questionAbout(set, stream, this.#ports);
    return asked.kind === 'skip' ? asked : undefined;
  }

  #updatePorts(item: Item, items: readonly Item[], stream: Stream | BootImageError): Parameters<typeof updateSet>[2] {
    const { client, report, event, warn, now, step, progressMs = 1000 } = this.#ports;
    const { hotLoop, pointed, foreign, left } = this.#state;
    return {
      left,
      client,
      hotLoop,
      report,
      event,
      warn,
      now,
      step,
      progressMs,
      announceStep: () => this.finish(items, true),
      uploading: () => {
        item.uploaded = true;
      },
      pointed: (set, image) => void pointed.set(set, image),
      overtaken: (set) => this.#overtaken(set, stream),
      revertedBy: (set) => foreign.get(set),
    };
  }
}

/** Which machine sets the effective manager covers now. Throws `SelectorInvalid`. */
export function selectionNow(world: World): Selection {
  return selectionOf(world.machineConfiguration()?.status?.managedBootImagesStatus?.machineManagers, 'machinesets');
}

function partition<T>(all: readonly T[], test: (one: T) => boolean): readonly [readonly T[], readonly T[]] {
  const { yes = [], no = [] } = Object.groupBy(all, (one) => (test(one) ? 'yes' : 'no'));
  return [yes, no];
}
