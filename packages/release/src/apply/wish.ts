import type { Clock, KubeClient, KubeObject } from '@drydock/kube';
import { type Graph, initialGraph, reconcileGraph, updateGraph } from '../graph/graph.ts';
import type { Manifest, ObjectId } from '../payload/manifest.ts';
import type { ApplyError } from './apply-error.ts';
import type { InventoryStore } from './inventory/inventory.ts';
import type { LiveObjects } from './live.ts';
import type { ApplyMemory } from './memory.ts';
import type { ApplyMode, ApplyOwner } from './owner.ts';
import type { ApplyStep } from './step.ts';

/** What somebody applies: the manifests of a payload that are for this cluster, after `select`. */
export interface ApplyWish {
  readonly payload: { readonly version: string; readonly image: string; readonly hash: string };
  readonly manifests: readonly Manifest[];
  readonly mode: ApplyMode;
  /** Number of the attempt at this target, from 0: permutes a reconcile. */
  readonly attempt: number;
  readonly owner: ApplyOwner;
}

/** The order in which a wish is applied. */
export function graphOf({ manifests, mode, attempt }: Pick<ApplyWish, 'manifests' | 'mode' | 'attempt'>): Graph {
  if (mode === 'updating') return updateGraph(manifests);
  return mode === 'initializing' ? initialGraph(manifests) : reconcileGraph(manifests, attempt);
}

/** What applying needs of the world. */
export interface ApplyPorts {
  /** All reads and writes, in the name of whoever applies. */
  readonly client: KubeClient;
  /** Live objects of watched caches. Without it, or where it does not know, each object is asked for. */
  readonly live?: LiveObjects;
  readonly inventory: InventoryStore;
  /** Kept by the caller over the attempts of one process; it saves requests, and no decision depends on it. */
  readonly memory?: ApplyMemory;
  /** Changes the step of a definition before it is taken, as a way back does that widens first. It must be pure. */
  readonly crds?: (step: ApplyStep, manifest: Manifest) => ApplyStep;
  /** Asked before each write and deletion of an object: a sentence why it is not done, and nothing after it is. */
  readonly objection?: (step: ApplyStep, manifest: Manifest, live: KubeObject | undefined) => string | undefined;
  readonly clock: Clock;
  /** Ends the attempt; what was not reached is incomplete, not failed. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ApplyProgress) => void;
}

/** Something that is waited for. */
export interface Waiting {
  readonly object: ObjectId;
  /** A clause, as `2 of 3 replicas are ready`. */
  readonly why: string;
  readonly since: Date;
}

/** How far an attempt is, in manifests. */
export interface ApplyProgress {
  readonly done: number;
  readonly total: number;
  readonly waiting: readonly Waiting[];
}

/** An object that was asked to go and is still there. */
export interface PendingDeletion {
  readonly object: ObjectId;
  /** Finalizers that hold it. */
  readonly finalizers: readonly string[];
  readonly since: Date;
}

/** How an attempt ended. */
export interface ApplyOutcome {
  /** Everything is as the payload says, waits included; each deletion was asked for. */
  readonly complete: boolean;
  readonly errors: readonly ApplyError[];
  readonly progress: ApplyProgress;
  /** Deletions that are not confirmed yet: Upgradeable is False with reason ResourceDeletionInProgress as long as there are any. */
  readonly deletions: readonly PendingDeletion[];
}
