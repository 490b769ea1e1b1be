/** One figure of a benchmark. `ratio` is ours / peer; `goal` bounds the ratio, or ours where there is no ratio. */
export interface Figure {
  readonly bench: string;
  readonly case: string;
  readonly metric: string;
  readonly unit: string;
  readonly ours: number;
  readonly peer?: number;
  readonly ratio?: number;
  readonly goal?: number;
  readonly lowerIsBetter: boolean;
}

/** What a file `bench/<name>/<name>.bench.ts` exports. */
export interface Benchmark {
  readonly name: string;
  /** One sentence: what is compared with what. */
  readonly about: string;
  run(report: (figure: Figure) => void, signal: AbortSignal): Promise<void>;
}

/** The middle value; of an even count the mean of the two middle ones. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? (upper + (sorted[middle - 1] ?? Number.NaN)) / 2 : upper;
}

/** The value that a share (0 to 1) of them do not exceed, by nearest rank. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? Number.NaN;
}

/** Completes a figure with the ratio to its peer. */
export function compared(figure: Omit<Figure, 'ratio'> & { readonly peer: number }): Figure {
  return { ...figure, ratio: figure.ours / figure.peer };
}

/** Whether a figure meets its goal; undefined where it has none. */
export function meetsGoal(figure: Figure): boolean | undefined {
  if (figure.goal === undefined) return undefined;
  const value = figure.ratio ?? figure.ours;
  return figure.lowerIsBetter ? value <= figure.goal : value >= figure.goal;
}
