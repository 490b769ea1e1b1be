import { Payload } from '@drydock/api';
import { isNotFound, type KubeClient } from '@drydock/kube';
import type { PayloadWay } from '@drydock/release';
import { UsageError } from '../exit.ts';
import { type RegistryFlags, registryOptions } from './payload-source.ts';

/** What says which way. */
export interface WayFlags extends RegistryFlags {
  readonly to?: string;
  readonly accept?: readonly string[];
}

/** The way back of a Payload by its name, with both releases read. Rejects with `UsageError`, `ReleaseError` and `ApiError`. */
export async function wayOfPayload(
  client: Pick<KubeClient, 'get'>,
  name: string,
  flags: WayFlags,
  signal: AbortSignal,
): Promise<PayloadWay> {
  const release = await import('@drydock/release');
  const registry = await registryOptions(flags);
  const { to, accept = [], architecture } = flags;
  const payload = await client.get(Payload, { name }, { signal }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    throw new UsageError(`there is no Payload ${name}: drydock release status says which there are`);
  });
  return release.payloadWay(payload, {
    ...(to === undefined ? {} : { to }),
    ...{ accepted: accept, signal },
    retrieve: async (image, call) => {
      await using source = release.registryImage(release.parseReference(image), registry);
      return await release.readPayloadImage(source, {
        signal: call,
        ...(architecture === undefined ? {} : { architecture }),
      });
    },
  });
}
