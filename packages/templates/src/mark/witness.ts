import { type MarkKeys, NO_KEYS } from './keys.ts';

/**
 * What proves a mark: a code that a key of ours made; a record of the cluster, made before the import, or a reference of the cluster to it; or that this
 * process imported it. `none`: nothing does.
 */
export type Proof = 'keyed' | 'recorded' | 'here' | 'none';

/** What a neighbour in vCenter cannot make. */
export interface Witnesses {
  readonly keys: MarkKeys;
  /** Instance UUIDs of what this process imported. */
  readonly imported: ReadonlySet<string>;
  /** Absent: no cluster is asked. */
  readonly cluster?: ClusterRecords;
}

/** What a cluster knows of templates, from objects that nobody in vCenter can write. */
export interface ClusterRecords {
  /** Whether the cluster recorded, before the import started, that this operation makes a machine of this instance UUID. */
  readonly recorded: (operation: string, instanceUuid: string) => boolean;
  /** Whether something of the cluster names this template; unknown is no. */
  readonly refers: (name: string) => boolean;
  /** Whether the cluster recorded that a swap kept a template under this name. */
  readonly retired: (name: string) => boolean;
}

/** Nobody who could prove anything. */
export const NO_WITNESSES: Witnesses = { keys: NO_KEYS, imported: new Set() };
