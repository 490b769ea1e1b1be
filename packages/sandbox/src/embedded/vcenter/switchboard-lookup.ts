import { atPath, keyRef, type Machine, ROOT, type VCenterWorld } from '@drydock/vsphere/testing/server';
import type { Ref } from '../../switchboard-types.ts';

export type MoRef = typeof ROOT;

export const keyOf = ({ type, value }: MoRef): string => `${type}:${value}`;
export const toRef = ({ type, value }: MoRef): Ref => ({ type, moref: value });

/** Finds an object by inventory path, by `vm-12` of the given kind, or by `VirtualMachine:vm-12`. */
export function findObject(world: VCenterWorld, kind: string, where: string | undefined): MoRef {
  if (where === undefined || where === '') throw new Error(`the ${kind} to use is not given`);
  if (where.startsWith('/')) {
    const found = atPath(world, where);
    if (found === undefined) throw new Error(`nothing at inventory path ${where}`);
    return found;
  }
  const ref = where.includes(':') ? keyRef(where) : { type: kind, value: where };
  const { machines, places } = world.state;
  if (!machines.has(keyOf(ref)) && !places.has(keyOf(ref)) && ref.value !== ROOT.value) {
    throw new Error(`no ${ref.type} ${ref.value}`);
  }
  return ref;
}

/** Finds a place by its name too; the first of its kind. */
export function findPlace(world: VCenterWorld, kind: string, where: string | undefined): MoRef {
  for (const { ref, name } of world.state.places.values()) if (ref.type === kind && name === where) return ref;
  return findObject(world, kind, where);
}

export function findMachine(world: VCenterWorld, where: string | undefined): Machine {
  const machine = world.state.machines.get(keyOf(findObject(world, 'VirtualMachine', where)));
  if (machine === undefined) throw new Error(`${String(where)} is no VM`);
  return machine;
}

/** The root folder for a kind of objects in a datacenter. */
export function folderIn(world: VCenterWorld, datacenter: string | undefined, name: string): MoRef {
  for (const place of world.state.places.values()) {
    if (place.parent === datacenter && place.name === name) return place.ref;
  }
  throw new Error(`there is no folder ${name} in ${String(datacenter)}`);
}
