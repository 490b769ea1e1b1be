import { attachedTo, keyRef, type Machine, pathOf, ROOT, type VCenterWorld } from '@drydock/vsphere/testing/server';
import type { DatastoreView, ObjectView, Tag, VmView } from '../../switchboard-types.ts';
import { keyOf } from './switchboard-lookup.ts';

/** Oldest first: morefs end with a number that grows. */
const byMoref = (a: { readonly moref: string }, b: { readonly moref: string }): number =>
  a.moref.length - b.moref.length || (a.moref < b.moref ? -1 : 1);

export function vmViews(world: VCenterWorld): readonly VmView[] {
  return Array.from(world.state.machines.values(), (machine) => vmView(world, machine)).sort(byMoref);
}

function vmView(world: VCenterWorld, machine: Machine): VmView {
  const { state } = world;
  const { uuid, networks, snapshots } = world.details(machine);
  const nameOf = (key: string): string => world.nameOf(key);
  const customValues = Array.from(machine.customValues, ([key, value]) => [state.customFields[key] ?? '', value]);
  return {
    ...{ moref: machine.ref.value, name: machine.name, isTemplate: machine.isTemplate },
    ...{ path: pathOf(state, keyOf(machine.ref)), folder: pathOf(state, machine.folder) },
    ...{ folderMoref: keyRef(machine.folder).value, host: machine.host === undefined ? '' : nameOf(machine.host) },
    ...{ instanceUuid: machine.instanceUuid, uuid, power: machine.powerState, annotation: machine.annotation },
    ...{ firmware: machine.hardware.get('config.firmware') ?? '', secureBoot: machine.secureBoot },
    productVersion: machine.productVersion ?? '',
    extraConfig: Object.fromEntries(machine.extraConfig),
    customValues: Object.fromEntries(customValues),
    tags: Array.from(machine.tags, (id) => {
      const { category = '', name = '' } = state.tags.get(id) ?? {};
      return `${category}/${name}`;
    }),
    ...{ networks: networks.map(nameOf), datastores: [nameOf(machine.datastore)] },
    disks: machine.disks.map(({ file, capacityKB = 0, thin = false, parents }) => ({
      ...{ file, capacityKB, thin, parents },
    })),
    snapshots: snapshots.map(({ name }) => name),
    tasks: machine.tasks.map(({ descriptionId }) => descriptionId),
  };
}

/** The places of a type. */
export function objectViews(world: VCenterWorld, type: string): readonly ObjectView[] {
  const { state } = world;
  const views: ObjectView[] = [];
  if (type === 'Folder') views.push({ moref: ROOT.value, type, name: 'Datacenters', path: '/' });
  for (const [key, { ref, name }] of state.places) {
    if (ref.type !== type) continue;
    views.push({
      ...{ moref: ref.value, type, name, path: pathOf(state, key) },
      ...(state.hosts.has(key) ? hostView(world, key) : {}),
      ...(state.datastores.has(key) ? datastoreView(world, key) : {}),
    });
  }
  return views.sort(byMoref);
}

function hostView({ state }: VCenterWorld, key: string): object {
  const { connectionState, powerState, inMaintenanceMode } = state.hosts.get(key) ?? {};
  return { connectionState, powerState, ...(inMaintenanceMode === true ? { inMaintenanceMode } : {}) };
}

function datastoreView({ state, datastoreModes }: VCenterWorld, key: string): Partial<DatastoreView> {
  const { freeSpace = 0, capacity = 0, accessible = false } = state.datastores.get(key) ?? {};
  return {
    ...(freeSpace === 0 ? {} : { freeSpace }),
    ...(capacity === 0 ? {} : { capacity }),
    ...(accessible ? { accessible } : {}),
    maintenanceMode: datastoreModes.get(key) ?? 'normal',
  };
}

export function tagViews(world: VCenterWorld): readonly Tag[] {
  return Array.from(world.state.tags, ([id, { category, name }]) => ({
    ...{ id, category, name },
    objects: attachedTo(world, id).map((key) => keyRef(key).value),
  }));
}
