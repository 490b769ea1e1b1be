import type { OwnerReference } from '@drydock/kube';

/**
 * How a payload is applied. `initializing`: nothing of it was ever complete, nothing is waited for. `updating`: in the order of runlevels, with deletions.
 * `reconciling`: it was complete, and is held.
 */
export type ApplyMode = 'initializing' | 'updating' | 'reconciling';

/** Whose payload it is. */
export interface ApplyOwner {
  /** Under which name its inventory is kept; unique in a cluster, as `ClusterVersion version` or `Payload tools`. */
  readonly name: string;
  /** Put into everything that is applied, as controller unless it is only created. */
  readonly reference?: OwnerReference;
  /** Its payload is complete once all workloads have rolled out. Without it, cluster-version-operator's rules decide. */
  readonly waitsForRollouts?: boolean;
}
