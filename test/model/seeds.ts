/**
 * The seeds of a model test: `count` of them, 100,000 in a soak, or the one in DRYDOCK_SEED. DRYDOCK_SEEDS sets how many,
 * DRYDOCK_SEED_FROM where they begin.
 */
export function* seeds(count: number, soak: number = 100_000): Generator<number, void> {
  const one = process.env['DRYDOCK_SEED'];
  if (one !== undefined) {
    yield Number(one);
    return;
  }
  const asked = process.env['DRYDOCK_SEEDS'];
  const many = asked !== undefined ? Number(asked) : process.env['DRYDOCK_SOAK'] === '1' ? soak : count;
  const from = Number(process.env['DRYDOCK_SEED_FROM'] ?? 1);
  for (let seed = from; seed < from + many; seed += 1) yield seed;
}

/** Runs one seed; a failure says how to have it again. */
export async function withSeed(seed: number, file: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new Error(`seed ${seed}: ${said}\nAgain: DRYDOCK_SEED=${seed} node --test ${file}`, { cause: error });
  }
}
