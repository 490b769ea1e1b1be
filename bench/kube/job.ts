/** A kind of the fake server, cluster-wide under `/apis` or, for the core group, `/api`. */
export interface BenchKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly count: number;
}

/** Where the fake server is, and whom to trust. */
export interface Target {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
}

/** What a client is asked to do: a line of JSON. */
export type KubeJob = Target &
  (
    | { readonly do: 'gets'; readonly count: number; readonly atOnce: number }
    | { readonly do: 'list'; readonly kind: BenchKind }
    /** Keeps a copy of the kind, until the process ends. */
    | { readonly do: 'follow'; readonly kind: BenchKind }
    /** Asks the server for this many updates of the kind that it follows, and sees each of them. */
    | { readonly do: 'updates'; readonly kind: BenchKind; readonly count: number }
    | { readonly do: 'idle'; readonly kinds: readonly BenchKind[]; readonly seconds: number }
  );

/** What it answers; each job fills its own. */
export interface KubeResult {
  readonly perSecond?: number;
  /** Of updates: since those before. */
  readonly cpuSeconds?: number;
  /** JavaScript heap kept for the list, after a collection, in 10^6 bytes. */
  readonly heapMB?: number;
  readonly rssMB?: number;
  /** From the server's write to our reconcile, one per update. */
  readonly latencyMs?: readonly number[];
}

/** Stamped by the server on an object that it updates: milliseconds since the epoch, with fractions. */
export const STAMP = 'bench.drydock.dev/at';

/** The name of the one object that is got. */
export const ONE = 'object-0';

/** Now, as {@link STAMP} has it. */
export function stamp(): number {
  return performance.timeOrigin + performance.now();
}
