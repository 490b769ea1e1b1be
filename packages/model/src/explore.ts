import { tally, timeLimit } from './tally.ts';

/** Counts the places at which something can fail, and says when to fail. */
export interface Tripwire<F extends string> {
  /** To be called at every such place, with a name for reports. What it returns is the fault that is to happen here; undefined: go on. */
  hit(place: string): F | undefined;
}

/** One history: which faults happened where, in which run. */
export interface Scenario<F extends string> {
  readonly faults: readonly {
    readonly run: number;
    readonly fault: F;
    readonly place: string;
    readonly index: number;
  }[];
}

/** What is explored. `W` is a fresh world per scenario. */
export interface Exploration<W, F extends string> {
  readonly setup: () => W | Promise<W>;
  /** The work. Called again after a fault, in the same world, as a restarted process would; it may reject only when a fault was due in it. */
  readonly run: (world: W, tripwire: Tripwire<F>) => Promise<void>;
  /** What must hold after the last, clean run. */
  readonly check: (world: W, scenario: Scenario<F>) => void | Promise<void>;
  readonly faults: readonly F[];
  /** Faults per history: 1 alone, 2 in pairs as well, 3 in triples as well. Default 1. */
  readonly depth?: 1 | 2 | 3;
  /** Of so many second and later faults, one is tried: `soaking ? 1 : 4` where all of them take too long for each run of the tests. Default 1. */
  readonly sampled?: number;
  /** Leaves out a fault that does the same at another place, which is tried; `earlier` is how many faults came before it. Default: every fault everywhere. */
  readonly tries?: (fault: F, place: string, earlier: number) => boolean;
  /** How worlds are compared and copied. Without it each history is played from its beginning, and none is taken for another. */
  readonly worlds?: Worlds<W>;
}

/** What makes histories cheap whose beginnings, or whose ends, are the same. */
export interface Worlds<W> {
  /** A world that goes on by itself from where this one is. */
  readonly copy: (world: W) => W | Promise<W>;
  /**
   * Everything that a later run, and the check after it, depend on. Of several histories with as many faults, or fewer, that leave the same, one goes on: the others would do the same.
   */
  readonly state: (world: W) => string;
  /** What must hold after every run, also of a history that does not go on. */
  readonly holds?: (world: W) => void;
}

/** What an exploration covered. A check that explored nothing proves nothing: assert on it. */
export interface Coverage {
  /** Places of a run without faults, in order. */
  readonly places: readonly string[];
  /** Histories, those included that ended as another one. */
  readonly scenarios: number;
  /** Histories that left a world as another one had: what comes after it was played once. */
  readonly merged: number;
  /** False where not everything was tried: later faults were sampled, or a soak's time was over. */
  readonly complete: boolean;
}

/** A history after which the check failed. `message` names the places. */
export class ExplorationError extends Error {
  override readonly name = 'ExplorationError';

  constructor(scenario: Scenario<string>, cause: unknown) {
    const history = scenario.faults
      .map(({ run, fault, place, index }) => `run ${run}: ${fault} at ${index} ${place}`)
      .join(', then ');
    const said = cause instanceof Error ? cause.message : String(cause);
    super(`${history === '' ? 'without faults' : history}, then a clean run: ${said}`, { cause });
  }
}

/**
 * Tries every fault at every place, each followed by a clean run and the check; with depth 2 also every second fault in the run that follows the first, and
 * so on.
 *
 * ```
 *  setup ─▶ run ✗ at place i ─▶ run ─▶ check                 for every i and fault
 *  setup ─▶ run ✗ at place i ─▶ run ✗ at j ─▶ run ─▶ check   for every pair
 * ```
 * Shorter histories come first, so that longer ones are compared with all of them.
 */
