import { type ApplyMemory, applyMemory } from '../apply/memory.ts';
import type { Manifest } from '../payload/manifest.ts';
import type { WayBackState } from '../state/conditions.ts';
import type { Since } from '../state/failing.ts';
import type { HistoryEntry } from '../state/history.ts';
import type { LoadedRelease } from './loaded-release.ts';

/** What a process remembers of one object, to save requests. But for what a blocked status cannot hold, nothing is decided by it that cannot be observed again. */
export interface ReleaseMemory {
  readonly apply: ApplyMemory;
  /** The last release that was read, and for which wish. */
  loaded: { readonly key: string; readonly image: string; readonly release: LoadedRelease } | undefined;
  /** The release that was applied last: what it brings decides what the next one must keep, and by whom that must be signed. */
  running: LoadedRelease | undefined;
  since: Since;
  /** Attempts at one image, and how many in a row did not get to the end. */
  attempts: { readonly image: string; readonly count: number; readonly failed: number };
  /** What the status should say: the server may refuse to store it. */
  history: readonly HistoryEntry[] | undefined;
  /** Of the release before: its definitions with what else holds data, the Kubernetes that it brings, and what the last look found. */
  before:
    | { readonly image: string; readonly manifests: readonly Manifest[]; readonly kubernetes: string | undefined }
    | undefined;
  wayBack: { readonly image: string; readonly state: WayBackState; readonly at: number } | undefined;
  /** How the last attempt ended: objects that are still being deleted. */
  deleting: readonly string[];
}

/** An empty memory. */
export function releaseMemory(): ReleaseMemory {
  return {
    apply: applyMemory(),
    ...{ loaded: undefined, running: undefined, history: undefined, before: undefined, wayBack: undefined },
    ...{ since: new Map(), deleting: [] },
    attempts: { image: '', count: 0, failed: 0 },
  };
}
