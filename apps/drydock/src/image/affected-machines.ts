import type { BootImage, BootImageStatus } from '@drydock/api';
import { type MachineImages, machineImages, type ServedKinds, type World } from '@drydock/boot-images';
import { ApiError, type KubeClient } from '@drydock/kube';

/** The machines of a set, and those of them that were made from the image that is gone back from: they stay as they are. */
export interface AffectedMachines {
  readonly all: number;
  readonly since: string | undefined;
  readonly made: readonly string[];
  /** What could not be read: there may be more. */
  readonly unread: readonly string[];
}

/** A set, and where its machines are looked for. */
export interface AffectedSet {
  /** As its status names it. */
  readonly set: string;
  readonly namespace: string | undefined;
  readonly status: BootImageStatus | undefined;
  readonly world: World;
  /** Kinds of Cluster API, where the set is one of its own. */
  readonly served: Pick<ServedKinds, 'of'>;
}

/** Counts them by the rule of `drydock machines`. It only reads. */
export async function affectedMachines(
  client: Pick<KubeClient, 'list'>,
  { set, namespace, status, world, served }: AffectedSet,
  signal: AbortSignal,
): Promise<AffectedMachines> {
  const metadata: BootImage['metadata'] = { name: set, ...(namespace === undefined ? {} : { namespace }) };
  const images = status === undefined ? [] : [{ metadata, status: { ...status, set } }];
  const { machines, unread } = await machineImages(client, { world, served, images }, { signal }).catch(nothingRead);
  const own = machines.filter((one) => one.set === set && one.namespace === namespace);
  const since = status?.history?.find(({ until }) => until === undefined)?.since;
  const made = own.filter((one) => since !== undefined && Date.parse(one.made ?? '') >= Date.parse(since));
  return { all: own.length, since, made: made.map(({ machine }) => machine), unread };
}

/** Whoever may go back may have fewer rights to look. */
function nothingRead(error: unknown): MachineImages {
  if (error instanceof ApiError) return { machines: [], unread: [error.message] };
  throw error;
}
