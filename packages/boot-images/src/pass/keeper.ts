import { BootImage } from '@drydock/api';
import { isConflict, isNotFound, isPatchTestFailed, type JsonPatchOp, keyOf } from '@drydock/kube';
import { idOf, type KeptSet, setKinds } from '../observe/kept-set.ts';
import { imageOf as bootImageFor } from '../status/boot-image-store.ts';
import { lapsesSoonReason } from '../status/pin-words.ts';
import { endOf, livePin, pinText, warnsFrom } from '../way-back/pin.ts';
import type { PassPorts } from './pass-state.ts';

/** What the keeper writes with. */
export type KeeperPorts = Pick<PassPorts, 'world' | 'client' | 'event' | 'warn' | 'now'>;

/**
 * Takes off pins that have lapsed, and sees to whom BootImages belong: one with a pin to nobody, so that the pin outlives the set; one without to its set, so that it goes with it; one whose
 * set is gone goes. Each write is guarded by what it follows from. Resolves to the ms until it has to be done again, undefined where nothing is due.
 */
export async function keepPins(
  sets: readonly KeptSet[],
  ports: KeeperPorts,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const { world, now, warn } = ports;
  const byName = new Map(sets.map((set) => [bootImageFor(set).metadata.name, set]));
  const time = now().getTime();
  const due: number[] = [];
  for (const image of world.bootImages()) {
    const set = byName.get(image.metadata.name);
    for (const at of timesOf(image)) if (at > time) due.push(at - time);
    try {
      await keep(image, set, ports, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      // Somebody has written to it since: that is an event of its own.
      if (isNotFound(error) || isConflict(error) || isPatchTestFailed(error)) continue;
      warn(`the pin of BootImage ${image.metadata.name} could not be seen to`, error);
    }
  }
  return due.length === 0 ? undefined : Math.min(...due);
}

function timesOf({ spec }: BootImage): readonly number[] {
  const times = spec?.pin === undefined ? [] : [warnsFrom(spec.pin), endOf(spec.pin)];
  return times.filter((time) => time !== undefined);
}

/** Of these, all sets are known. */
const KINDS: ReadonlySet<string> = new Set(setKinds.map(({ resource }) => resource.kind));

async function keep(
  image: BootImage,
  set: KeptSet | undefined,
  ports: KeeperPorts,
  call: { readonly signal?: AbortSignal },
): Promise<void> {
  const { client, event, now } = ports;
  const { metadata, spec } = image;
  const key = keyOf(image);
  const time = now().getTime();
  const patch = async (ops: readonly JsonPatchOp[]): Promise<void> => {
    await client.patch(BootImage, key, ops, call);
  };
  const pin = spec?.pin;
  if (pin !== undefined && livePin(image, time) === undefined) {
    await patch([
      { op: 'test', path: '/spec/pin', value: pin },
      { op: 'remove', path: '/spec/pin' },
    ]);
    if (set !== undefined)
      event(set, 'PinLapsed', `${idOf(set)} was ${pinText(pin)}; from now on it follows the release`);
    return;
  }
  const said = image.status?.conditions?.some(({ type, reason }) => type === 'Pinned' && reason === lapsesSoonReason);
  if (set !== undefined && pin !== undefined && time >= (warnsFrom(pin) ?? Number.POSITIVE_INFINITY) && said !== true)
    event(set, 'PinLapsesSoon', `${idOf(set)} is ${pinText(pin)}; then it follows the release`);
  if (metadata.labels?.['app.kubernetes.io/managed-by'] !== 'drydock') return;
  const owners = metadata.ownerReferences ?? [];
  const version: JsonPatchOp = { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion };
  if (pin !== undefined && owners.length > 0) {
    await patch([version, { op: 'remove', path: '/metadata/ownerReferences' }]);
  } else if (pin === undefined && owners.length === 0) {
    const { ownerReferences } = set === undefined ? {} : bootImageFor(set).metadata;
    if (ownerReferences !== undefined)
      await patch([version, { op: 'add', path: '/metadata/ownerReferences', value: ownerReferences }]);
    else if (
      set === undefined &&
      KINDS.has(spec?.machineSet?.kind ?? '') &&
      metadata.uid !== undefined &&
      metadata.resourceVersion !== undefined
    )
      await client.delete(BootImage, key, { uid: metadata.uid, resourceVersion: metadata.resourceVersion }, call);
  }
}
