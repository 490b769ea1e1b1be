import { keyOf } from '@drydock/kube';
import { type Canaries, canaries } from '../canary/canaries.ts';
import { groupOf } from '../canary/machine.ts';
import { factsOf, type ImageFacts } from '../image-facts.ts';
import { idOf, type KeptSet, kindOf, machineSets } from '../observe/kept-set.ts';
import type { PlatformPlan, PointedImage } from '../platform.ts';
import type { Waiting } from '../policy/held.ts';
import { failureDomainOf, followedOn, type SetPolicy } from '../policy/set-policy.ts';
import { isPaced, type Turn } from '../policy/turns.ts';
import { eachOf, lanes } from '../pool.ts';
import { imageOf as bootImageFor } from '../status/boot-image-store.ts';
import { type SetOutcome, withStub } from '../status/subject.ts';
import { isUntrusted, type StubTrust } from '../stub-authority.ts';
import { machineApiNamespace } from '../user-data/machine-api.ts';
import { cannotJoin, stubTrust } from '../user-data/stub-trust.ts';
import { type Stubs, sharedStubs, userDataSecret, wayBackOf } from '../user-data/user-data.ts';
import type { PassCause } from '../wakes/causes.ts';
import { imageOfSet } from '../wakes/foreign-writes.ts';
import { type Pin, samePin } from '../way-back/pin.ts';
import { failureOf } from './failure.ts';
import { inTurn } from './in-turn.ts';
import type { Acting, Item, PassSignals, ReleaseStream } from './item.ts';
import { overtaken } from './overtaken.ts';
import { type PassPorts, type PassState, WRITES_AT_ONCE } from './pass-state.ts';
import { foresee, planOf, questionAbout, withPlace } from './question.ts';
import { told } from './told.ts';
import { updateSet } from './update.ts';

/** What the work of a pass is done with. */
export interface WorkOptions {
  readonly ports: PassPorts;
  readonly state: PassState;
  readonly cause: PassCause;
  readonly signals: PassSignals;
  /** Tells what became of a set. */
  readonly tell: (item: Item['set'], outcome: SetOutcome) => Promise<void>;
  /** Called and awaited before a step that lasts. */
  readonly announce: (items: readonly Item[]) => Promise<void>;
}

/** What became of the work. */
export interface WorkDone {
  readonly switched: boolean;
  /** A set was left to the next pass. */
  readonly left: boolean;
}

interface Planned {
  readonly item: Item;
  readonly plan: Acting;
}

/** The work of one pass on its sets: each is planned, then what has to be done is done. A failure is its set's alone. */
export class Work {
  readonly #options: WorkOptions;
  readonly canaries: Canaries;
  readonly #stubs: Stubs;

  constructor(options: WorkOptions) {
    this.#options = options;
    const { ports, state } = options;
    this.#stubs = sharedStubs(ports.client);
    const { client, world, now, elapsed } = ports;
    const { machines, machineSets: sets, bootImages: images } = world;
    this.canaries = canaries({ ...{ client, machines, images, now, elapsed }, machineSets: sets }, state.canaries);
  }

