import { userInfo } from 'node:os';
import { BootImage } from '@drydock/api';
import { type Pin, samePin } from '@drydock/boot-images';
import { apiVersionOf, type Client, isNotFound, type KubeClient, keyOf } from '@drydock/kube';

/** The field manager of pins: neither the operator's nor that of whoever writes them by hand. */
export const pinManager = 'drydock-pin';

/** What the pins of sets are written with. */
export type PinClient = Pick<Client, 'get' | 'create' | 'apply' | 'mergePatch'>;

/** The definition of this cluster has no place for a pin. */
export class PinPruned extends Error {
  override readonly name = 'PinPruned';
}

/** Whether the server would keep this pin of a set, whose BootImage is `fresh` where it is not there yet; nothing is stored. */
export async function pinFits(client: PinClient, fresh: BootImage, pin: Pin, signal: AbortSignal): Promise<boolean> {
  const call = { signal, dryRun: true };
  const stored = await client.mergePatch(BootImage, keyOf(fresh), { spec: { pin } }, call).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return client.create(BootImage, { ...fresh, spec: { ...fresh.spec, pin } }, call);
  });
  return samePin(stored.spec?.pin, pin);
}

/** Writes the pin of a set as a field of its own; resolves to the BootImage that has it. Throws `PinPruned` where the server did not keep it. */
export async function writePin(client: PinClient, fresh: BootImage, pin: Pin, signal: AbortSignal): Promise<BootImage> {
  const { name, namespace, labels } = fresh.metadata;
  const key = keyOf(fresh);
  const exists = await client.get(BootImage, key, { signal }).then(
    () => true,
    (error: unknown) => {
      if (isNotFound(error)) return false;
      throw error;
    },
  );
  const want: BootImage = {
    ...{ apiVersion: apiVersionOf(BootImage), kind: BootImage.kind },
    // One that the operator has not made yet says of which set it is.
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...(exists ? {} : { labels: labels ?? {} }) },
    spec: { ...(exists ? {} : fresh.spec), pin },
  };
  const stored = await client.apply(BootImage, want, { manager: pinManager, force: true }, { signal });
  if (!samePin(stored.spec?.pin, pin)) throw new PinPruned(`the server did not keep the pin of BootImage ${name}`);
  return stored;
}

/** Who asks, as the server knows them, else as this machine does. */
export async function whoAsks(client: Pick<KubeClient, 'raw'>, signal: AbortSignal): Promise<string> {
  const apiVersion = 'authentication.k8s.io/v1';
  try {
    const answer = await client.raw(
      {
        ...{ method: 'POST', path: `/apis/${apiVersion}/selfsubjectreviews`, contentType: 'application/json' },
        body: { apiVersion, kind: 'SelfSubjectReview' },
      },
      { signal },
    );
    const { status } = answer as { readonly status?: { readonly userInfo?: { readonly username?: unknown } } };
    const name = status?.userInfo?.username;
    if (typeof name === 'string' && name !== '') return name;
  } catch {
    signal.throwIfAborted();
  }
  try {
    return userInfo().username;
  } catch {
    return 'somebody';
  }
}
