import { escapeName } from '../../soap/names.ts';
import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { datacenterOf, datastoresNamed, keyRef, networksNamed, type Place } from '../inventory.ts';
import { ALLOCATION } from './machine-details.ts';
import { machineProperties } from './machine-properties.ts';
import { ROOT } from './root-folder.ts';
import { faultData } from './task-properties.ts';
import type { TaskRecord, VCenterWorld } from './vcenter-world.ts';
import { type Data, data, dateTime, list, long, oneOf, refs, stepsOf, type Value, valueAt } from './vim-values.ts';

/** Properties by name; each is computed when it is read. */
type Table<T> = Readonly<Record<string, (world: VCenterWorld, of: T) => Value | undefined>>;

const unset = (): undefined => undefined;

/** What every managed entity has and nobody here sets. */
const UNSET: readonly string[] = [
  ...['alarmActionsEnabled', 'availableField', 'configIssue', 'configStatus', 'customValue', 'declaredAlarmState'],
  ...['disabledMethod', 'effectiveRole', 'permission', 'tag', 'triggeredAlarmState', 'value'],
];

const ENTITY: Table<Place> = {
  ...Object.fromEntries(UNSET.map((name) => [name, unset])),
  name: (_, place) => escapeName(place.name),
  parent: (_, place) => parentOf(place),
  overallStatus: () => oneOf('ManagedEntityStatus', 'green'),
  recentTask: () => refs([]),
  effectiveRole: () => list('int', [-1]),
  disabledMethod: () => list('string', []),
};

const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  vm: ['Folder', 'VirtualMachine', 'VirtualApp'],
  host: ['Folder', 'ComputeResource'],
  datastore: ['Folder', 'Datastore', 'StoragePod'],
  network: ['Folder', 'Network', 'DistributedVirtualSwitch'],
};

const FOLDER: Table<Place> = {
  ...ENTITY,
  childEntity: (world, { ref }) => refs(childrenOf(world, ref)),
  childType: (world, place) => list('string', childTypes(world, place)),
  summary: (world, place) => {
    if (place.ref.type !== 'StoragePod') return undefined;
    const stores = childrenOf(world, place.ref).map((ref) => world.state.datastores.get(refKey(ref)));
    const sum = (of: 'capacity' | 'freeSpace'): number => stores.reduce((total, one) => total + (one?.[of] ?? 0), 0);
    const sums = { capacity: long(sum('capacity')), freeSpace: long(sum('freeSpace')) };
    return data('StoragePodSummary', { name: escapeName(place.name), ...sums });
  },
  podStorageDrsEntry: () => {
    const config = data('StorageDrsPodConfigInfo', { enabled: false, ioLoadBalanceEnabled: false });
    return data('PodStorageDrsEntry', { storageDrsConfig: data('StorageDrsConfigInfo', { podConfig: config }) });
  },
};

const below =
  (name: string) =>
  (world: VCenterWorld, { ref }: Place): MoRef | undefined =>
    childNamed(world, refKey(ref), name);

const DATACENTER: Table<Place> = {
  ...ENTITY,
  vmFolder: below('vm'),
  hostFolder: below('host'),
  datastoreFolder: below('datastore'),
  networkFolder: below('network'),
  datastore: (world, { ref }) => refs(inDatacenter(world, refKey(ref), (type) => type === 'Datastore')),
  network: (world, { ref }) => refs(inDatacenter(world, refKey(ref), isNetwork)),
  configuration: () => data('DatacenterConfigInfo', { defaultHardwareVersionKey: 'vmx-19' }),
};

const hostsOf = (world: VCenterWorld, { ref }: Place): MoRef[] =>
  childrenOf(world, ref).filter(({ type }) => type === 'HostSystem');
const reached =
  (of: 'datastores' | 'networks') =>
  (world: VCenterWorld, place: Place): Value => {
    const keys = new Set(hostsOf(world, place).flatMap((host) => hostReaches(world, refKey(host), of).map(refKey)));
    return refs([...keys].map(keyRef));
  };
const poolIn = (world: VCenterWorld, { ref }: Place): MoRef | undefined =>
  childrenOf(world, ref).find(({ type }) => type === 'ResourcePool');
const MHZ = 2294;
const CORES = 2;
const MEMORY = 4 * 2 ** 30;

