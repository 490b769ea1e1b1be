import type { ConfigMap } from '@drydock/api';

/** Keys of the golden ConfigMap that say whose release owns the control plane (boot-images.md §6.1). */
const hashStamp = 'MCOVersionHash';
const releaseStamp = 'MCOReleaseImageVersion';

/** A MachineConfigPool, as far as stamping reads it. */
export interface PoolFacts {
  readonly target: string | undefined;
  readonly actual: string | undefined;
  readonly updatedMachines: number;
  readonly updating: boolean;
  readonly updated: boolean;
}

/** A rendered MachineConfig, by its annotations. */
export interface RenderedFacts {
  readonly release: string | undefined;
  readonly hash: string | undefined;
}

/** What this release stamps. */
export interface Stamp {
  readonly release: string;
  readonly hash: string;
}

/**
 * The keys to write, or undefined where there is nothing to write: the control plane must run this release on at least one node
 * (boot-images.md §6.3), and the stamps must differ.
 */
export function stampOf(
  golden: ConfigMap,
  pool: PoolFacts | undefined,
  rendered: RenderedFacts | undefined,
  own: Stamp,
): Readonly<Record<string, string>> | undefined {
  if (pool === undefined || rendered?.release !== own.release || rendered.hash !== own.hash) return undefined;
  const begun = pool.updating && pool.updatedMachines > 0;
  const done = pool.updated && pool.target !== undefined && pool.target === pool.actual;
  if (!begun && !done) return undefined;
  const { [hashStamp]: hash, [releaseStamp]: release } = golden.data ?? {};
  return hash === own.hash && release === own.release
    ? undefined
    : { [hashStamp]: own.hash, [releaseStamp]: own.release };
}
