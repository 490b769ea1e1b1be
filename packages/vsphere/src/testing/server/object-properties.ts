import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { CLUSTER, HOST, POOL } from './compute-properties.ts';
import { DATASTORE } from './datastore-properties.ts';
import { DATACENTER, ENTITY, FOLDER, type PlaceProperties } from './folder-properties.ts';
import { machineProperties } from './machine-properties.ts';
import { NETWORK, PORTGROUP, SWITCH } from './network-properties.ts';
import { placeOf } from './place-queries.ts';
import { taskInfo } from './task-properties.ts';
import type { VCenterWorld } from './vcenter-world.ts';
import { stepsOf, type Value, valueAt } from './vim-values.ts';

const PLACES: Readonly<Record<string, PlaceProperties>> = {
  Folder: FOLDER,
  StoragePod: FOLDER,
  Datacenter: DATACENTER,
  ClusterComputeResource: CLUSTER,
  ResourcePool: POOL,
  HostSystem: HOST,
  Datastore: DATASTORE,
  Network: NETWORK,
  OpaqueNetwork: NETWORK,
  DistributedVirtualPortgroup: PORTGROUP,
  VmwareDistributedVirtualSwitch: SWITCH,
};

const NAMES: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(Object.entries(PLACES).map(([type, properties]) => [type, Object.keys(properties)])),
  VirtualMachine: Object.keys(machineProperties),
  Task: ['info', 'value', 'availableField'],
  ManagedEntity: Object.keys(ENTITY),
  ComputeResource: Object.keys(CLUSTER),
  DistributedVirtualSwitch: Object.keys(SWITCH),
};

/** The property at a path of an object of the inventory or a task; undefined if it is unset, or there is no such object. */
export function propertyOf(world: VCenterWorld, ref: MoRef, path: string): Value | undefined {
  const steps = stepsOf(path);
  const name = steps[0]?.field ?? '';
  return valueAt(
    world.lastRead.value(ref, name, () => read(world, ref, name)),
    steps,
  );
}

function read(world: VCenterWorld, ref: MoRef, name: string): Value | undefined {
  if (ref.type === 'VirtualMachine') {
    const machine = world.state.machines.get(refKey(ref));
    return machine === undefined ? undefined : machineProperties[name]?.(world, machine);
  }
  if (ref.type === 'Task') return name === 'info' ? taskInfo(world, world.tasks.get(ref.value)) : undefined;
  const place = placeOf(world, ref);
  return place === undefined ? undefined : PLACES[ref.type]?.[name]?.(world, place);
}

/** The names of all properties of a type; undefined for a type whose properties are not checked. */
export function propertyNames(type: string): readonly string[] | undefined {
  return NAMES[type];
}

/** Whether an object of a type can have a property at a path. */
export function hasPath(type: string, path: string): boolean {
  const [first] = stepsOf(path);
  return first !== undefined && NAMES[type]?.includes(first.field) !== false;
}
