import { type InventoryState, initialState, type MemoryOptions } from '@drydock/vsphere/testing/server';
import type { VCenterModel } from '../../vcenter.ts';

/** What every datastore of the model has, in bytes. */
export const DATASTORE_BYTES: number = 4 * 2 ** 40;

const numbered = <T>(count: number, make: (n: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, n) => make(n));

/** The inventory that a vCenter starts with: named as govmomi's simulator names its own. */
export function modelState(model: VCenterModel): InventoryState {
  const { datacenters = 1, clusters = 2, hosts = 2, datastores = 1 } = model;
  const all = numbered(datacenters, (n) => `DC${n}`);
  const networks = all.flatMap(
    (dc): NonNullable<MemoryOptions['networks']> => [
      { path: `/${dc}/network/VM Network`, type: 'Network' },
      { path: `/${dc}/network/DVS${dc.slice(2)}`, type: 'VmwareDistributedVirtualSwitch' },
      { path: `/${dc}/network/DVS${dc.slice(2)}-DVUplinks-8`, type: 'DistributedVirtualPortgroup' },
      { path: `/${dc}/network/${dc}_DVPG0`, type: 'DistributedVirtualPortgroup' },
    ],
  );
  return initialState({
    folders: all.flatMap((dc) => ['vm', 'host', 'datastore', 'network'].map((name) => `/${dc}/${name}`)),
    datastores: all.flatMap((dc) =>
      numbered(datastores, (n) => `/${dc}/datastore/LocalDS_${n}`).map((path) => ({
        path,
        freeSpace: DATASTORE_BYTES,
      })),
    ),
    networks,
    clusters: all.flatMap((dc) =>
      numbered(clusters, (n) => `${dc}_C${n}`).map((name) => ({
        path: `/${dc}/host/${name}`,
        hosts: numbered(hosts, (n) => ({ name: `${name}_H${n}` })),
      })),
    ),
    tags: [],
  });
}
