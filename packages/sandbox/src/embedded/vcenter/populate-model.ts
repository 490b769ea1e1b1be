import { datastoresNamed, placeMachine, type VCenterWorld } from '@drydock/vsphere/testing/server';
import type { VCenterModel } from '../../vcenter.ts';

/** Makes the machines of the model: in each cluster's root pool, named as govmomi's simulator names its own. */
export function populate(world: VCenterWorld, { vms = 0, autostart = false }: VCenterModel): void {
  const { state } = world;
  for (const [cluster, { ref, name, parent }] of state.places) {
    if (ref.type !== 'ClusterComputeResource') continue;
    const datacenter = parent === undefined ? undefined : state.places.get(parent)?.parent;
    const folder = [...state.places.values()].find((place) => place.parent === datacenter && place.name === 'vm');
    const hosts = [...state.hosts].filter(([key]) => state.places.get(key)?.parent === cluster);
    for (let n = 0; n < vms; n += 1) {
      const [host, { datastores }] = hosts[n % hosts.length] ?? ['', { datastores: [] }];
      const [datastore] = datastoresNamed(state, cluster, datastores);
      const pool = world.poolOf(host);
      if (folder === undefined || datastore === undefined || pool === undefined) continue;
      const place = { folder: folder.ref, pool, host, datastore: `Datastore:${datastore.value}` };
      const machine = placeMachine(world, `${name}_RP0_VM${n}`, place);
      if (autostart) world.power(machine.ref, 'poweredOn');
    }
  }
}
