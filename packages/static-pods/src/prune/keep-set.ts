/** What the operator's status says of one node; 0 or absent means none. */
export interface NodeRevisions {
  readonly current?: number;
  readonly target?: number;
  readonly lastFailed?: number;
}

/** How many revisions to keep of each sort; 0 or absent means 5, -1 all. */
export interface KeepLimits {
  readonly failed?: number;
  readonly succeeded?: number;
}

/** Revisions to keep, ascending; `all` where nothing may be removed. */
export type KeepSet = 'all' | readonly number[];

/**
 * Which revisions must stay, by the rules of library-go's prune controller: of each node the newest succeeded ones up to its current one, the newest
 * up to its target and to its last failed one, and where a node is behind, the newest up to the latest.
 */
export function keepSet(nodes: readonly NodeRevisions[], latest: number, limits: KeepLimits = {}): KeepSet {
  // Without a node's word nothing is known to be free.
  if (nodes.length === 0) return 'all';
  const failed = limitOf(limits.failed);
  const succeeded = limitOf(limits.succeeded);
  const either = Math.max(failed, succeeded);
  const behind = nodes.some(({ current = 0 }) => current !== latest);
  if (succeeded === Infinity || (failed === Infinity && behind)) return 'all';
  const kept = new Set<number>();
  const keep = (count: number, upTo: number): void => {
    for (let revision = upTo; revision > 0 && revision > upTo - count; revision -= 1) kept.add(revision);
  };
  for (const { current = 0, target = 0, lastFailed = 0 } of nodes) {
    keep(succeeded, current);
    keep(either, target);
    keep(failed, lastFailed);
  }
  if (behind) keep(either, latest);
  const all = [...kept].filter((revision) => revision <= latest).sort((a, b) => a - b);
  return all.length >= latest ? 'all' : all;
}

function limitOf(limit = 0): number {
  if (limit === 0) return 5;
  return limit === -1 ? Infinity : limit;
}
