import { selectionOf } from '../decide/selection.ts';
import { controlPlanes, type KeptSet, kindOf, setKinds } from '../observe/kept-set.ts';
import type { World } from '../observe/world.ts';
import { verdictOn } from '../policy/set-policy.ts';
import type { PassPorts } from './pass-state.ts';

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

/**
 * Where an upstream controller acts: whether a set is left to it. It is not where that controller manages no set of the kind, or not this one, by what its own operator has reflected, and a policy
 * of ours decides about the set: that is how a person says that we should. Throws `SelectorInvalid`.
 */
export function leftToUpstream(set: KeptSet, { world, platforms }: Pick<PassPorts, 'world' | 'platforms'>): boolean {
  const { policy, conflict } = verdictOn(set, { world, platforms });
  if (policy === undefined && conflict === undefined) return true;
  const mc = world.machineConfiguration();
  if (mc === undefined || mc.metadata.generation !== mc.status?.observedGeneration) return true;
  return selectionNow(world)(set) === undefined;
}