export async function explore<W, F extends string>(exploration: Exploration<W, F>): Promise<Coverage> {
  const { depth = 1, sampled = 1, worlds } = exploration;
  const outOfTime = timeLimit();
  const met = new Set<string>();
  let [scenarios, merged, complete] = [0, 0, true];
  let later = 0;
  let clean: readonly string[] | undefined;
  const root: History<W, F> = { plans: [], happened: [] };
  let level: readonly History<W, F>[] = [root];
  if (worlds !== undefined) {
    const world = await exploration.setup();
    met.add(worlds.state(world));
    level = [{ ...root, world }];
  }
  /** Plays the clean run after a history; returns the places at which the next fault may be. */
  const finish = async (history: History<W, F>): Promise<readonly string[]> => {
    scenarios += 1;
    const places = await play(exploration, history);
    clean ??= places;
    return places;
  };
  for (let faults = 0; faults < depth; faults += 1) {
    const next: History<W, F>[] = [];
    for (const history of level) {
      const places = await finish(history);
      for (const fault of exploration.faults) {
        for (const [index, place] of places.entries()) {
          // Single faults are always tried: without them the deeper ones say little.
          if (faults > 0 && outOfTime()) {
            complete = false;
            break;
          }
          if (exploration.tries?.(fault, place, faults) === false) continue;
          if (faults > 0 && later++ % sampled !== 0) {
            complete = false;
            continue;
          }
          const struck = await strike(exploration, history, { fault, index });
          const state = struck.world === undefined ? undefined : worlds?.state(struck.world);
          if (state !== undefined && met.has(state)) {
            scenarios += 1;
            merged += 1;
            continue;
          }
          if (state !== undefined) met.add(state);
          // Kept only as long as something can come of it.
          if (faults + 1 === depth) await finish(struck);
          else next.push(struck);
        }
      }
    }
    level = next;
  }
  tally({ what: 'histories', did: scenarios, ...(complete ? { of: scenarios } : {}) });
  return { places: clean ?? [], scenarios, merged, complete };
}

interface Plan<F extends string> {
  readonly fault: F;
  readonly index: number;
}

/** Faults that happened, or are to happen where there is no world yet; and the world that they left. */
interface History<W, F extends string> {
  readonly plans: readonly Plan<F>[];
  readonly happened: Scenario<F>['faults'];
  readonly world?: W;
}

/** A history with one fault more. */
async function strike<W, F extends string>(
  exploration: Exploration<W, F>,
  history: History<W, F>,
  plan: Plan<F>,
): Promise<History<W, F>> {
  const plans = [...history.plans, plan];
  const { worlds } = exploration;
  if (worlds === undefined) return { plans, happened: [] };
  const happened = [...history.happened];
  try {
    const world = history.world === undefined ? await exploration.setup() : await worlds.copy(history.world);
    await fail(exploration, world, plan, happened);
    worlds.holds?.(world);
    return { plans, happened, world };
  } catch (error) {
    throw new ExplorationError({ faults: happened }, error);
  }
}

/** One run with a fault. */
async function fail<W, F extends string>(
  { run }: Exploration<W, F>,
  world: W,
  plan: Plan<F>,
  happened: Scenario<F>['faults'][number][],
): Promise<void> {
  const number = happened.length;
  const places: string[] = [];
  const error = await outcome(
    run(
      world,
      wire(places, plan, (place) => happened.push({ run: number, ...plan, place })),
    ),
  );
  if (happened.length <= number)
    throw new Error(`run ${number} had only ${places.length} places: it is not deterministic`, { cause: error });
}

/** Plays the clean run after a history, from its beginning where its world was not kept; returns the places of the run. */
async function play<W, F extends string>(
  exploration: Exploration<W, F>,
  history: History<W, F>,
): Promise<readonly string[]> {
  const { run, setup, check, worlds } = exploration;
  const happened = [...history.happened];
  try {
    const kept = history.world;
    const world = kept === undefined || worlds === undefined ? await setup() : await worlds.copy(kept);
    if (kept === undefined) for (const plan of history.plans) await fail(exploration, world, plan, happened);
    const places: string[] = [];
    await run(world, wire(places));
    await check(world, { faults: happened });
    return places;
  } catch (error) {
    throw new ExplorationError({ faults: happened }, error);
  }
}

function wire<F extends string>(places: string[], plan?: Plan<F>, fired?: (place: string) => void): Tripwire<F> {
  return {
    hit: (place) => {
      places.push(place);
      if (plan === undefined || places.length - 1 !== plan.index) return undefined;
      fired?.(place);
      return plan.fault;
    },
  };
}

async function outcome(run: Promise<void>): Promise<unknown> {
  try {
    await run;
    return undefined;
  } catch (error) {
    return error;
  }
}
