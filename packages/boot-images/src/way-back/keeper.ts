import { BootImage } from '@drydock/api';
import { type Client, isConflict, isNotFound, isPatchTestFailed, type JsonPatchOp, keyOf } from '@drydock/kube';
import { endOf, lapsesSoonReason, livePin, pinText, warnsFrom } from './pin.ts';

/** The set that a BootImage is of. */
export interface PinnedSet {
  /** As people call it. */
  readonly text: string;
  /** What the BootImage has as its owner while it has no pin. */
  readonly ownerReferences: NonNullable<BootImage['metadata']['ownerReferences']> | undefined;
  readonly event: (reason: 'PinLapsed' | 'PinLapsesSoon', note: string) => void;
}

/** What {@link keepPin} is told. */
export interface KeepPinOptions {
  readonly client: Pick<Client, 'patch' | 'delete'>;
  readonly now: number;
  /** Undefined where it is gone; then the BootImage goes, unless not all sets of its kind are known. */
  readonly set: PinnedSet | undefined;
  readonly known: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Takes off the pin of a BootImage where it has lapsed, and sees to whom it belongs: one with a pin to nobody, so that the pin outlives the set; one without to its set, so that it goes with it; one
 * whose set is gone goes. One write at the most, guarded by what it follows from; what somebody has written since is an event of its own.
 */
export async function keepPin(image: BootImage, options: KeepPinOptions): Promise<void> {
  try {
    await kept(image, options);
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error) && !isPatchTestFailed(error)) throw error;
  }
}

/** When (ms, after `now`) the pin of a BootImage begins to say that it lapses, or lapses; undefined where nothing is due. */
export function pinDue({ spec }: BootImage, now: number): number | undefined {
  const times = spec?.pin === undefined ? [] : [warnsFrom(spec.pin), endOf(spec.pin)];
  const due = times.flatMap((time) => (time !== undefined && time > now ? [time - now] : []));
  return due.length === 0 ? undefined : Math.min(...due);
}

async function kept(image: BootImage, { client, now, set, known, signal }: KeepPinOptions): Promise<void> {
  const { metadata, spec } = image;
  const key = keyOf(image);
  const patch = async (ops: readonly JsonPatchOp[]): Promise<void> => {
    await client.patch(BootImage, key, ops, { signal });
  };
  const pin = spec?.pin;
  if (pin !== undefined && livePin(image, now) === undefined) {
    await patch([
      { op: 'test', path: '/spec/pin', value: pin },
      { op: 'remove', path: '/spec/pin' },
    ]);
    set?.event('PinLapsed', `${set.text} was ${pinText(pin)}; from now on it follows the release`);
    return;
  }
  const said = image.status?.conditions?.some(({ type, reason }) => type === 'Pinned' && reason === lapsesSoonReason);
  if (pin !== undefined && now >= (warnsFrom(pin) ?? Number.POSITIVE_INFINITY) && said !== true)
    set?.event('PinLapsesSoon', `${set.text} is ${pinText(pin)}; then it follows the release`);
  if (metadata.labels?.['app.kubernetes.io/managed-by'] !== 'drydock') return;
  const owners = metadata.ownerReferences ?? [];
  const version: JsonPatchOp = { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion };
  if (pin !== undefined && owners.length > 0) {
    await patch([version, { op: 'remove', path: '/metadata/ownerReferences' }]);
  } else if (pin === undefined && owners.length === 0) {
    const { uid, resourceVersion } = metadata;
    if (set?.ownerReferences !== undefined)
      await patch([version, { op: 'add', path: '/metadata/ownerReferences', value: set.ownerReferences }]);
    else if (set === undefined && known && uid !== undefined && resourceVersion !== undefined)
      await client.delete(BootImage, key, { uid, resourceVersion }, { signal });
  }
}
