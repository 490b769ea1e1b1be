import type { Clock, KubeClient, KubeObject, Resource } from '@drydock/kube';
import type { ApplyError } from '../apply/apply-error.ts';
import type { InventoryStore } from '../apply/inventory/inventory.ts';
import type { LiveObjects } from '../apply/live.ts';
import type { ApplyMemory } from '../apply/memory.ts';
import type { ApplyOwner } from '../apply/owner.ts';
import type { ApplyOutcome, ApplyPorts, ApplyProgress, ApplyWish, PendingDeletion } from '../apply/wish.ts';
import type { Manifest, ObjectId } from '../payload/manifest.ts';
import type { KeptValues } from './kept-values.ts';
import type { RollbackMemory } from './memory.ts';

/** Phases of a way back, in their order. Each is told from what the cluster is like. */
export const ROLLBACK_PHASES = [
  'Preflight',
  'Freeze',
  'Sanitise',
  'Bridge',
  'Operators',
  'Rewrite',
  'Scan',
  'Contract',
  'Orphans',
  'Storage',
  'Recorded',
] as const;
/** See {@link ROLLBACK_PHASES}. */
export type RollbackPhase = (typeof ROLLBACK_PHASES)[number];

/** One end of a way: a release as this cluster sees it. */
export interface RollbackEnd {
  readonly payload: ApplyWish['payload'];
  /** After `select`. */
  readonly manifests: readonly Manifest[];
}

/** From which release to which. Exchanged, it breaks a way off: what a bridge takes, both can write. */
export interface RollbackWish {
  /** The release that is there, or was before somebody began to go back. */
  readonly from: RollbackEnd;
  readonly to: RollbackEnd;
  readonly owner: ApplyOwner;
  /** Findings of the preflight by their names, `Rollback/CLASS:DEFINITION…` or the beginning of one up to a colon; `Orphan/KIND NAME` for an orphan that holds data. `*`: everything that can be accepted. */
  readonly accepted: readonly string[];
  /** Number of the attempt, from 0. */
  readonly attempt: number;
}

/** What a way back needs of the world. */
export interface RollbackPorts {
  /** All reads and writes, in the name of whoever applies. */
  readonly client: KubeClient;
  readonly inventory: InventoryStore;
  readonly apply: (wish: ApplyWish, ports: ApplyPorts) => Promise<ApplyOutcome>;
  /** Where what definitions cannot hold is kept. */
  readonly kept: KeptValues;
  /** Names of the columns in which each API server shows a kind now: what tells which definition it serves. */
  readonly columns: Columns;
  readonly live?: LiveObjects;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: RollbackProgress) => void;
  /** Kept by the caller over the attempts of one process; what is lost with it is looked at again. */
  readonly memory?: RollbackMemory;
  readonly applyMemory?: ApplyMemory;
  /** ms that a writer has to write anew after its release is back. Default 30 s. */
  readonly patience?: number;
}

/** See {@link RollbackPorts.columns}: one list for each server. Rejects with `ApiError`. */
export type Columns = (resource: Resource<KubeObject>, signal: AbortSignal) => Promise<readonly (readonly string[])[]>;

/** How far a way is. */
export interface RollbackProgress {
  readonly phase: RollbackPhase;
  /** What is being done, as a clause; '' where the phase says it. */
  readonly what: string;
  /** Of the older release's payload, while that is applied. */
  readonly applied?: ApplyProgress;
}

/** An object that keeps a definition from being narrowed. */
export interface BlockingObject {
  /** `NAMESPACE/NAME`, or `NAME`. */
  readonly object: string;
  /** Where in it; '' where it is about all of it. */
  readonly path: string;
  readonly why: string;
}

/** A definition that stays at the bridge: both releases can write, and nothing is lost. */
export interface KeptDefinition {
  readonly definition: string;
  readonly why: string;
  readonly objects: readonly BlockingObject[];
}

/** Something that only the newer release brought, and that stays. */
export interface KeptOrphan {
  readonly id: ObjectId;
  readonly why: string;
}

/** How an attempt ended. */
export interface RollbackOutcome {
  /** The older release is there, wholly, and every definition is its own. */
  readonly complete: boolean;
  /** Where it ended: `Recorded` where there is nothing left to do, even if definitions are kept. */
  readonly phase: RollbackPhase;
  readonly kept: readonly KeptDefinition[];
  readonly orphans: readonly KeptOrphan[];
  readonly errors: readonly ApplyError[];
  readonly progress: ApplyProgress;
  readonly deletions: readonly PendingDeletion[];
  /** What could not be done and holds nothing up. */
  readonly notes: readonly string[];
}

/** ms that a writer has by default. */
export const PATIENCE = 30_000;