const CLUSTER: Table<Place> = {
  ...ENTITY,
  host: (world, place) => refs(hostsOf(world, place)),
  resourcePool: poolIn,
  datastore: reached('datastores'),
  network: reached('networks'),
  environmentBrowser: (_, { ref }) => ({ type: 'EnvironmentBrowser', value: `envbrowser-${ref.value}` }),
  summary: (world, place) => {
    const hosts = hostsOf(world, place).length;
    return data('ClusterComputeResourceSummary', {
      ...{ totalCpu: hosts * CORES * MHZ, totalMemory: long(hosts * MEMORY), numCpuCores: hosts * CORES },
      ...{ numCpuThreads: hosts * CORES, effectiveCpu: hosts * CORES * MHZ },
      ...{ effectiveMemory: long((hosts * MEMORY) / 2 ** 20), numHosts: hosts, numEffectiveHosts: hosts },
      ...{ overallStatus: 'green' },
    });
  },
  configuration: () => data('ClusterConfigInfo', CLUSTER_CONFIG),
  configurationEx: () => data('ClusterConfigInfoEx', CLUSTER_CONFIG),
};

const CLUSTER_CONFIG: Data['fields'] = {
  dasConfig: data('ClusterDasConfigInfo', { enabled: false }),
  drsConfig: data('ClusterDrsConfigInfo', { enabled: true, defaultVmBehavior: 'fullyAutomated' }),
};

const POOL: Table<Place> = {
  ...ENTITY,
  owner: (world, { ref }) => {
    let at: string | undefined = refKey(ref);
    while (at !== undefined && !at.includes('ComputeResource:')) at = world.state.places.get(at)?.parent;
    return at === undefined ? undefined : keyRef(at);
  },
  resourcePool: (world, { ref }) => refs(childrenOf(world, ref)),
  vm: (world, { ref }) => refs(machinesWhere(world, (key) => poolKey(world, key) === refKey(ref))),
  config: () => data('ResourceConfigSpec', { cpuAllocation: ALLOCATION, memoryAllocation: ALLOCATION }),
  runtime: () => data('ResourcePoolRuntimeInfo', { overallStatus: 'green' }),
  summary: (_, { name }) => data('ResourcePoolSummary', { name: escapeName(name) }),
};

const HOST: Table<Place> = {
  ...ENTITY,
  runtime: (world, { ref }) => hostRuntime(world, refKey(ref)),
  summary: (world, { ref, name }) =>
    data('HostListSummary', {
      host: ref,
      hardware: data('HostHardwareSummary', {
        ...{ vendor: 'VMware, Inc.', model: 'VMware Virtual Platform', uuid: hostUuid(ref) },
        ...{ memorySize: long(MEMORY), cpuModel: 'Intel(R) Core(TM) i7-3615QM CPU @ 2.30GHz', cpuMhz: MHZ },
        ...{ numCpuPkgs: 2, numCpuCores: CORES, numCpuThreads: CORES, numNics: 1, numHBAs: 3 },
      }),
      runtime: hostRuntime(world, refKey(ref)),
      config: data('HostConfigSummary', { name: escapeName(name), port: 902, product: PRODUCT }),
      quickStats: data('HostListSummaryQuickStats', { overallCpuUsage: 67, overallMemoryUsage: 1404, uptime: 77229 }),
      overallStatus: 'green',
      rebootRequired: false,
      managementServerIp: '127.0.0.1',
    }),
  datastore: (world, { ref }) => refs(hostReaches(world, refKey(ref), 'datastores')),
  network: (world, { ref }) => refs(hostReaches(world, refKey(ref), 'networks')),
  vm: (world, { ref }) => refs(machinesWhere(world, (key) => world.state.machines.get(key)?.host === refKey(ref))),
  datastoreBrowser: (_, { ref }) => ({ type: 'HostDatastoreBrowser', value: `browser-${ref.value}` }),
  capability: unset,
  config: (_, { ref }) => data('HostConfigInfo', { host: ref, product: PRODUCT }),
  configManager: (_, { ref }) =>
    data('HostConfigManager', { datastoreSystem: { type: 'HostDatastoreSystem', value: `dss-${ref.value}` } }),
  hardware: (_, { ref }) =>
    data('HostHardwareInfo', {
      systemInfo: data('HostSystemInfo', {
        vendor: 'VMware, Inc.',
        model: 'VMware Virtual Platform',
        uuid: hostUuid(ref),
      }),
      cpuInfo: data('HostCpuInfo', {
        numCpuPackages: 2,
        numCpuCores: CORES,
        numCpuThreads: CORES,
        hz: long(MHZ * 1e6),
      }),
      memorySize: long(MEMORY),
    }),
  systemResources: unset,
};

