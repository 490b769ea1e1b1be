/** What one process knows of a way back. Nothing is decided by it that another process would not find out by looking again. */
export interface RollbackMemory {
  /** The payload that was applied to its end, waits included, by its hash. */
  applied: string | undefined;
  /** By uid: what was cut since then, and what was seen of its writer. */
  readonly cuts: Map<string, WatchedObject>;
  /** By definition: why it stays at the bridge in this attempt. */
  readonly kept: Map<string, string>;
}

/** An object whose status was cut: its writer may put back what was cut. */
export interface WatchedObject {
  /** How often it was cut since the older release is back. */
  readonly times: number;
  /** As it was after our last write, or when it was first seen. */
  readonly resourceVersion: string;
  /** Monotonic ms. */
  readonly since: number;
}

/** An empty memory. */
export function rollbackMemory(): RollbackMemory {
  return { applied: undefined, cuts: new Map(), kept: new Map() };
}
