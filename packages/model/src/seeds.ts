import { tally, timeLimit } from './tally.ts';

const asked = (name: string): number | undefined => {
  const text = process.env[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new RangeError(`${name} is ${text}: a whole number above 0 is expected`);
  return value;
};

/** Whether tests repeat themselves far beyond what each run of all tests can wait for (`make soak`, DRYDOCK_SOAK=1). */
export const soaking: boolean = process.env['DRYDOCK_SOAK'] === '1';

/** How many times its usual rounds a test plays in one slice of a soak with a budget; undefined: there is no budget. */
function scale(): number | undefined {
  const text = process.env['DRYDOCK_SOAK_SCALE'];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!(value > 0)) throw new RangeError(`DRYDOCK_SOAK_SCALE is ${text}: a number above 0 is expected`);
  return value;
}

/**
 * How often a seeded test plays: `usual` times, in a soak `soak` times, in one slice of a soak with a budget as often as the slice is large;
 * DRYDOCK_SEEDS wins over all.
 */
function count(usual: number, soak: number): number {
  const times = scale();
  const planned = times === undefined ? soak : Math.max(1, Math.min(soak, Math.round(Math.max(usual, 1) * times)));
  return asked('DRYDOCK_SEEDS') ?? (soaking ? planned : usual);
}

/** {@link count} for a test that plays them all, whatever the time; `what` they are ("kills"). */
export function repetitions(usual: number, soak: number, what: string): number {
  const many = count(usual, soak);
  tally({ what, did: many, of: soak });
  return many;
}

/** The first seed: DRYDOCK_SEED, DRYDOCK_SEED_FROM, or 1. */
export function firstSeed(): number {
  return asked('DRYDOCK_SEED') ?? asked('DRYDOCK_SEED_FROM') ?? 1;
}

/**
 * The seeds of a test, from `firstSeed`, or only the one in DRYDOCK_SEED. A slice of a soak ends them with its time, but never before the first. `together` asserts what only many seeds
 * reach: it is called after the last one, and not where fewer than usual were played.
 */
export function* seeds(
  usual: number,
  soak: number = 100_000,
  what: string = 'seeds',
  together: () => void = () => undefined,
): Generator<number, void> {
  const first = firstSeed();
  const many = asked('DRYDOCK_SEED') === undefined ? count(usual, soak) : 1;
  const outOfTime = timeLimit();
  let did = 0;
  try {
    for (let seed = first; seed < first + many && (did === 0 || !outOfTime()); seed += 1) {
      did += 1;
      yield seed;
    }
    if (did >= usual) together();
  } finally {
    tally({ what, did, of: soak });
  }
}

/** Runs one seed; a failure says how to have it again. `file` is the test file, from the repository's root. */
export async function withSeed(seed: number, file: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new Error(`seed ${seed}: ${said}\nAgain: DRYDOCK_SEED=${seed} node --test ${file}`, { cause: error });
  }
}
