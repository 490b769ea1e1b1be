import { ConfigMap, MachineConfig, MachineConfigPool } from '@drydock/api';
import { type CallOptions, type Client, isConflict, isForbidden, isNotFound } from '@drydock/kube';
import { type PoolFacts, type RenderedFacts, type Stamp, stampOf } from './stamp.ts';

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
