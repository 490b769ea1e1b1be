import { refKey } from '../soap/soap.ts';
import type { MachineDisks, MoRef, NamedPlace, VCenter } from '../vcenter.ts';
import type { CallRunner } from './hooks.ts';
import { type InventoryState, type Machine, pathOf } from './inventory.ts';
import type { MemoryServer } from './memory-server.ts';

const KINDS: Readonly<Record<string, NamedPlace['kind']>> = {
  ClusterComputeResource: 'cluster',
  Datacenter: 'datacenter',
  Datastore: 'datastore',
  DistributedVirtualPortgroup: 'network',
  Folder: 'folder',
  Network: 'network',
  OpaqueNetwork: 'network',
  ResourcePool: 'resourcePool',
};

/** What a doctor and a chooser of placements read, in memory. */
export function estateReads(
  { state, now }: MemoryServer,
  run: CallRunner,
): Pick<VCenter, 'about' | 'currentTime' | 'sessions' | 'missingPrivileges' | 'places' | 'disksOn'> {
  return {
    about: (options) =>
      run(
        'about',
        [],
        () => ({
          fullName: 'vCenter in memory',
          version: '8.0.3',
          build: '0',
          apiType: 'VirtualCenter',
          apiVersion: '8.0.3.0',
          instanceUuid: state().instanceUuid,
        }),
        options,
      ),
    currentTime: (options) => run('currentTime', [], () => new Date(now()), options),
    sessions: (options) => run('sessions', [], () => ({ user: 'memory', count: 1 }), options),
    missingPrivileges: (entity, ids, options) =>
      run('missingPrivileges', [entity, ids], () => ids.filter((id) => state().deniedPrivileges.has(id)), options),
    places: (options) => run('places', [], () => items(state()), options),
    disksOn: (place, options) =>
      run(
        'disksOn',
        [place],
        () =>
          [...state().machines.values()]
            .filter((machine) => isOn(state(), machine, place))
            .filter(({ ref }) => options?.except?.has(ref.value) !== true)
            .map((machine) => disksOf(state(), machine)),
        options,
      ),
  };
}

function disksOf(state: InventoryState, machine: Machine): MachineDisks {
  const { ref, name, disks, readable } = machine;
  const stores = [...state.places.values()].filter((place) => place.ref.type === 'Datastore');
  const datastores = stores.filter((place) => isOn(state, machine, place.ref)).map((place) => place.ref);
  return readable
    ? { ref, name, disks: disks.map((disk) => ({ ...disk })), datastores }
    : { ref, name, disks: [], unreadable: 'its configuration is unset', datastores };
}

function items(state: InventoryState): readonly NamedPlace[] {
  const found: NamedPlace[] = [];
  for (const [key, { ref, name }] of state.places) {
    const kind = KINDS[ref.type];
    const path = pathOf(state, key);
    if (kind === undefined || (kind === 'folder' && path.split('/')[2] !== 'vm')) continue;
    found.push({ ref, kind, name, path });
  }
  return found.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function isOn(state: InventoryState, machine: Machine, place: MoRef): boolean {
  if (place.type === 'Datastore') {
    // A linked clone has a file where its parent is.
    const prefix = `[${state.places.get(refKey(place))?.name ?? ''}] `;
    return machine.disks.some(({ file, parents }) => [file, ...parents].some((one) => one.startsWith(prefix)));
  }
  for (let at: string | undefined = machine.folder; at !== undefined; at = state.places.get(at)?.parent)
    if (at === refKey(place)) return true;
  return false;
}
