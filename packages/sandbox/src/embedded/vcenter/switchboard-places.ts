import {
  childrenOf,
  datacenterOf,
  ensureTag,
  makePlace,
  moveInto,
  removeTag,
  setMaintenance,
  setTag,
  type VCenterWorld,
} from '@drydock/vsphere/testing/server';
import type { DatastoreChange, HostChange, NewDatastore, NewPod, NewTag, Ref } from '../../switchboard-types.ts';
import { findObject, findPlace, folderIn, keyOf, toRef } from './switchboard-lookup.ts';
import { DATASTORE_BYTES } from './vcenter-inventory-model.ts';

// Changes of folders, datastores, hosts and tags as an administrator makes them.

/** Creates a folder with its parents, below a root folder such as `/DC0/vm`. */
export function createFolder(world: VCenterWorld, path: string): Ref {
  const [datacenter, root, ...names] = path.split('/').filter((part) => part !== '');
  if (datacenter === undefined || root === undefined) {
    throw new Error(`folder path "${path}" must look like /DC0/vm/name`);
  }
  let folder = findObject(world, 'Folder', `/${datacenter}/${root}`);
  for (const name of names) {
    const known = childrenOf(world, folder).find((child) => world.nameOf(keyOf(child)) === name);
    folder = known ?? makePlace(world, folder, name, 'Folder');
  }
  return toRef(folder);
}

export function createDatastore(world: VCenterWorld, { name, cluster, hosts = [] }: NewDatastore): Ref {
  const { state } = world;
  const inCluster =
    cluster === undefined ? [] : childrenOf(world, findObject(world, 'ClusterComputeResource', cluster));
  const keys = [
    ...inCluster.map(keyOf).filter((key) => state.hosts.has(key)),
    ...hosts.map((where) => keyOf(findPlace(world, 'HostSystem', where))),
  ];
  const [first] = keys;
  if (name === '' || first === undefined) throw new Error('a datastore needs a name, and a cluster or hosts');
  const ref = makePlace(world, folderIn(world, datacenterOf(state, first), 'datastore'), name, 'Datastore');
  state.datastores.set(keyOf(ref), { freeSpace: DATASTORE_BYTES, capacity: DATASTORE_BYTES, accessible: true });
  for (const key of keys) {
    const host = state.hosts.get(key);
    if (host === undefined) throw new Error(`${key} is no host`);
    host.datastores = [...host.datastores, name];
    world.touch(key, 'datastore');
  }
  return toRef(ref);
}

export function changeDatastore(world: VCenterWorld, where: string | undefined, change: DatastoreChange): Ref {
  const ref = findPlace(world, 'Datastore', where);
  const store = world.state.datastores.get(keyOf(ref));
  if (store === undefined) throw new Error(`${String(where)} is no datastore`);
  if (change.freeSpace !== undefined) store.freeSpace = change.freeSpace;
  if (change.accessible !== undefined) store.accessible = change.accessible;
  if (change.maintenanceMode !== undefined) world.datastoreModes.set(keyOf(ref), change.maintenanceMode);
  world.touch(keyOf(ref), 'summary', 'info');
  return toRef(ref);
}

/** Creates a datastore cluster. */
export function createPod(world: VCenterWorld, { name, datacenter, datastores = [] }: NewPod): Ref {
  const parent = findPlace(world, 'Datacenter', datacenter);
  if (name === '') throw new Error('a datastore cluster needs a datacenter and a name');
  const pod = makePlace(world, folderIn(world, keyOf(parent), 'datastore'), name, 'StoragePod');
  for (const where of datastores) moveInto(world, pod, findPlace(world, 'Datastore', where));
  return toRef(pod);
}

export function changeHost(world: VCenterWorld, where: string | undefined, change: HostChange): Ref {
  const ref = findPlace(world, 'HostSystem', where);
  const host = world.state.hosts.get(keyOf(ref));
  if (host === undefined) throw new Error(`${String(where)} is no host`);
  if (change.connectionState !== undefined) host.connectionState = change.connectionState;
  if (change.powerState !== undefined) host.powerState = change.powerState;
  if (change.networks !== undefined) {
    // A network is given by its name or its inventory path.
    host.networks = change.networks.map((one) => (one.startsWith('/') ? (one.split('/').at(-1) ?? one) : one));
  }
  world.touch(keyOf(ref), 'runtime', 'summary', 'network');
  if (change.maintenance !== undefined) setMaintenance(world, ref, change.maintenance);
  return toRef(ref);
}

export function createTag(world: VCenterWorld, { category, name, attachTo = [] }: NewTag): { readonly id: string } {
  const id = ensureTag(world, category, name);
  for (const where of attachTo) setTag(world, id, findObject(world, 'VirtualMachine', where), true);
  return { id };
}

export function deleteTag(world: VCenterWorld, category: string, name: string): void {
  const found = [...world.state.tags].find(([, tag]) => tag.category === category && tag.name === name);
  if (found === undefined) throw new Error(`no tag ${name} in category ${category}`);
  removeTag(world, found[0]);
}
