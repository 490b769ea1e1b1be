import { setTimeout as sleep } from 'node:timers/promises';

/** A reader of foreign bytes, and hostile input for it of any size. */
export interface Growth<I> {
  /** What is read, for the message, such as `JSON: keys without end`. */
  readonly name: string;
  /** Input of about so many bytes (or items, as long as `limit` counts the same). Not measured. */
  readonly input: (size: number) => I;
  /** What is measured, to the end of its promise. It reads from memory. A refusal, thrown, is an answer: what it costs counts. */
  readonly read: (input: I) => unknown;
  /** The largest size that matters: the bound of the reader, or where it has none the largest input that can reach it. */
  readonly limit: number;
  /** The longest stretch that the event loop may be held: ms of CPU time of a machine that is not shared. Default 200. */
  readonly stretch?: number;
}

/** What one size costs: ms of CPU time of this thread, the least of several runs. */
export interface Cost {
  readonly size: number;
  readonly total: number;
  /** The longest stretch in which nothing else could run. */
  readonly stretch: number;
}

/** A reader that costs more than it may. `message` has the costs by size. */
export class GrowthError extends Error {
  override readonly name = 'GrowthError';
  readonly costs: readonly Cost[];

  constructor(name: string, complaint: string, costs: readonly Cost[]) {
    const table = costs.map(
      ({ size, total, stretch }) => `${size}: ${total.toFixed(1)} ms, at one stretch ${stretch.toFixed(1)} ms`,
    );
    super(`${name}: ${complaint}.\n  ${table.join('\n  ')}`);
    this.costs = costs;
  }
}

/** Sizes that are tried: the limit, and so many halvings of it. */
const HALVINGS = 8;
/** Below this (ms) a cost is noise, whatever it grows like: one collection of garbage costs as much. */
const NOISE = 15;
/**
 * Eight times the size may cost so many times as much (linear: 8, quadratic: 64), and twice the size so many times (2, 4). Between them is room for what
 * memory costs: the collector copies what outlives its first round, which small inputs do not.
 */
const EIGHTFOLD = 26;
const TWOFOLD = 2.7;
/** Runs of one size: at least so many, and so many more while the costs are too high, since another process may have disturbed them. */
const RUNS = 3;
const MORE_RUNS = 5;

/**
 * Feeds a reader growing input, up to its limit, and throws `GrowthError` where its cost grows faster than the input (n, 2n, 4n, 8n, where 8n is the limit), or
 * where it holds the event loop for longer than it may. Costs are CPU time of this thread, so that they hold on a busy machine. Returns the costs, the
 * largest size last.
 */
export async function assertLinear<I>(growth: Growth<I>): Promise<readonly Cost[]> {
  const { name, limit, stretch = 200 } = growth;
  const sizes = Array.from({ length: HALVINGS + 1 }, (_, at) => Math.ceil(limit / 2 ** (HALVINGS - at)));
  const tooLong = (costs: readonly Cost[]): boolean => costs.some((cost) => cost.stretch > stretch);
  /** Looked at only where it matters: CPU time, too, is dearer where others use the same memory and caches. */
  const isTooLong = async (costs: readonly Cost[]): Promise<boolean> => {
    if (!tooLong(costs)) return false;
    const longest = stretch * (await slowness());
    return costs.some((cost) => cost.stretch > longest);
  };
  const costs: Cost[] = [];
  // One size after another, so that a reader that is far too slow is not given the largest.
  for (const size of sizes.slice(0, -1)) {
    costs.push(...(await leastOf(growth, [size], 1, tooLong)));
    if (await isTooLong(costs)) throw new GrowthError(name, `holds the event loop for more than ${stretch} ms`, costs);
  }
  const last = await leastOf(growth, sizes.slice(-4), RUNS, (so) => tooLong(so) || isSteep(so));
  costs.splice(-3, 3, ...last);
  if (await isTooLong(last)) throw new GrowthError(name, `holds the event loop for more than ${stretch} ms`, costs);
  if (isSteep(last)) throw new GrowthError(name, 'costs grow faster than the input', costs);
  return costs;
}

/** What reading `SAMPLE` costs (ms) on a machine of two ordinary cores that does nothing else. */
const ORDINARY = 5;
const SAMPLE = `{${Array.from({ length: 20_000 }, (_, number) => `"n${number}":[${number}]`).join(',')}}`;

/** How many times slower than an ordinary one this machine is now; 1 for a faster one. */
async function slowness(): Promise<number> {
  const growth: Growth<string> = {
    name: 'the machine',
    input: () => SAMPLE,
    read: (text) => JSON.parse(text),
    limit: 1,
  };
  const [cost] = await leastOf(growth, [1], 2 * RUNS, () => false);
  return Math.max(1, (cost?.total ?? 0) / ORDINARY);
}

function isSteep(costs: readonly Cost[]): boolean {
  const [eighth, , half, whole] = costs;
  if (eighth === undefined || half === undefined || whole === undefined || whole.total < NOISE) return false;
  return whole.total > EIGHTFOLD * eighth.total && whole.total > TWOFOLD * half.total;
}

/** The least that each size costs, in turns, so that a slow moment of the machine does not meet one size alone. */
async function leastOf<I>(
  { input, read }: Growth<I>,
  sizes: readonly number[],
  runs: number,
  suspicious: (costs: readonly Cost[]) => boolean,
): Promise<readonly Cost[]> {
  const none = Number.POSITIVE_INFINITY;
  let least: readonly Cost[] = sizes.map((size) => ({ size, total: none, stretch: none }));
  for (let run = 0; run < runs || (run < runs + MORE_RUNS && suspicious(least)); run += 1) {
    const next: Cost[] = [];
    for (const { size, total, stretch } of least) {
      const cost = await measure(input(size), read);
      next.push({ size, total: Math.min(total, cost.total), stretch: Math.min(stretch, cost.stretch) });
    }
    least = next;
  }
  return least;
}

async function measure<I>(input: I, read: (input: I) => unknown): Promise<Omit<Cost, 'size'>> {
  const reading = { over: false };
  const start = await cpuTime();
  let last = start;
  let stretch = 0;
  const sample = async (): Promise<void> => {
    const now = await cpuTime();
    stretch = Math.max(stretch, now - last);
    last = now;
  };
  const watching = (async () => {
    while (!reading.over) await sample();
    await sample();
  })();
  try {
    await read(input);
  } catch {
    // A refusal.
  }
  reading.over = true;
  await watching;
  return { total: last - start, stretch };
}

/**
 * CPU time (ms) of this thread: neither other processes nor the compiler's and the collector's own threads. Looked at after a sleep, because Linux brings it
 * up to date when the thread is put aside; and not at each turn of the loop, because turning without end would be counted as work where a reader waits.
 */
async function cpuTime(): Promise<number> {
  await sleep(1);
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
