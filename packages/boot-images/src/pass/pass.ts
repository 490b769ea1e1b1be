import { longestCanaryMs } from '../canary/spec.ts';
import { upstreamRefusal } from '../decide/coexistence.ts';
import { exemptionOf } from '../decide/decide.ts';
import { clusterStable, readiness } from '../decide/gates.ts';
import { BootImageError, errorText, orBootImageError } from '../errors.ts';
import { factsOf, type ImageFacts, type ImageThere } from '../image-facts.ts';
import { idOf, type KeptSet, keptSets, kindOf, machineSets, setKinds } from '../observe/kept-set.ts';
import { streamOf } from '../observe/stream.ts';
import { nextTurn } from '../policy/held.ts';
import { eachOf } from '../pool.ts';
import type { PassResult } from '../skew/record.ts';
import { type ConditionLike, degraded, degradedType, progressing } from '../status/conditions.ts';
import { countOutcomes, zeroCounters } from '../status/counters.ts';
import { endsCanary, type SetOutcome } from '../status/subject.ts';
import { isUntrusted, stubDistrusts } from '../stub-authority.ts';
import type { PassCause } from '../wakes/causes.ts';
import { collectImages } from './collect.ts';
import { collectOldStubs } from './collect-old-stubs.ts';
import type { Item, PassSignals } from './item.ts';
import { keepPins } from './keeper.ts';
import { besideUpstream, duringUpgrade, notSelected } from './left-alone.ts';
import type { PassPorts, PassState } from './pass-state.ts';
import { foresee } from './question.ts';
import { leftToUpstream, selectionNow } from './selection-now.ts';
import { told } from './told.ts';
import { Work } from './work.ts';

/** When to look again at the latest, in ms; undefined: when something changes. */
export type PassOutcome = { readonly after: number } | undefined;

/** Nothing that is watched tells of what happens in vCenter, nor that a template has become old enough to be collected. */
const LOOK_AGAIN_MS = 3_600_000;
/** That a node has become ready nobody who is watched tells. */
const CANARY_MS = 10_000;
/** A right that is granted, or an image that is published again, tells nobody. */
const DOUBTED_MS = 300_000;

/**
 * One pass over all sets of all kinds: gates, selection, a decision per set, updates, and both conditions written once at the end (plus once
 * before each step that lasts). Beside an upstream controller it only reads, and says so in the BootImages.
 */
export async function runPass(
  ports: PassPorts,
  state: PassState,
  cause: PassCause,
  options: PassSignals = {},
): Promise<PassOutcome> {
  const pass = new Pass(ports, state, cause, options);
  // Beside an upstream controller nothing is written.
  const acts = upstreamRefusal(ports.world.upstream()) === undefined;
  const keeps = acts && ports.bounds === undefined;
  const after = keeps ? await keepPins(keptSets(ports.world), ports, options.signal) : undefined;
  const outcome = await passOver(ports, state, pass);
  pass.end();
  return after === undefined ? outcome : { after: Math.min(after, outcome?.after ?? after) };
}

