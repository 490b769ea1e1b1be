import { escapeName } from '../../soap/names.ts';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { childOf, datacenterOf, keyRef, NETWORK_TYPES, type Place } from '../inventory.ts';
import { childrenOf, placesWhere } from './place-queries.ts';
import { ROOT } from './root-folder.ts';
import type { VCenterWorld } from './vcenter-world.ts';
import { data, list, long, oneOf, refs, type Value } from './vim-values.ts';

/** The properties of a type by name; each is computed when it is read. */
export type PlaceProperties = Readonly<Record<string, (world: VCenterWorld, place: Place) => Value | undefined>>;

export const unset = (): undefined => undefined;

/** Properties of all managed entities that are never set. */
const UNSET: readonly string[] = [
  ...['alarmActionsEnabled', 'availableField', 'configIssue', 'configStatus', 'customValue', 'declaredAlarmState'],
  ...['disabledMethod', 'effectiveRole', 'permission', 'tag', 'triggeredAlarmState', 'value'],
];

/** The properties of all managed entities. */
export const ENTITY: PlaceProperties = {
  ...Object.fromEntries(UNSET.map((name) => [name, unset])),
  name: (_, { name }) => escapeName(name),
  parent: (_, { ref, parent }) =>
    parent === undefined ? (ref.value === ROOT.value ? undefined : ROOT) : keyRef(parent),
  overallStatus: () => oneOf('ManagedEntityStatus', 'green'),
  recentTask: () => refs([]),
  effectiveRole: () => list('int', [-1]),
  disabledMethod: () => list('string', []),
};

/** The child types of a datacenter's four folders, and of the folders below them. */
const CHILD_TYPES: Readonly<Record<string, readonly string[]>> = {
  vm: ['Folder', 'VirtualMachine', 'VirtualApp'],
  host: ['Folder', 'ComputeResource'],
  datastore: ['Folder', 'Datastore', 'StoragePod'],
  network: ['Folder', 'Network', 'DistributedVirtualSwitch'],
};

function childTypes(world: VCenterWorld, { ref }: Place): readonly string[] {
  if (ref.type === 'StoragePod') return ['Datastore'];
  for (let at: string | undefined = refKey(ref); at !== undefined; ) {
    const place = world.state.places.get(at);
    if (place?.parent?.startsWith('Datacenter:') === true) return CHILD_TYPES[place.name] ?? [];
    at = place?.parent;
  }
  return ['Folder', 'Datacenter'];
}

export const FOLDER: PlaceProperties = {
  ...ENTITY,
  childEntity: (world, { ref }) => refs(childrenOf(world, ref)),
  childType: (world, place) => list('string', childTypes(world, place)),
  summary: (world, { ref, name }) => {
    if (ref.type !== 'StoragePod') return undefined;
    const stores = childrenOf(world, ref).map((child) => world.state.datastores.get(refKey(child)));
    const sum = (of: 'capacity' | 'freeSpace'): number => stores.reduce((total, one) => total + (one?.[of] ?? 0), 0);
    const sums = { capacity: long(sum('capacity')), freeSpace: long(sum('freeSpace')) };
    return data('StoragePodSummary', { name: escapeName(name), ...sums });
  },
  podStorageDrsEntry: () => {
    const podConfig = data('StorageDrsPodConfigInfo', { enabled: false, ioLoadBalanceEnabled: false });
    return data('PodStorageDrsEntry', { storageDrsConfig: data('StorageDrsConfigInfo', { podConfig }) });
  },
};

const folderNamed =
  (name: string) =>
  (world: VCenterWorld, { ref }: Place): MoRef | undefined =>
    childOf(world.state, refKey(ref), name);

function inDatacenter(world: VCenterWorld, { ref }: Place, types: readonly string[]): Value {
  const key = refKey(ref);
  const isInside = (one: Place): boolean =>
    types.includes(one.ref.type) && datacenterOf(world.state, refKey(one.ref)) === key;
  return refs(placesWhere(world, isInside));
}

export const DATACENTER: PlaceProperties = {
  ...ENTITY,
  vmFolder: folderNamed('vm'),
  hostFolder: folderNamed('host'),
  datastoreFolder: folderNamed('datastore'),
  networkFolder: folderNamed('network'),
  datastore: (world, place) => inDatacenter(world, place, ['Datastore']),
  network: (world, place) => inDatacenter(world, place, NETWORK_TYPES),
  configuration: () => data('DatacenterConfigInfo', { defaultHardwareVersionKey: 'vmx-19' }),
};
