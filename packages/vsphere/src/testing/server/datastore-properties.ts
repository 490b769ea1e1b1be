import { escapeName } from '../../soap/names.ts';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { ENTITY, type PlaceProperties, unset } from './folder-properties.ts';
import { hostsReaching, machinesWhere } from './place-queries.ts';
import { data, list, long, refs } from './vim-values.ts';

function urlOf({ value }: MoRef): string {
  return `ds:///vmfs/volumes/${value}/`;
}

export const DATASTORE: PlaceProperties = {
  ...ENTITY,
  info: (world, { ref, name }) => {
    const { freeSpace = 0 } = world.state.datastores.get(refKey(ref)) ?? {};
    return data('LocalDatastoreInfo', {
      ...{ name: escapeName(name), url: urlOf(ref), freeSpace: long(freeSpace), maxFileSize: long(2 ** 42) },
      path: urlOf(ref),
    });
  },
  summary: (world, { ref, name }) => {
    const { freeSpace = 0, capacity = 0, accessible = false } = world.state.datastores.get(refKey(ref)) ?? {};
    return data('DatastoreSummary', {
      ...{ datastore: ref, name: escapeName(name), url: urlOf(ref), capacity: long(capacity) },
      ...{ freeSpace: long(freeSpace), uncommitted: long(0), accessible },
      multipleHostAccess: hostsReaching(world, ref, 'datastores').length > 1,
      type: 'OTHER',
      maintenanceMode: world.datastoreModes.get(refKey(ref)) ?? 'normal',
    });
  },
  host: (world, { ref }) => {
    const mount = { path: urlOf(ref), accessMode: 'readWrite', mounted: true, accessible: true };
    const mountInfo = data('HostMountInfo', mount);
    return list(
      'DatastoreHostMount',
      hostsReaching(world, ref, 'datastores').map((key) => data('DatastoreHostMount', { key, mountInfo })),
    );
  },
  vm: (world, { ref }) => refs(machinesWhere(world, ({ datastore }) => datastore === refKey(ref))),
  browser: (_, { ref }) => ({ type: 'HostDatastoreBrowser', value: `browser-${ref.value}` }),
  capability: () =>
    data('DatastoreCapability', {
      ...{ directoryHierarchySupported: true, rawDiskMappingsSupported: false, perFileThinProvisioningSupported: true },
    }),
  iormConfiguration: unset,
};
