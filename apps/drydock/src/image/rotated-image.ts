import { BootImage } from '@drydock/api';
import type { Client } from '@drydock/kube';
import { UsageError } from '../exit.ts';

/** The BootImage of a set of Cluster API. */
export interface RotatedImage {
  /** `team-a/capi-md/worker`. */
  readonly id: string;
  readonly image: BootImage;
}

const NAME = /^(?:([^/]+)\/)?(capi-(?:md|ms|mp|kcp)\/[^/]+)$/;

/** Whether a name is that of a set of Cluster API: `capi-md/worker`, also with its namespace before it. */
export function isRotated(name: string): boolean {
  return NAME.test(name);
}

/** The BootImage of the set that is meant. Throws `UsageError` where there is none, and where there are several and no namespace is given. */
export async function rotatedImage(
  client: Pick<Client, 'list'>,
  name: string,
  given: string | undefined,
  signal: AbortSignal,
): Promise<RotatedImage> {
  const [, written, set = ''] = NAME.exec(name) ?? [];
  const namespace = written ?? given;
  const all = await Array.fromAsync(client.list(BootImage, namespace === undefined ? {} : { namespace }, { signal }));
  // A pin outlives its set: then the object says by its name whose it was.
  const own = all.filter(({ metadata, status }) => status?.set === set || metadata.name === set.replace('/', '-'));
  const [image, ...others] = own;
  if (image === undefined)
    throw new UsageError(
      `nothing is known of set ${name}: its operator has not written a BootImage of it (drydock status)`,
    );
  if (others.length > 0) {
    const where = own.map(({ metadata }) => metadata.namespace).join(', ');
    throw new UsageError(`there is a set ${set} in each of the namespaces ${where}: say in which, with -n NAMESPACE`);
  }
  return { id: `${image.metadata.namespace}/${set}`, image };
}
