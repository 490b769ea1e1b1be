import { userInfo } from 'node:os';
import { BootImage, type BootImageSpecLifted } from '@drydock/api';
import { type Pin, samePin } from '@drydock/boot-images';
import {
  type Client,
  isAlreadyExists,
  isNotFound,
  isPatchTestFailed,
  type JsonPatchOp,
  type KubeClient,
  keyOf,
} from '@drydock/kube';

/** The field manager of pins: neither the operator's nor that of whoever writes them by hand. */
export const pinManager = 'drydock-pin';

/** What the pins of sets are written with. */
export type PinClient = Pick<Client, 'create' | 'patch'>;

/** The BootImage of a set that is to have a pin. */
export interface PinPlace {
  /** As it was when it was shown what would be written; undefined where it was not there. */
  readonly seen: BootImage | undefined;
  /** As it is made where it is not there. */
  readonly fresh: BootImage;
}

/** What became of a pin: the BootImage that has it; or the definition of this cluster has no place for it; or somebody wrote another spec than was seen. */
export type PinWriting = BootImage | 'pruned' | 'moved';

/**
 * Writes the pin of a set as a whole, by a field owner of its own: of a pin that was there before nothing stays, whoever wrote it. Only over what was seen: of two people who go back at once one is told. With
 * `dryRun` the server answers as it would, and nothing is stored.
 */
export async function writePin(
  client: PinClient,
  { seen, fresh }: PinPlace,
  pin: Pin,
  { signal, dryRun = false }: { readonly signal: AbortSignal; readonly dryRun?: boolean },
): Promise<PinWriting> {
  const call = { signal, dryRun, manager: pinManager };
  try {
    const stored =
      seen === undefined
        ? await client.create(BootImage, { ...fresh, spec: { ...fresh.spec, pin } }, call)
        : await client.patch(BootImage, keyOf(seen), over(seen, pin), call);
    return samePin(stored.spec?.pin, pin) ? stored : 'pruned';
  } catch (error) {
    if (isPatchTestFailed(error) || (seen === undefined ? isAlreadyExists(error) : isNotFound(error))) return 'moved';
    throw error;
  }
}

/** Status is written all the time, so that its version guards nothing here. */
function over({ metadata, spec }: BootImage, pin: Pin): readonly JsonPatchOp[] {
  const add = (path: string, value: object): JsonPatchOp => ({ op: 'add', path, value });
  return spec === undefined
    ? [{ op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion }, add('/spec', { pin })]
    : [{ op: 'test', path: '/spec', value: spec }, add('/spec/pin', pin)];
}

/** Who lifts a pin, when and why. */
export type Lifted = BootImageSpecLifted & { readonly by: string; readonly since: string };

/** Takes a pin off, and only the one that was shown; who does it stays in the spec, from where the operator takes it into `status.pins`. */
export async function liftPin(
  client: Pick<PinClient, 'patch'>,
  image: BootImage,
  { pin, lifted }: { readonly pin: Pin; readonly lifted: Lifted },
  signal: AbortSignal,
): Promise<'lifted' | 'moved'> {
  // The clock of whoever pinned it may be ahead.
  const { since = '' } = pin;
  const after = Date.parse(lifted.since) < Date.parse(since) ? since : lifted.since;
  try {
    const ops = [
      { op: 'test', path: '/spec/pin', value: pin },
      { op: 'remove', path: '/spec/pin' },
      { op: 'add', path: '/spec/lifted', value: { ...lifted, since: after } },
    ] as const;
    await client.patch(BootImage, keyOf(image), ops, { signal });
    return 'lifted';
  } catch (error) {
    if (isPatchTestFailed(error)) return 'moved';
    throw error;
  }
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