const PRODUCT = data('AboutInfo', {
  ...{ name: 'VMware ESXi', fullName: 'VMware ESXi 6.5.0 build-5969303', vendor: 'VMware, Inc.', version: '6.5.0' },
  ...{ build: '5969303', osType: 'vmnix-x86', productLineId: 'embeddedEsx', apiType: 'HostAgent', apiVersion: '6.5' },
});

const DATASTORE: Table<Place> = {
  ...ENTITY,
  info: (world, { ref, name }) => {
    const known = world.state.datastores.get(refKey(ref));
    const url = urlOf(ref);
    return data('LocalDatastoreInfo', {
      ...{ name: escapeName(name), url, freeSpace: long(known?.freeSpace ?? 0), maxFileSize: long(2 ** 42) },
      path: url,
    });
  },
  summary: (world, { ref, name }) => {
    const known = world.state.datastores.get(refKey(ref));
    return data('DatastoreSummary', {
      ...{ datastore: ref, name: escapeName(name), url: urlOf(ref), capacity: long(known?.capacity ?? 0) },
      ...{ freeSpace: long(known?.freeSpace ?? 0), uncommitted: long(0), accessible: known?.accessible ?? false },
      multipleHostAccess: datastoreHosts(world, ref).length > 1,
      type: 'OTHER',
      maintenanceMode: world.datastoreModes.get(refKey(ref)) ?? 'normal',
    });
  },
  host: (world, { ref }) =>
    list(
      'DatastoreHostMount',
      datastoreHosts(world, ref).map((key) => {
        const how = { path: urlOf(ref), accessMode: 'readWrite', mounted: true, accessible: true };
        return data('DatastoreHostMount', { key, mountInfo: data('HostMountInfo', how) });
      }),
    ),
  vm: (world, { ref }) => refs(machinesWhere(world, (key) => world.state.machines.get(key)?.datastore === refKey(ref))),
  browser: (_, { ref }) => ({ type: 'HostDatastoreBrowser', value: `browser-${ref.value}` }),
  capability: () =>
    data('DatastoreCapability', {
      ...{ directoryHierarchySupported: true, rawDiskMappingsSupported: false, perFileThinProvisioningSupported: true },
    }),
  iormConfiguration: unset,
};

const NETWORK: Table<Place> = {
  ...ENTITY,
  host: (world, { ref }) => refs(networkHosts(world, ref)),
  vm: (world, { ref }) => refs(machinesWhere(world, (key) => isIn(world, key, refKey(ref)))),
  summary: (_, { ref, name }) =>
    data('NetworkSummary', { network: ref, name: escapeName(name), accessible: true, ipPoolName: '' }),
};

const PORTGROUP: Table<Place> = {
  ...NETWORK,
  key: (_, { ref }) => ref.value,
  portKeys: () => list('string', []),
  config: (world, place) =>
    data('DVPortgroupConfigInfo', {
      ...{ key: place.ref.value, name: escapeName(place.name), numPorts: 1, type: 'earlyBinding' },
      distributedVirtualSwitch: switchOf(world, place),
    }),
};

const SWITCH: Table<Place> = {
  ...ENTITY,
  uuid: (_, { ref }) => hostUuid(ref),
  portgroup: (world, place) => refs(portgroups(world, place)),
  capability: unset,
  runtime: unset,
  summary: (world, place) =>
    data('DVSSummary', {
      ...{ name: escapeName(place.name), uuid: hostUuid(place.ref), numPorts: 0 },
      productInfo: data('DistributedVirtualSwitchProductSpec', {
        name: 'DVS',
        vendor: 'VMware, Inc.',
        version: '6.5.0',
      }),
      portgroupName: list(
        'string',
        portgroups(world, place).map((ref) => world.nameOf(refKey(ref))),
      ),
    }),
  config: (_, { ref, name }) =>
    data('VMwareDVSConfigInfo', { uuid: hostUuid(ref), name: escapeName(name), numPorts: 0 }),
};

