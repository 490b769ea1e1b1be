import type { KubeObject, Resource } from '@drydock/kube';

/** What a process remembers of earlier attempts, so that it need not ask again. Nothing is decided by it. */
export interface ApplyMemory {
  /** Since when each object of a release (its image) is waited for, by `idKey`: as a date for people, and by the monotonic clock (ms), which nobody sets. */
  readonly waits: Map<string, { readonly image: string; readonly since: Date; readonly at: number }>;
  /** Kinds of the server by `GROUP/VERSION`. */
  readonly kinds: Map<string, ReadonlyMap<string, Resource<KubeObject>>>;
}

/** An empty memory, for one owner. */
export function applyMemory(): ApplyMemory {
  return { waits: new Map(), kinds: new Map() };
}