  /** Plans every set, then acts: publications of one image one after the other. */
  async all(items: readonly Item[], stream: ReleaseStream): Promise<WorkDone> {
    const { ports } = this.#options;
    foresee(
      items.map(({ set }) => set),
      stream,
      ports,
    );
    const planned: Planned[] = [];
    const limit = ports.concurrency ?? 4;
    await eachOf(items, limit, async (item) => {
      const plan = await this.#guard(item, () => this.#plan(item, stream));
      if (plan !== undefined) planned.push({ item, plan });
    });
    const done = { switched: false, left: false };
    const serial = lanes();
    const leftKeys = new Set<string>();
    // Publications of one image come one after the other; one that is left leaves those behind it.
    const act = ({ item, plan }: Planned): Promise<boolean> => {
      const key = laneOf(item, plan);
      return serial(key, async () => {
        if (leftKeys.has(key)) return false;
        const became = await this.#guard(item, async () => {
          await this.#options.ports.bounds?.mayMove(item.set, plan, this.call);
          const ports = this.#updatePorts(item, items);
          const outcome = await updateSet(item.set, plan, ports, this.#options.signals);
          if (outcome !== undefined) await this.#settle(item, outcome);
          return outcome?.kind ?? 'left';
        });
        done.switched ||= became === 'current';
        done.left ||= became === 'left';
        if (became === 'left') leftKeys.add(key);
        return became === 'current' || became === 'skip';
      });
    };
    const paced = pacedBy(items, (item) => this.#policyOf(item));
    const free = planned.filter(({ item }) => !paced.has(item));
    // Images that take their time must hold up neither sets that need none nor each other; the store has its own limit of imports.
    const { publish = [], switch: switches = [] } = Object.groupBy(free, ({ plan }) => plan.kind);
    const work = new Map(planned.map((one) => [one.item, one]));
    await Promise.all([
      eachOf(switches, ports.concurrency ?? WRITES_AT_ONCE, async (one) => void (await act(one))),
      eachOf(publish, publish.length, async (one) => void (await act(one))),
      ...[...Map.groupBy(paced, ([, { name }]) => name).values()].map((entries) => this.#inTurn(entries, work, act)),
    ]);
    return done;
  }

  /** The sets of one policy that has a pace. */
  async #inTurn(
    entries: readonly (readonly [item: Item, policy: SetPolicy])[],
    planned: ReadonlyMap<Item, Planned>,
    act: (work: Planned) => Promise<boolean>,
  ): Promise<void> {
    const { world, platforms } = this.#options.ports;
    const [[, policy] = []] = entries;
    if (policy === undefined) return;
    const turns = entries.flatMap(([item]): Turn<Planned>[] => {
      const work = planned.get(item);
      // What was settled needs nothing, or waits for something of its own.
      if (work === undefined && item.outcome !== undefined) return [];
      const turn = { set: item.set, failureDomain: failureDomainOf(item.set, world, platforms) };
      return [work === undefined ? turn : { ...turn, work }];
    });
    await inTurn(policy, turns, { act, wait: ({ item }, outcome) => this.#settle(item, outcome) });
  }

  /** Also of a set that was not asked about, because it failed not long ago. */
  #policyOf(item: Item): SetPolicy | undefined {
    const policy = item.input === undefined ? followedOn(item.set, this.#options.ports) : item.input.policy;
    return policy === undefined || 'kind' in policy ? undefined : policy;
  }

  /** Reads and decides; writes nothing. */
  async ask(item: Item, stream: ReleaseStream): Promise<PlatformPlan | Waiting> {
    const { ports } = this.#options;
    const asked = await this.#question(item.set, stream);
    if (asked.kind === 'skip') return asked;
    item.input = asked;
    this.#heed(item.set, asked.input.pin);
    return planOf(asked, ports, this.call);
  }

  async #question(set: KeptSet, stream: ReleaseStream): Promise<ReturnType<typeof questionAbout>> {
    const { ports } = this.#options;
    try {
      return questionAbout(set, stream, ports);
    } catch (error) {
      throw await withPlace(error, set, stream, ports, this.call);
    }
  }

  /** A person who pins a set, or lifts its pin, has ended whatever fight there was about it. */
  #heed(set: KeptSet, pin: Pin | undefined): void {
    const { pins, hotLoop } = this.#options.state;
    const id = idOf(set);
    if (pins.has(id) && !samePin(pins.get(id), pin)) hotLoop.clear(set);
    pins.set(id, pin);
  }

  /** For calls that only read. */
  get call(): { readonly signal?: AbortSignal | undefined } {
    const { signal, stopping } = this.#options.signals;
    const both = [signal, stopping].filter((one) => one !== undefined);
    return both.length === 0 ? {} : { signal: AbortSignal.any(both) };
  }