const TABLES: Readonly<Record<string, Table<Place>>> = {
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

/** What other types extend; all of these are managed entities. */
const EXTENDED: Readonly<Record<string, string>> = {
  ClusterComputeResource: 'ComputeResource',
  DistributedVirtualPortgroup: 'Network',
  OpaqueNetwork: 'Network',
  StoragePod: 'Folder',
  VmwareDistributedVirtualSwitch: 'DistributedVirtualSwitch',
};

/** Whether an object of a type is one of another: a cluster is a ComputeResource and a ManagedEntity. */
export function isA(type: string, wanted: string): boolean {
  if (type === wanted || EXTENDED[type] === wanted) return true;
  return wanted === 'ManagedEntity' && (type === 'VirtualMachine' || type in TABLES);
}

/** The property at a path of an object of the inventory or a task; undefined: unset, or no such object. */
export function propertyOf(world: VCenterWorld, ref: MoRef, path: string): Value | undefined {
  const steps = stepsOf(path);
  const name = steps[0]?.field ?? '';
  return valueAt(
    world.lastRead.value(ref, name, () => topOf(world, ref, name)),
    steps,
  );
}

function topOf(world: VCenterWorld, ref: MoRef, name: string): Value | undefined {
  if (ref.type === 'VirtualMachine') {
    const machine = world.state.machines.get(refKey(ref));
    return machine === undefined ? undefined : machineProperties[name]?.(world, machine);
  }
  if (ref.type === 'Task') return name === 'info' ? taskInfo(world, world.tasks.get(ref.value)) : undefined;
  const place = placeOf(world, ref);
  return place === undefined ? undefined : TABLES[ref.type]?.[name]?.(world, place);
}

/** The names of all properties of a type; undefined where any will do. */
export function propertyNames(type: string): readonly string[] | undefined {
  if (type === 'VirtualMachine') return Object.keys(machineProperties);
  if (type === 'Task') return ['info', 'value', 'availableField'];
  if (type === 'ManagedEntity') return Object.keys(ENTITY);
  if (type === 'ComputeResource') return Object.keys(CLUSTER);
  if (type === 'DistributedVirtualSwitch') return Object.keys(SWITCH);
  const table = TABLES[type];
  return table === undefined ? undefined : Object.keys(table);
}

/** Whether an object of a type can have a property at a path. */
export function hasPath(type: string, path: string): boolean {
  const [first] = stepsOf(path);
  return first !== undefined && propertyNames(type)?.includes(first.field) !== false;
}

/** A place, or the root folder. */
export function placeOf(world: VCenterWorld, ref: MoRef): Place | undefined {
  const place = world.state.places.get(refKey(ref));
  if (place !== undefined) return place;
  return ref.type === ROOT.type && ref.value === ROOT.value
    ? { ref: ROOT, name: 'Datacenters', parent: undefined }
    : undefined;
}

/** `info` of a task. */
export function taskInfo(world: VCenterWorld, task: TaskRecord | undefined): Data | undefined {
  if (task === undefined) return undefined;
  const { ref, state } = task;
  return data('TaskInfo', {
    ...{ key: ref.value, task: ref, name: task.method, descriptionId: task.descriptionId, entity: task.entity },
    ...{ entityName: escapeName(world.nameOf(refKey(task.entity))), state, cancelled: task.cancelled },
    cancelable: state === 'running',
    ...(task.error === undefined ? {} : { error: faultData(task.error) }),
    ...(task.result === undefined ? {} : { result: { any: task.result } }),
    ...(state === 'success' ? { progress: 100 } : {}),
    reason: data('TaskReasonUser', { userName: task.user }),
    ...{ queueTime: dateTime(task.queued), startTime: dateTime(task.queued) },
    ...(task.completed === undefined ? {} : { completeTime: dateTime(task.completed) }),
    eventChainId: 0,
  });
}

/** What lies directly below a folder, cluster, pool or datacenter: places, then machines. */
export function childrenOf(world: VCenterWorld, ref: MoRef): MoRef[] {
  const key = ref.value === ROOT.value ? undefined : refKey(ref);
  const children: MoRef[] = [];
  for (const place of world.state.places.values()) if (place.parent === key) children.push(place.ref);
  if (key !== undefined)
    for (const machine of world.state.machines.values()) if (machine.folder === key) children.push(machine.ref);
  return children;
}

/** What lies directly below each place. */
export function childrenByParent({ state }: VCenterWorld): ReadonlyMap<string, readonly MoRef[]> {
  const below = new Map<string, MoRef[]>();
  const put = (parent: string, ref: MoRef): void => {
    const known = below.get(parent);
    if (known === undefined) below.set(parent, [ref]);
    else known.push(ref);
  };
  for (const { ref, parent } of state.places.values()) put(parent ?? refKey(ROOT), ref);
  for (const { ref, folder } of state.machines.values()) put(folder, ref);
  return below;
}

function parentOf({ ref, parent }: Place): MoRef | undefined {
  if (parent !== undefined) return keyRef(parent);
  return ref.value === ROOT.value ? undefined : ROOT;
}

function childTypes(world: VCenterWorld, { ref }: Place): readonly string[] {
  if (ref.value === ROOT.value) return ['Folder', 'Datacenter'];
  if (ref.type === 'StoragePod') return ['Datastore'];
  for (let at: string | undefined = refKey(ref); at !== undefined; ) {
    const place = world.state.places.get(at);
    if (place?.parent?.startsWith('Datacenter:') === true) return FOLDERS[place.name] ?? [];
    at = place?.parent;
  }
  return ['Folder', 'Datacenter'];
}

function childNamed(world: VCenterWorld, parent: string, name: string): MoRef | undefined {
  for (const place of world.state.places.values()) if (place.parent === parent && place.name === name) return place.ref;
  return undefined;
}

function isNetwork(type: string): boolean {
  return type === 'Network' || EXTENDED[type] === 'Network';
}

function inDatacenter(world: VCenterWorld, key: string, is: (type: string) => boolean): MoRef[] {
  const found: MoRef[] = [];
  for (const [at, { ref }] of world.state.places)
    if (is(ref.type) && datacenterOf(world.state, at) === key) found.push(ref);
  return found;
}

function machinesWhere(world: VCenterWorld, is: (key: string) => boolean): MoRef[] {
  const found: MoRef[] = [];
  for (const [key, { ref }] of world.state.machines) if (is(key)) found.push(ref);
  return found;
}

function poolKey(world: VCenterWorld, key: string): string | undefined {
  const machine = world.state.machines.get(key);
  return machine === undefined ? undefined : world.details(machine).pool;
}

function isIn(world: VCenterWorld, key: string, network: string): boolean {
  return world.state.machines.get(key)?.details?.networks.includes(network) === true;
}

function hostReaches(world: VCenterWorld, key: string, of: 'datastores' | 'networks'): MoRef[] {
  const names = world.state.hosts.get(key)?.[of] ?? [];
  return of === 'datastores' ? datastoresNamed(world.state, key, names) : networksNamed(world.state, key, names);
}

function datastoreHosts(world: VCenterWorld, ref: MoRef): MoRef[] {
  return hostsReaching(world, ref, 'datastores');
}

function networkHosts(world: VCenterWorld, ref: MoRef): MoRef[] {
  return hostsReaching(world, ref, 'networks');
}

function hostsReaching(world: VCenterWorld, ref: MoRef, of: 'datastores' | 'networks'): MoRef[] {
  const here = datacenterOf(world.state, refKey(ref));
  const name = world.nameOf(refKey(ref));
  return [...world.state.hosts]
    .filter(([key, host]) => host[of].includes(name) && datacenterOf(world.state, key) === here)
    .map(([key]) => keyRef(key));
}

function hostRuntime(world: VCenterWorld, key: string): Data | undefined {
  const host = world.state.hosts.get(key);
  if (host === undefined) return undefined;
  return data('HostRuntimeInfo', {
    connectionState: oneOf('HostSystemConnectionState', host.connectionState),
    powerState: oneOf('HostSystemPowerState', host.powerState),
    ...{ standbyMode: '', inMaintenanceMode: host.inMaintenanceMode },
  });
}

/** Of a host or switch: nobody compares it, so that it only has to be one's own. */
function hostUuid({ value }: MoRef): string {
  return `dcf7fb3c-0000-4000-8000-${value.replaceAll(/\D/g, '').padStart(12, '0')}`;
}

function urlOf({ value }: MoRef): string {
  return `ds:///vmfs/volumes/${value}/`;
}

function portgroups(world: VCenterWorld, { parent }: Place): MoRef[] {
  const found: MoRef[] = [];
  for (const place of world.state.places.values())
    if (place.parent === parent && place.ref.type === 'DistributedVirtualPortgroup') found.push(place.ref);
  return found;
}

function switchOf(world: VCenterWorld, { parent }: Place): MoRef | undefined {
  for (const place of world.state.places.values())
    if (place.parent === parent && place.ref.type === 'VmwareDistributedVirtualSwitch') return place.ref;
  return undefined;
}
