import { type ApplyMemory, applyMemory } from '../apply/memory.ts';
import type { Manifest } from '../payload/manifest.ts';
import type { RollbackMemory } from '../rollback/memory.ts';
import type { KeptDefinition, RollbackEnd } from '../rollback/wish.ts';
import type { WayBackState } from '../state/conditions.ts';
import type { Since } from '../state/failing.ts';
import type { HistoryEntry } from '../state/history.ts';
import type { ReleaseWish } from './face.ts';
import type { LoadedRelease } from './loaded-release.ts';

/** What a process remembers of one object, to save requests. But for what a blocked status cannot hold, nothing is decided by it that cannot be observed again. */
export interface ReleaseMemory {
  readonly apply: ApplyMemory;
  /** The last release that was read, and for which wish. */
  loaded: { readonly key: string; readonly image: string; readonly release: LoadedRelease } | undefined;
  /** The release that was applied last: what it brings decides what the next one must keep, and by whom that must be signed. */
  running: LoadedRelease | undefined;
  /** Which release that is, as it was verified, by {@link provenAs}: asked again it would be by the key rings that it brings, which are those for the next one. */
  proven: string | undefined;
  since: Since;
  /** Attempts at one image, and how many in a row did not get to the end. */
  attempts: { readonly image: string; readonly count: number; readonly failed: number };
  /** What the status should say: the server may refuse to store it. */
  history: readonly HistoryEntry[] | undefined;
  /** Of the release before: its definitions with what else holds data, the Kubernetes that it brings, and what the last look found. */
  before:
    | { readonly image: string; readonly manifests: readonly Manifest[]; readonly kubernetes: string | undefined }
    | undefined;
  /** Of the way that is being gone: to which image, and what was seen of it. */
  rollback: { readonly image: string; readonly memory: RollbackMemory } | undefined;
  /** The release that is being gone back from. */
  from: RollbackEnd | undefined;
  /** Definitions that the last way to an image left where both releases can write; undefined: this process knows of none, nor that there is none. */
  kept: { readonly image: string; readonly definitions: readonly KeptDefinition[] } | undefined;
  /** The image at which what was left out was looked for. */
  restored: string | undefined;
  wayBack: { readonly image: string; readonly state: WayBackState; readonly at: number } | undefined;
  /** How the last attempt ended: objects that are still being deleted. */
  deleting: readonly string[];
}

/** What {@link ReleaseMemory.proven} is of an image that is wanted so. */
export function provenAs(image: string, { verify }: Pick<ReleaseWish, 'verify'>): string {
  return JSON.stringify([image, verify]);
}

/** An empty memory. */
export function releaseMemory(): ReleaseMemory {
  return {
    apply: applyMemory(),
    ...{
      loaded: undefined,
      running: undefined,
      proven: undefined,
      history: undefined,
      before: undefined,
      wayBack: undefined,
    },
    ...{ rollback: undefined, from: undefined, kept: undefined, restored: undefined },
    ...{ since: new Map(), deleting: [] },
    attempts: { image: '', count: 0, failed: 0 },
  };
}