async function passOver(ports: PassPorts, state: PassState, pass: Pass): Promise<PassOutcome> {
  const { world } = ports;
  const refusal = upstreamRefusal(world.upstream());
  if (refusal !== state.refusal) {
    ports.warn(refusal === undefined ? 'boot images are managed here again' : `nothing is changed here: ${refusal}`);
  }
  state.refusal = refusal;
  if (refusal !== undefined) return passBeside(refusal, ports, state, pass);

  const mc = world.machineConfiguration();
  const now = ports.now().getTime();
  const ready = readiness(mc, state.waitingSince, now);
  if (ready.kind === 'waiting') {
    state.waitingSince ??= now;
    if (ready.degrade && mc !== undefined) await pass.degrade(ready.message, false);
    return { after: ready.after };
  }
  state.waitingSince = undefined;

  const enrolled: KeptSet[] = [];
  const others: (readonly [set: KeptSet, why: string])[] = [];
  try {
    const leftOut = selectionNow(world);
    for (const set of setsOf(ports)) {
      const why = leftOut(set);
      if (why === undefined) enrolled.push(set);
      else others.push([set, why]);
    }
  } catch (error) {
    await pass.degrade(errorText(error));
    return undefined;
  }
  const failed = state.retries.texts();
  const ids = new Set(enrolled.map(idOf));
  keepMemories(state, ids);
  // A person opted them out: also while an upgrade runs, in which nothing else is done about them.
  for (const [set] of others) state.hotLoop.clear(set);
  for (const set of enrolled) if (exemptionOf(set) !== undefined) state.hotLoop.clear(set);

  const version = world.clusterVersion();
  if (version !== undefined && !clusterStable(version)) {
    // An upgrade runs: nothing is done, except that opting out must be able to clear a failure, or the upgrade waits for it for ever.
    const isDegraded = mc?.status?.conditions?.some((c) => c.type === degradedType && c.status === 'True') === true;
    const left = new Set(enrolled.filter((set) => exemptionOf(set) === undefined).map(idOf));
    if (isDegraded && enrolled.length === 0) await pass.finish([]);
    else if (isDegraded && [...failed.keys()].some((id) => !left.has(id))) {
      for (const id of failed.keys()) if (!left.has(id)) state.retries.clear(id);
      await pass.remember(enrolled);
    }
    await pass.waitForUpgrade(enrolled);
    return undefined;
  }
  await pass.leaveOut(others);
  if (enrolled.length === 0) {
    await pass.finish([]);
    await pass.sweep([]);
    return undefined;
  }
  return pass.run(enrolled);
}

/** Beside an upstream controller: what that leaves alone and a policy of ours decides about is kept as ever, everything else is only told. */
async function passBeside(refusal: string, ports: PassPorts, state: PassState, pass: Pass): Promise<PassOutcome> {
  const { ours = [], theirs = [] } = Object.groupBy(setsOf(ports), (set) =>
    known(() => leftToUpstream(set, ports)) ? 'theirs' : 'ours',
  );
  keepMemories(state, new Set(ours.map(idOf)));
  await pass.refuse(refusal, theirs);
  if (ours.length === 0) {
    await pass.sweep([]);
    return undefined;
  }
  const version = ports.world.clusterVersion();
  if (version === undefined || clusterStable(version)) return pass.run(ours);
  await pass.waitForUpgrade(ours);
  return undefined;
}

/** The sets that the pass looks at. */
function setsOf({ world, bounds }: PassPorts): readonly KeptSet[] {
  return keptSets(world).filter((set) => bounds?.includes(set) !== false);
}

/** Where it cannot be told what upstream does, it may do it. */
function known(left: () => boolean): boolean {
  const found = orBootImageError(left);
  return found instanceof BootImageError || found;
}

/** Forgets what belongs to other sets than these. */
function keepMemories(state: PassState, ids: ReadonlySet<string>): void {
  for (const memory of [state.retries, state.waysBack, state.canaries.settling]) memory.keep(ids);
  for (const id of state.left.keys()) if (!ids.has(id)) state.left.delete(id);
}

class Pass {
  readonly #ports: PassPorts;
  readonly #state: PassState;
  readonly #cause: PassCause;
  readonly #signals: PassSignals;
  readonly #work: Work;
  /** Why the outcome of a set could not be told. */
  readonly #untold: unknown[] = [];

