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
}

/** What an exploration covered. A check that explored nothing proves nothing: assert on it. */
export interface Coverage {
  /** Places of a run without faults, in order. */
  readonly places: readonly string[];
  readonly scenarios: number;
  /** False where a soak's time was over before everything was tried. */
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
 */
export async function explore<W, F extends string>(exploration: Exploration<W, F>): Promise<Coverage> {
  const clean = await play(exploration, []);
  let scenarios = 1;
  let complete = true;
  const outOfTime = timeLimit();
  const deepen = async (plans: readonly Plan<F>[], places: number): Promise<void> => {
    if (plans.length === (exploration.depth ?? 1)) return;
    for (const fault of exploration.faults) {
      for (let index = 0; index < places; index += 1) {
        // Single faults are always tried: without them the deeper ones say little.
        if (plans.length > 0 && outOfTime()) {
          complete = false;
          return;
        }
        const history = [...plans, { fault, index }];
        const played = await play(exploration, history);
        scenarios += 1;
        await deepen(history, played.places.length);
      }
    }
  };
  await deepen([], clean.places.length);
  tally({ what: 'histories', did: scenarios, ...(complete ? { of: scenarios } : {}) });
  return { places: clean.places, scenarios, complete };
}

interface Plan<F extends string> {
  readonly fault: F;
  readonly index: number;
}

/** Plays one history; returns the places of its last run. */
async function play<W, F extends string>(
  exploration: Exploration<W, F>,
  plans: readonly Plan<F>[],
): Promise<{ readonly places: readonly string[] }> {
  const happened: Scenario<F>['faults'][number][] = [];
  const scenario: Scenario<F> = { faults: happened };
  const world = await exploration.setup();
  try {
    for (const [run, plan] of plans.entries()) {
      const places: string[] = [];
      const error = await outcome(
        exploration.run(
          world,
          wire(places, plan, (place) => happened.push({ run, ...plan, place })),
        ),
      );
      if (happened.length <= run)
        throw new Error(`run ${run} had only ${places.length} places: it is not deterministic`, { cause: error });
    }
    const places: string[] = [];
    await exploration.run(world, wire(places));
    await exploration.check(world, scenario);
    return { places };
  } catch (error) {
    throw new ExplorationError(scenario, error);
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
