import type { BootImage } from '@drydock/api';
import { idOf, type KeptSet, setKinds } from '../observe/kept-set.ts';
import { eachOf } from '../pool.ts';
import { imageOf as bootImageFor } from '../status/boot-image-store.ts';
import { keepPin, pinDue } from '../way-back/keeper.ts';
import { type PassPorts, WRITES_AT_ONCE } from './pass-state.ts';

/** What the keeper writes with. */
export type KeeperPorts = Pick<PassPorts, 'world' | 'client' | 'event' | 'warn' | 'now' | 'concurrency'>;

/** Sees to the pins of all sets, see {@link keepPin}. Resolves to the ms until it has to be done again, undefined where nothing is due. */
export async function keepPins(
  sets: readonly KeptSet[],
  ports: KeeperPorts,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const { world, client, event, now, warn, concurrency } = ports;
  const byName = new Map(sets.map((set) => [bootImageFor(set).metadata.name, set]));
  const time = now().getTime();
  const due: number[] = [];
  await eachOf(world.bootImages(), concurrency ?? WRITES_AT_ONCE, async (image) => {
    const known = isOfOurKind(image);
    // What Cluster API calls a MachineSet is another one.
    if (!known && image.spec?.machineSet?.apiGroup !== undefined) return;
    const set = byName.get(image.metadata.name);
    due.push(...[pinDue(image, time)].filter((at) => at !== undefined));
    try {
      await keepPin(image, {
        ...{ client, now: time, known },
        set: set && {
          text: idOf(set),
          ownerReferences: bootImageFor(set).metadata.ownerReferences,
          event: (reason, note) => event(set, reason, note),
        },
        signal,
      });
    } catch (error) {
      signal?.throwIfAborted();
      warn(`the pin of BootImage ${image.metadata.name} could not be seen to`, error);
    }
  });
  return due.length === 0 ? undefined : Math.min(...due);
}

/** Of these, all sets are known. */
const KINDS: ReadonlySet<string> = new Set(setKinds.map(({ resource: { group, kind } }) => `${kind}.${group}`));

function isOfOurKind({ spec }: BootImage): boolean {
  const { kind, apiGroup } = spec?.machineSet ?? {};
  return KINDS.has(`${kind}.${apiGroup}`);
}
