import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { datacenterOf, datastoresNamed, keyRef, type Machine, networksNamed, type Place } from '../inventory.ts';
import { ROOT } from './root-folder.ts';
import type { VCenterWorld } from './vcenter-world.ts';

/** A place, or the root folder. */
export function placeOf(world: VCenterWorld, ref: MoRef): Place | undefined {
  const isRoot = ref.type === ROOT.type && ref.value === ROOT.value;
  return (
    world.state.places.get(refKey(ref)) ?? (isRoot ? { ref: ROOT, name: 'Datacenters', parent: undefined } : undefined)
  );
}

/** The direct children of a folder, cluster, pool or datacenter: places, then machines. */
export function childrenOf(world: VCenterWorld, ref: MoRef): MoRef[] {
  const key = ref.value === ROOT.value ? undefined : refKey(ref);
  return [
    ...placesWhere(world, ({ parent }) => parent === key),
    ...(key === undefined ? [] : machinesWhere(world, ({ folder }) => folder === key)),
  ];
}

/** The direct children of each place. */
export function childrenByParent({ state }: VCenterWorld): ReadonlyMap<string, readonly MoRef[]> {
  const children = new Map<string, MoRef[]>();
  const put = (parent: string, ref: MoRef): void => {
    const known = children.get(parent);
    if (known === undefined) children.set(parent, [ref]);
    else known.push(ref);
  };
  for (const { ref, parent } of state.places.values()) put(parent ?? refKey(ROOT), ref);
  for (const { ref, folder } of state.machines.values()) put(folder, ref);
  return children;
}

export function placesWhere(world: VCenterWorld, is: (place: Place) => boolean): MoRef[] {
  const found: MoRef[] = [];
  for (const place of world.state.places.values()) if (is(place)) found.push(place.ref);
  return found;
}

export function machinesWhere(world: VCenterWorld, is: (machine: Machine) => boolean): MoRef[] {
  const found: MoRef[] = [];
  for (const machine of world.state.machines.values()) if (is(machine)) found.push(machine.ref);
  return found;
}

/** The datastores or networks of a host. */
export function hostReaches(world: VCenterWorld, key: string, of: 'datastores' | 'networks'): MoRef[] {
  const names = world.state.hosts.get(key)?.[of] ?? [];
  return of === 'datastores' ? datastoresNamed(world.state, key, names) : networksNamed(world.state, key, names);
}

/** The hosts of a datastore or a network. */
export function hostsReaching(world: VCenterWorld, ref: MoRef, of: 'datastores' | 'networks'): MoRef[] {
  const datacenter = datacenterOf(world.state, refKey(ref));
  const name = world.nameOf(refKey(ref));
  return [...world.state.hosts]
    .filter(([key, host]) => host[of].includes(name) && datacenterOf(world.state, key) === datacenter)
    .map(([key]) => keyRef(key));
}
