import { selectionOf } from '../decide/selection.ts';
import { controlPlanes, type KeptSet, kindOf, setKinds } from '../observe/kept-set.ts';
import type { World } from '../observe/world.ts';

/** Why a set is left out now, undefined where it is kept. Throws `SelectorInvalid`. */
export function selectionNow(
  world: Pick<World, 'machineConfiguration' | 'controlPlanesGated'>,
): (set: KeptSet) => string | undefined {
  const managers = world.machineConfiguration()?.status?.managedBootImagesStatus?.machineManagers;
  const selections = new Map(setKinds.map((kind) => [kind, selectionOf(managers, kind.manager)]));
  return (set) => {
    const kind = kindOf(set);
    if (kind === controlPlanes && world.controlPlanesGated()) return 'feature gate ManagedBootImagesCPMS is off';
    const { includes, reason } = selections.get(kind) ?? { includes: () => false, reason: '' };
    return includes(set.metadata.labels) ? undefined : reason;
  };
}
