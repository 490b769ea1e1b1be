import type { KubeObject, Resource } from '@drydock/kube';

/** What a process remembers of earlier attempts, so that it need not ask again. Nothing is decided by it. */
export interface ApplyMemory {
  /** Since when each object is waited for, by `idKey`. */
  readonly waits: Map<string, Date>;
  /** Kinds of the server by `GROUP/VERSION`. */
  readonly kinds: Map<string, ReadonlyMap<string, Resource<KubeObject>>>;
}

/** An empty memory, for one owner. */
export function applyMemory(): ApplyMemory {
  return { waits: new Map(), kinds: new Map() };
}
