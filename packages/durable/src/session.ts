import { invalid } from './errors.ts';
import { nodeOps } from './node-ops.ts';
import { type FsCall, type FsOps, type OpenFile, tapOps } from './ops.ts';

/** How long a call that waits for the device may take. */
export interface StallOptions {
  /** After this long `onStall` hears of it, or Node's `warning` event where there is none; default 10 s. */
  readonly warnMs?: number;
  /** After this long the run fails with `STALLED`, so that locks are released; default 30 s. */
  readonly failMs?: number;
  readonly onStall?: (call: FsCall, waitedMs: number) => void;
}

/** Options of every operation. */
export interface DurableOptions {
  /** Calls to the file system; default {@link nodeOps}. */
  readonly ops?: FsOps;
  /**
   * fsyncs in flight at a time; default 64. Node runs them on its thread pool, whose size `UV_THREADPOOL_SIZE` is set before Node starts.
   */
  readonly lanes?: number;
  readonly stall?: StallOptions;
  /** Ends the operation while nothing visible has changed; from then on it is ignored. */
  readonly signal?: AbortSignal;
}

/** One operation under way: the calls it may make, watched and counted. */
export interface Session {
  readonly ops: FsOps;
  /** The calls as the caller gave them: an identity for what is known of a file system. */
  readonly base: FsOps;
  readonly lanes: number;
  readonly signal: AbortSignal | undefined;
  /** Whether a directory lies in memory only: a sync there does nothing, and a hop to a thread for nothing is what it would cost. */
  volatile(directory: string): Promise<boolean>;
  /** fsync and syncfs calls so far. */
  fsyncs(): number;
}

/** Starts an operation. */
export function session(options: DurableOptions): Session {
  const { ops: base = nodeOps, lanes = 64 } = options;
  // None at all would sync nothing, and say that it is durable.
  if (!(lanes >= 1)) throw invalid('lanes', `it is ${lanes}, expected 1 or more`);
  const stall = options.stall ?? {};
  /** Files whose sync has not come back: closing one could hang, or hand its number to another file. */
  const busy = new Map<OpenFile, Promise<unknown>>();
  const inMemory = new Map<string, Promise<boolean>>();
  let syncs = 0;

  const sync = (op: 'fsync' | 'syncfs', file: OpenFile): Promise<void> => {
    syncs += 1;
    return watched({ op, path: file.path }, stall, () => {
      const done = base[op](file);
      const settled = done.then(
        () => busy.delete(file),
        () => busy.delete(file),
      );
      busy.set(file, settled);
      return done;
    });
  };

  const ops: FsOps = {
    ...tapOps(base, (_, run) => run()),
    // A device that hangs must be noticed here as well.
    writeback: (file) => watched({ op: 'writeback', path: file.path }, stall, () => base.writeback(file)),
    fsync: (file) => sync('fsync', file),
    syncfs: (file) => sync('syncfs', file),
    rename: (from, to) => watched({ op: 'rename', path: from, to }, stall, () => base.rename(from, to)),
    exchange: (target, staged) =>
      watched({ op: 'exchange', path: target, to: staged }, stall, () => base.exchange(target, staged)),
    close: async (file) => {
      const pending = busy.get(file);
      if (pending === undefined) return base.close(file);
      void pending.then(() => base.close(file)).catch(() => undefined);
    },
  };
  return {
    ops,
    base,
    lanes,
    signal: options.signal,
    volatile: (directory) => {
      const known = inMemory.get(directory) ?? base.volatile(directory).catch(() => false);
      inMemory.set(directory, known);
      return known;
    },
    fsyncs: () => syncs,
  };
}

/** Fails a call that the device does not answer; the call itself cannot be taken back. */
async function watched<T>(call: FsCall, options: StallOptions, run: () => Promise<T>): Promise<T> {
  const { warnMs = 10_000, failMs = 30_000, onStall = warnOfStall } = options;
  const { promise, reject } = Promise.withResolvers<never>();
  const warn = setTimeout(() => onStall(call, warnMs), warnMs);
  const fail = setTimeout(() => {
    const message = `ESTALLED: ${call.op} did not come back within ${failMs} ms`;
    reject(Object.assign(new Error(message), { code: 'ESTALLED' }));
  }, failMs);
  try {
    return await Promise.race([run(), promise]);
  } finally {
    clearTimeout(warn);
    clearTimeout(fail);
  }
}

function warnOfStall({ op, path }: FsCall, waitedMs: number): void {
  process.emitWarning(`${op} of ${path} has not come back for ${waitedMs} ms`, 'DurableWarning');
}
