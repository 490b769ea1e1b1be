/** What a process remembers of earlier attempts, so that it need not ask again. */
export interface ApplyMemory {
  /** Since when each object is waited for, by `idKey`. */
  readonly waits: Map<string, Date>;
}

/** An empty memory, for one owner. */
export function applyMemory(): ApplyMemory {
  return { waits: new Map() };
}