  get #now(): number {
    return this.#options.ports.now().getTime();
  }

  /** The plan, where something has to be done; everything else is settled here. */
  async #plan(item: Item, stream: ReleaseStream): Promise<Acting | undefined> {
    const { state, cause } = this.#options;
    const id = idOf(item.set);
    const failure = state.retries.get(id, this.#now);
    const touched = cause.touched === 'all' || cause.touched.has(id);
    if (failure !== undefined && !failure.due && !touched) {
      if (failure.text === undefined) return undefined;
      item.counted = 'error';
      item.error = failure.text;
      return undefined;
    }
    state.looked.add(id);
    const asked = await this.ask(item, stream);
    const stub = asked.kind === 'skip' ? undefined : await this.stubOf(item.set);
    const plan = stub === undefined ? asked : { ...asked, stub };
    await this.#askWho(item);
    if (plan.kind === 'switch' || plan.kind === 'publish') {
      // Who pins a set decides where it goes, whatever comes of it.
      if (isUntrusted(stub) && plan.pinned !== true) throw cannotJoin(stub, factsOf(plan));
      return plan;
    }
    if (plan.kind === 'current') state.hotLoop.agreed(item.set);
    await this.#settle(item, withStub(plan));
    return undefined;
  }

  /** Whether machines of a set trust the server that they get their configuration from. */
  async stubOf(set: KeptSet): Promise<StubTrust | undefined> {
    const { ports, state } = this.#options;
    const name = userDataSecret(set);
    if (name === undefined) return undefined;
    return stubTrust({ namespace: machineApiNamespace, name }, ports, state.stubTrusts, this.call);
  }

  /** The hot loop's next step and the metrics name who else changed the image. */
  async #askWho({ set, input }: Item): Promise<void> {
    const { state, ports } = this.#options;
    const id = idOf(set);
    if (input === undefined || !state.foreign.has(id)) return;
    const manager = await ports.foreignWriter(set, input.platform, this.call);
    state.foreign.delete(id);
    if (manager === undefined) return;
    state.writers.set(id, manager);
    state.hotLoop.blame(set, manager);
  }

  async #settle(item: Item, outcome: SetOutcome): Promise<void> {
    const { state, tell } = this.#options;
    const id = idOf(item.set);
    item.counted = countedOf(item, outcome);
    item.outcome = outcome;
    if (outcome.kind === 'skip') state.hotLoop.clear(item.set);
    if (outcome.kind === 'current' && outcome.by !== undefined) {
      state.waysBack.switched(id);
      state.writers.delete(id);
      const { resourceVersion } = item.set.metadata;
      // Where its name stays the set is not written, and what is read of it is never of before.
      if (resourceVersion !== undefined && !keepsReference(item, outcome)) state.moved.set(id, resourceVersion);
      else state.moved.delete(id);
    }
    state.retries.clear(id);
    await tell(item.set, outcome);
  }

  /** Runs one item's work; what it throws becomes the item's failure. */
  async #guard<R>(item: Item, work: () => Promise<R>): Promise<R | undefined> {
    const { signal, stopping } = this.#options.signals;
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      stopping?.throwIfAborted();
      await this.#fail(item, error);
      return undefined;
    }
  }

  async #fail(item: Item, thrown: unknown): Promise<void> {
    const { ports, tell, state } = this.#options;
    const { retries } = state;
    const id = idOf(item.set);
    const told = failureOf(item.set, thrown, item.uploaded === true, item.input?.policy);
    const before = retries.get(id, 0);
    // The wait for another process is as long as a lease takes to expire, so its pauses do not grow.
    if (told.kind === 'waiting') retries.clear(id);
    retries.fail(id, told.failure, this.#now);
    if (told.kind === 'failed') {
      item.counted = 'error';
      item.error = told.text;
      if (before?.text !== told.text) ports.event(item.set, 'Failed', told.text);
    }
    if (told.outcome.aim !== undefined) state.hotLoop.aim(item.set, told.outcome.aim);
    await tell(item.set, told.outcome);
  }

  /** A person who pinned a set has tried the image. */
  async #tried(
    { input: asked }: Item,
    set: KeptSet,
    image: PointedImage,
    facts: ImageFacts,
    beforeWrite: () => void,
  ): Promise<SetOutcome | undefined> {
    const { ports, state } = this.#options;
    const { policy, input } = asked ?? {};
    if (asked === undefined || input === undefined || policy?.spec.canary?.mode !== 'Machine') return undefined;
    if (input.pin !== undefined) return undefined;
    const failureDomain = failureDomainOf(set, ports.world, ports.platforms);
    const { architecture } = input;
    ports.bounds?.mayTry(groupOf(set, policy, image, { failureDomain, architecture }).machine);
    const record = (canary: NonNullable<ImageFacts['canary']>): Promise<void> =>
      ports.report(set, told(set, { kind: 'step', phase: 'Publishing', reason: 'Canary', ...facts, canary }, state));
    const { platform } = asked;
    const guest = (uid: string, call: { readonly signal?: AbortSignal | undefined }): Promise<string | undefined> =>
      platform.guestOf?.(input.spec, uid, call) ?? Promise.resolve(undefined);
    return this.canaries.tried(
      {
        ...{ set, policy, image, facts, beforeWrite, record, guest },
        ...{ failureDomain, architecture },
        stub: () => {
          state.stubTrusts.clear();
          return this.stubOf(set);
        },
      },
      this.call,
    );
  }

  #updatePorts(item: Item, items: readonly Item[]): Parameters<typeof updateSet>[2] {
    const { ports, state } = this.#options;
    const { client, event, warn, now, step, refused, stubSecret, bounds, progressMs = 1000 } = ports;
    const { hotLoop, pointed, left } = state;
    return {
      left,
      bounds,
      client,
      stubSecret,
      stubs: this.#stubs,
      wayBack: wayBackOf(item.set, ports.world.bootImage(keyOf(bootImageFor(item.set)))?.status, item.input?.input.pin),
      hotLoop,
      report: (set, outcome) => ports.report(set, told(set, outcome, state)),
      event,
      warn,
      now,
      step,
      refused,
      progressMs,
      announceStep: () => this.#options.announce(items),
      uploading: () => {
        item.uploaded = true;
      },
      pointed: (set, image) => void pointed.set(idOf(set), image),
      overtaken: (set) => overtaken(set, ports, item.input),
      tried: (set, image, facts, beforeWrite) => this.#tried(item, set, image, facts, beforeWrite),
    };
  }
}

