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
/** What is measured as less (ms) may have been more: the kernel counts a thread's time in steps. */
const COARSE = 1;
/**
 * Eight times the size may cost so many times as much (linear: 8, quadratic: 64), and twice the size so many times (2, 4). Between them is room for what
 * memory costs: the collector copies what outlives its first round, which small inputs do not.
 */
const EIGHTFOLD = 26;
const TWOFOLD = 2.7;
/** Runs of a size, by how often it is halved: those that the whole is compared with more often, because what disturbs them would hide a growth. They are cheap. */
const RUNS: Readonly<Record<number, number>> = { 3: 3, 1: 2 };
/** So many more while the costs are too high, since another process may have disturbed them. */
const MORE_RUNS = 7;

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
  for (const [at, size] of sizes.entries()) {
    let cost = [unmeasured(size)];
    const runs = RUNS[HALVINGS - at] ?? 1;
    for (let run = 0; run < runs || (run < MORE_RUNS && at < HALVINGS && tooLong(cost)); run += 1)
      cost = await again(growth, cost);
    costs.push(...cost);
    if (at < HALVINGS && (await isTooLong(costs)))
      throw new GrowthError(name, `holds the event loop for more than ${stretch} ms`, costs);
  }
  let last = costs.splice(-4);
  for (let run = 0; run < MORE_RUNS && (tooLong(last) || isSteep(last)); run += 1) last = await again(growth, last);
  costs.push(...last);
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
  let costs = [unmeasured(1)];
  for (let run = 0; run < 6; run += 1) costs = await again(growth, costs);
  return Math.max(1, (costs[0]?.total ?? 0) / ORDINARY);
}

function isSteep(costs: readonly Cost[]): boolean {
  const [eighth, , half, whole] = costs;
  if (eighth === undefined || half === undefined || whole === undefined || whole.total < NOISE) return false;
  return whole.total > EIGHTFOLD * Math.max(eighth.total, COARSE) && whole.total > TWOFOLD * half.total;
}

function unmeasured(size: number): Cost {
  return { size, total: Number.POSITIVE_INFINITY, stretch: Number.POSITIVE_INFINITY };
}

/** What is known, after one more run of each size: in turns, so that a slow moment of the machine does not meet one size alone. */
async function again<I>({ input, read }: Growth<I>, known: readonly Cost[]): Promise<Cost[]> {
  const next: Cost[] = [];
  for (const { size, total, stretch } of known) {
    const cost = await measure(input(size), read);
    next.push({ size, total: Math.min(total, cost.total), stretch: Math.min(stretch, cost.stretch) });
  }
  return next;
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
