import type { FsCall, FsOps, FsTap } from '../ops.ts';
import { tapOps } from '../ops.ts';

/** Operations that write down what they do. */
export interface Traced {
  readonly ops: FsOps;
  readonly calls: readonly FsCall[];
  /** How often a call was made. */
  readonly count: (op: FsCall['op']) => number;
}

/** Takes the file system for one on a disk, writes down each call, and fails those that `fails` gives an errno for. */
export function traced(
  ops: FsOps,
  fails: (call: FsCall, earlier: readonly FsCall[]) => string | undefined = () => undefined,
): Traced {
  const calls: FsCall[] = [];
  const onDisk = { ...ops, volatile: async () => false };
  const tap: FsTap = (call, run) => {
    const code = fails(call, calls);
    calls.push(call);
    return code === undefined
      ? run()
      : Promise.reject(Object.assign(new Error(`${code}: ${call.op} ${call.path}`), { code }));
  };
  return { ops: tapOps(onDisk, tap), calls, count: (op) => calls.filter((call) => call.op === op).length };
}
