import type { ImageThere } from '../image-facts.ts';
import { idOf, setText } from '../observe/kept-set.ts';
import { referenceIndex } from '../observe/references.ts';
import type { Platform, PlatformInput } from '../platform.ts';
import { untilNextTurn } from '../remembered.ts';
import { type NeededImage, neededBy } from '../way-back/needed.ts';
import type { PassPorts, PassState } from './pass-state.ts';

/** A set that its platform was asked about. */
export interface Asked {
  readonly platform: Platform;
  readonly input: PlatformInput;
}

/**
 * Has the platforms remove what nothing needs any more, once nothing was switched for a while. A set counts for the image that it was
 * pointed at until the cache shows it. `found` is told what is left for each set. Resolves to the ms until it should be tried again, undefined when it is done.
 */
export async function collectImages(
  asked: readonly Asked[],
  switched: boolean,
  ports: PassPorts,
  state: PassState,
  found: (set: string, there: readonly ImageThere[]) => void,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const { now, bounds, collectAfterMs = 60_000 } = ports;
  const time = now().getTime();
  // A clock that was set back would make the quiet time as long as the step.
  if (switched || time < state.quietSince) state.quietSince = time;
  const wait = state.quietSince + collectAfterMs - time;
  if (wait > 0) return wait;
  const referenced = references(ports, state.pointed);
  // Asked right before a removal, too: a pin that came meanwhile counts.
  const known = untilNextTurn(() => neededBy(ports.world.bootImages(), now().getTime()));
  const needed: NeededImage = (image, keep) => known()(image, keep);
  let retry: number | undefined;
  for (const [platform, entries] of Map.groupBy(asked, (entry) => entry.platform)) {
    const inputs = entries.map((entry) => entry.input);
    const first = inputs[0];
    if (platform.collect === undefined || first === undefined) continue;
    try {
      const seen = (name: string, there: readonly ImageThere[]): void => {
        for (const { set } of inputs) if (set.metadata.name === name) found(idOf(set), there);
      };
      const collected = platform.collect(inputs, {
        ...{ referenced, needed, found: seen },
        ...(bounds === undefined ? {} : { only: bounds.mayRemove }),
        signal,
      });
      for await (const { name, removed, reason } of collected) {
        if (removed) ports.event(first.set, 'GarbageCollected', `${name}: ${reason}`);
      }
    } catch (error) {
      signal?.throwIfAborted();
      // What cannot be collected stays; that is no failure of an update.
      ports.warn('unneeded images could not be collected', error);
      retry = collectAfterMs;
    }
  }
  return retry;
}

/** Who refers to an image, of what is known when it is asked. `pointed`: images that sets were pointed at, until the world shows it. */
export function references(
  { world }: Pick<PassPorts, 'world'>,
  pointed: Map<string, string>,
): (name: string) => string | undefined {
  const sets = new Map(world.machineSets().map((set) => [idOf(set), set]));
  for (const [id, image] of pointed) {
    const set = sets.get(id);
    const spec = JSON.stringify(set?.spec?.template?.spec?.providerSpec?.value ?? '');
    // Seen in the cache, or gone with its set.
    if (set === undefined || spec.includes(JSON.stringify(image))) pointed.delete(id);
  }
  // An image that failed would be made again, and fail again.
  const tried = new Map(
    world.bootImages().flatMap(({ status }) => {
      const { set = '', canary } = status ?? {};
      return canary?.image === undefined || canary.verdict === 'Passed' ? [] : [[canary.image, set] as const];
    }),
  );
  const index = untilNextTurn(() =>
    referenceIndex({
      machineSets: world.machineSets(),
      machines: world.machines(),
      controlPlaneMachineSets: world.controlPlaneMachineSets(),
      infrastructure: world.infrastructure(),
    }),
  );
  return (name) => {
    const [id] = [...pointed].find(([, image]) => image === name) ?? [];
    const set = id === undefined ? undefined : sets.get(id);
    return set === undefined ? (index()(name) ?? tried.get(name)) : setText(set);
  };
}