  constructor(ports: PassPorts, state: PassState, cause: PassCause, signals: PassSignals) {
    this.#ports = ports;
    this.#state = state;
    this.#cause = cause;
    this.#signals = signals;
    this.#work = new Work({
      ...{ ports, state, cause, signals },
      tell: (set, outcome) => this.#tell(set, outcome),
      announce: (items) => this.finish(items, true),
    });
  }

  /** Reports an error of the whole pass; counters stay what they were. */
  async degrade(error: string, both: boolean = true): Promise<void> {
    const summary = { counters: this.#state.counters, errors: [error], reason: this.#cause.reason };
    await this.#write(both ? [progressing(summary), degraded(summary)] : [degraded(summary)]);
  }

  /** Says of each of these sets what it boots from and that this process leaves it alone. Nothing but BootImages is written. */
  async refuse(refusal: string, sets: readonly KeptSet[]): Promise<void> {
    const stream = streamOf(this.#ports.world.golden());
    if (stream !== undefined) foresee(sets, stream, this.#ports);
    await eachOf(sets, this.#ports.concurrency ?? 4, async (set) => {
      let facts: ImageFacts = {};
      try {
        if (stream !== undefined) facts = factsOf(await this.#work.ask({ set, counted: 'pending' }, stream));
        const stub = await this.#work.stubOf(set);
        if (stub !== undefined) facts = { ...facts, stub };
      } catch (error) {
        // Only what could be read is told; why the rest could not is upstream's to say.
        this.#signals.signal?.throwIfAborted();
        if (error instanceof BootImageError) facts = error.facts ?? {};
      }
      await this.#tell(set, besideUpstream(refusal, facts));
    });
  }

  async leaveOut(sets: Iterable<readonly [set: KeptSet, why: string]>): Promise<void> {
    const infrastructure = this.#ports.world.infrastructure();
    for (const [set, why] of sets) {
      await this.#tell(set, notSelected(set, why, infrastructure));
    }
  }

  async waitForUpgrade(sets: readonly KeptSet[]): Promise<void> {
    for (const set of sets) {
      // A set that failed before stays reported as failed: its check has not passed.
      if (this.#state.retries.get(idOf(set), 0) !== undefined) continue;
      await this.#tell(set, duringUpgrade);
    }
  }

  async run(sets: readonly KeptSet[]): Promise<PassOutcome> {
    const stream = streamOf(this.#ports.world.golden());
    if (stream === undefined) {
      await this.degrade('failed to fetch coreos-bootimages config map: configmap "coreos-bootimages" not found');
      return undefined;
    }
    const items: Item[] = sets.map((set) => ({ set, counted: 'pending' }));
    const { switched, left } = await this.#work.all(items, stream);
    this.#signals.stopping?.throwIfAborted();
    await this.finish(items, left);
    if (left) return { after: 1 };
    await this.sweep(items);
    const asked = items.flatMap((item) => (item.input === undefined ? [] : [item.input]));
    const news = new Set<string>();
    const found = (id: string, there: readonly ImageThere[]): void => {
      if (this.#state.waysBack.found(id, there)) news.add(id);
    };
    const collect = await collectImages(asked, switched, this.#ports, this.#state, found, this.#work.call.signal);
    if (this.#ports.bounds === undefined) await collectOldStubs(this.#ports, this.#state.oldStubs, this.#work.call);
    for (const { set, outcome } of items)
      if (outcome !== undefined && news.has(idOf(set))) await this.#tell(set, outcome);
    const doubted = items.some(
      ({ outcome }) => (outcome?.verified?.status ?? 'True') !== 'True' || isUntrusted(outcome?.stub),
    );
    const retry = this.#state.retries.nextIn(this.#now);
    const again = doubted ? DOUBTED_MS : LOOK_AGAIN_MS;
    const policies = items.flatMap(({ input }) => input?.policy ?? []);
    const turn = nextTurn(policies, this.#ports.now());
    const tried = items.some(({ outcome }) => outcome?.kind === 'step')
      ? (this.#ports.canaryPollMs ?? CANARY_MS)
      : again;
    return { after: Math.min(retry ?? again, collect ?? again, turn ?? again, tried, again) };
  }

  /** Removes the machines that tried images for nobody any more. What fails here fails no set. */
  async sweep(items: readonly Item[]): Promise<void> {
    const existing = keptSets(this.#ports.world).map(idOf);
    // Of a set that failed only the code is known.
    const joins = (set: KeptSet): boolean => !stubDistrusts.has(this.#state.retries.get(idOf(set), 0)?.code ?? '');
    const trying = items.filter(({ set, outcome }) => (outcome === undefined ? joins(set) : !endsCanary(outcome)));
    const waiting = new Set(trying.map(({ set }) => idOf(set)));
    try {
      const ended = new Set(existing.filter((id) => !waiting.has(id)));
      const { bounds } = this.#ports;
      const mayRemove = (machine: string): boolean => bounds?.mayRemove(machine) !== false;
      const longestMs = longestCanaryMs(this.#ports.world.bootImagePolicies());
      const sets = { existing: new Set(existing), ended, longestMs, mayRemove };
      await this.#work.canaries.sweep(sets, this.#work.call);
    } catch (error) {
      this.#signals.signal?.throwIfAborted();
      this.#ports.warn('canaries that nobody waits for could not be removed', error);
    }
  }

  /** Writes both conditions from what is known of the sets without a look at them. */
  async remember(sets: readonly KeptSet[]): Promise<void> {
    const failed = this.#state.retries.texts();
    const items = sets.map((set): Item => {
      const error = failed.get(idOf(set));
      return error === undefined ? { set, counted: 'reconciled' } : { set, counted: 'error', error };
    });
    await this.#write(Object.values(this.#summed(items)));
  }

  #summed(items: readonly Item[]): { readonly progressing: ConditionLike; readonly degraded: ConditionLike } {
    const counters = { ...zeroCounters };
    for (const kind of setKinds)
      counters[kind.counted] = countOutcomes(
        items.flatMap(({ set, counted }) => (kindOf(set) === kind ? [counted] : [])),
      );
    this.#state.counters = counters;
    const errors = items.flatMap((item) => (item.error === undefined ? [] : [item.error]));
    const summary = { counters, errors, reason: this.#cause.reason };
    return { progressing: progressing(summary), degraded: degraded(summary) };
  }

  /** Writes both conditions from what the items say now. */
  async finish(items: readonly Item[], between: boolean = false): Promise<void> {
    const summed = this.#summed(items);
    // In between, a failure of an earlier pass may be among what is pending, so Degraded waits for the end.
    if (between) return this.#write([summed.progressing]);
    const { world } = this.#ports;
    await this.#write([summed.progressing, summed.degraded], {
      ...{
        errors: items.filter(({ error }) => error !== undefined).length,
        skipped: this.#state.counters['MAPI MachineSets'].skipped + items.filter(isUnverified).length,
        waiting: items.filter(({ set, counted }) => kindOf(set) === machineSets && counted === 'pending').length,
        clusterVersion: world.clusterVersion(),
      },
      releaseVersion: world.golden()?.data?.['releaseVersion'],
      // The record speaks of workers, as upstream's does.
      marketplaceVersions: items.flatMap(({ set, outcome }) =>
        kindOf(set) === machineSets ? (outcome?.marketplaceVersion ?? []) : [],
      ),
    });
  }

  /** To be called last. The pass counts as failed, and is repeated, where something could not be told. */
  end(): void {
    if (this.#untold.length > 0) throw this.#untold[0];
  }

  /** Tells what became of a set. Where that fails, the other sets and the conditions must not suffer from it. */
  async #tell(set: KeptSet, outcome: SetOutcome): Promise<void> {
    if (endsCanary(outcome)) this.#state.canaries.settling.ended(idOf(set));
    try {
      await this.#ports.report(set, told(set, outcome, this.#state));
    } catch (error) {
      this.#signals.signal?.throwIfAborted();
      this.#untold.push(error);
    }
  }

  get #now(): number {
    return this.#ports.now().getTime();
  }

  async #write(conditions: readonly ConditionLike[], ended?: PassResult): Promise<void> {
    // It may have come since the pass began: from then on the conditions are its own.
    if (upstreamRefusal(this.#ports.world.upstream()) === undefined)
      await this.#ports.writeConditions(conditions, ended);
  }
}

/** A set of workers of whose image nobody knows whether machines start from it: the record cannot speak for it. */
function isUnverified({ set, counted, outcome }: Item): boolean {
  return kindOf(set) === machineSets && counted === 'reconciled' && (outcome?.verified?.status ?? 'True') !== 'True';
}
