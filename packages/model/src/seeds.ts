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

/** How often a seeded test plays: `usual` times, in a soak `soak` times; DRYDOCK_SEEDS wins over both. */
export function repetitions(usual: number, soak: number): number {
  return asked('DRYDOCK_SEEDS') ?? (soaking ? soak : usual);
}

/** The first seed: DRYDOCK_SEED, DRYDOCK_SEED_FROM, or 1. */
export function firstSeed(): number {
  return asked('DRYDOCK_SEED') ?? asked('DRYDOCK_SEED_FROM') ?? 1;
}

/** The seeds of a test: `repetitions` of them from `firstSeed`, or only the one in DRYDOCK_SEED. */
export function* seeds(usual: number, soak: number = 100_000): Generator<number, void> {
  const first = firstSeed();
  const many = asked('DRYDOCK_SEED') === undefined ? repetitions(usual, soak) : 1;
  for (let seed = first; seed < first + many; seed += 1) yield seed;
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
