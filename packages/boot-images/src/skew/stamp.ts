import { ConfigMap, MachineConfig, MachineConfigPool } from '@drydock/api';
import { type CallOptions, type Client, isConflict, isForbidden, isNotFound } from '@drydock/kube';

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

/** What stamping needs besides a client. */
export interface StampPorts {
  readonly own: Stamp;
  readonly warn: (message: string, error: unknown) => void;
  /** Asked right before the write: whether it is somebody else's by now. */
  readonly leave?: () => boolean;
}

const POOL = { name: 'master' } as const;
const RELEASE = 'machineconfiguration.openshift.io/release-image-version';
const HASH = 'machineconfiguration.openshift.io/generated-by-controller-version';

/**
 * Stamps the golden ConfigMap where a node of the control plane runs the release that is ours (boot-images.md §6.3). A failure
 * is told and tried again with the next look: nothing else waits for it.
 */
export async function stampGolden(
  client: Pick<Client, 'get' | 'mergePatch'>,
  golden: ConfigMap | undefined,
  { own, warn, leave }: StampPorts,
  call: CallOptions = {},
): Promise<void> {
  if (golden === undefined) return;
  try {
    const pool = await client.get(MachineConfigPool, POOL, call);
    const stamp = stampOf(golden, poolFacts(pool), await renderedOf(client, pool, call), own);
    if (stamp === undefined || leave?.() === true) return;
    const { namespace, name, resourceVersion } = golden.metadata;
    const key = namespace === undefined ? { name } : { namespace, name };
    const metadata = resourceVersion === undefined ? {} : { resourceVersion };
    await client.mergePatch(ConfigMap, key, { metadata, data: stamp }, call);
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error) && !isForbidden(error)) throw error;
    if (!isNotFound(error)) warn('the golden ConfigMap was not stamped; that is tried again', error);
  }
}

function poolFacts({ spec, status }: MachineConfigPool): PoolFacts {
  const on = (type: string): boolean =>
    status?.conditions?.some((one) => one.type === type && one.status === 'True') === true;
  return {
    ...{ target: spec?.configuration?.name, actual: status?.configuration?.name },
    ...{ updatedMachines: status?.updatedMachineCount ?? 0, updating: on('Updating'), updated: on('Updated') },
  };
}

async function renderedOf(
  client: Pick<Client, 'get'>,
  { spec }: MachineConfigPool,
  call: CallOptions,
): Promise<RenderedFacts | undefined> {
  const name = spec?.configuration?.name;
  if (name === undefined) return undefined;
  const { annotations } = (await client.get(MachineConfig, { name }, call)).metadata;
  return { release: annotations?.[RELEASE], hash: annotations?.[HASH] };
}