/** What waits is pending; what stays at a release of its own by request is nothing that the cluster keeps current. */
function countedOf({ set, input }: Item, outcome: SetOutcome): Item['counted'] {
  if (outcome.kind === 'waiting' || outcome.kind === 'step') return 'pending';
  const pinned = (outcome.pinned === true || input?.input.by?.pinned === true) && kindOf(set) === machineSets;
  return pinned || (outcome.kind === 'skip' && outcome.counted) ? 'skipped' : 'reconciled';
}

/** Whether a set that was moved refers to what it referred to before. */
function keepsReference({ set, input }: Item, { movedTo }: SetOutcome): boolean {
  const { platform } = input ?? {};
  const reference = platform && imageOfSet(set, platform);
  return reference !== undefined && (platform?.recordOf?.(reference) ?? reference) === movedTo;
}

function laneOf(item: Item, plan: Acting): string {
  return plan.kind === 'publish' ? plan.publication.key : `switch ${idOf(item.set)}`;
}

/** The items whose policy has a pace. */
function pacedBy(
  items: readonly Item[],
  policyOf: (item: Item) => SetPolicy | undefined,
): ReadonlyMap<Item, SetPolicy> {
  const paced = new Map<Item, SetPolicy>();
  for (const item of items) {
    const policy = policyOf(item);
    if (policy !== undefined && isPaced(policy)) paced.set(item, policy);
  }
  return paced;
}
