import { refKey } from '../soap/soap.ts';
import type { ActiveTask, DiskSummary, LibraryFile, MoRef } from '../vcenter.ts';
import type { MachineDetails } from './server/machine-details.ts';

/** One host of a cluster in the in-memory vCenter. Unset fields mean a healthy host that has everything. */
export interface MemoryHost {
  readonly name: string;
  readonly connectionState?: string;
  readonly powerState?: string;
  readonly inMaintenanceMode?: boolean;
  /** Names of the datastores that it mounts. */
  readonly datastores?: readonly string[];
  /** Names of the networks that it reaches. */
  readonly networks?: readonly string[];
}

/** Kinds of networks; all are in `HostSystem.network`. */
export type MemoryNetworkType = 'Network' | 'DistributedVirtualPortgroup' | 'OpaqueNetwork';
export const NETWORK_TYPES: readonly string[] = ['Network', 'DistributedVirtualPortgroup', 'OpaqueNetwork'];

/** The datacenter that a place or machine is in. */
export function datacenterOf(state: InventoryState, key: string): string | undefined {
  let at: string | undefined = state.machines.get(key)?.folder ?? key;
  while (at !== undefined && !at.startsWith('Datacenter:')) at = state.places.get(at)?.parent;
  return at;
}

/** References to what has these names in the datacenter of `near`. */
function named(state: InventoryState, near: string, types: readonly string[], names: readonly string[]): MoRef[] {
  const datacenter = datacenterOf(state, near);
  return [...state.places.values()]
    .filter(({ ref, name }) => types.includes(ref.type) && names.includes(name))
    .filter(({ ref }) => datacenterOf(state, refKey(ref)) === datacenter)
    .map(({ ref }) => ref);
}

/** References to the networks of these names, whatever their kind, in the datacenter of `near`. */
export function networksNamed(state: InventoryState, near: string, names: readonly string[]): MoRef[] {
  return named(state, near, NETWORK_TYPES, names);
}

/** References to the datastores of these names in the datacenter of `near`. */
export function datastoresNamed(state: InventoryState, near: string, names: readonly string[]): MoRef[] {
  return named(state, near, ['Datastore'], names);
}

/** What the in-memory vCenter starts with. Paths are inventory paths; every default makes a complete small vCenter. */
export interface MemoryOptions {
  readonly server?: string;
  readonly instanceUuid?: string;
  /** Virtual machine folders. Default `/DC0/vm/ocp`. */
  readonly folders?: readonly string[];
  /** Compute clusters, each with a resource pool `Resources`. Default `/DC0/host/C0` with two hosts. */
  readonly clusters?: readonly { readonly path: string; readonly hosts: readonly MemoryHost[] }[];
  /** Default `/DC0/datastore/DS0` with 1 TiB. */
  readonly datastores?: readonly {
    readonly path: string;
    readonly freeSpace?: number;
    /** Bytes; default: all of it is free. */
    readonly capacity?: number;
    readonly accessible?: boolean;
  }[];
  /** Default `/DC0/network/VM Network`. A path alone is a standard port group. */
  readonly networks?: readonly (
    | string
    | { readonly path: string; readonly type: MemoryNetworkType | 'VmwareDistributedVirtualSwitch' }
  )[];
  /** Datastore clusters (StoragePod), made before the datastores that lie in them. Default none. */
  readonly datastoreClusters?: readonly string[];
  /** Default: one tag `infra` of category `openshift-infra`. */
  readonly tags?: readonly { readonly name: string; readonly category: string; readonly id?: string }[];
  /** Milliseconds since the epoch; used for createDate. Default: a clock that stands at 2026-01-01. */
  readonly now?: () => number;
  /** Seconds, as a lease reports it; see `expireLeases`. Default 300. */
  readonly leaseTimeout?: number;
  /** True behaves like the simulator: an aborted lease leaves its VM. vCenter removes it. */
  readonly abortLeavesVm?: boolean;
  /** False leaves the product version of an imported VM unset. */
  readonly reportsVersion?: boolean;
  /** `none`: the manifest of a lease says nothing of what was uploaded, as the API allows, which describes it for downloads. Default `received`. */
  readonly manifest?: 'received' | 'none';
  /** State of another in-memory vCenter, of which this one starts with a copy instead of what the options above say is there. */
  readonly from?: InventoryState;
  /** What becomes of the value of a custom attribute with more than 255 characters; both happen. Default `refused`. */
  readonly longAttributes?: 'refused' | 'truncated';
  /**
   * What becomes of an import whose name is free in the folder, while the folder of that name on the datastore belongs to a machine that was renamed: it gets the `next` folder, or
   * FileAlreadyExists; both happen. Default `next`.
   */
  readonly takenDirectory?: 'next' | 'refused';
}

/** A folder, datacenter, cluster, pool, host, datastore or network. */
export interface Place {
  readonly ref: MoRef;
  name: string;
  /** Undefined: the root folder. */
  parent: string | undefined;
}

/** A virtual machine or template, as the server stores it. */
export interface Machine {
  readonly ref: MoRef;
  name: string;
  folder: string;
  instanceUuid: string;
  isTemplate: boolean;
  powerState: 'poweredOn' | 'poweredOff' | 'suspended';
  productVersion: string | undefined;
  readonly createDate: string;
  secureBoot: boolean;
  annotation: string;
  readonly extraConfig: Map<string, string>;
  /** See `VmSummary.hardware`. */
  readonly hardware: Map<string, string>;
  /** Changes of its configuration so far. */
  changes: number;
  /** False: nobody can read its configuration, as of an inaccessible machine. */
  readable: boolean;
  connectionState: string;
  readonly disabledMethods: Set<string>;
  /** Key of its host; undefined: it has none. */
  host: string | undefined;
  /** Definition key → value. */
  readonly customValues: Map<number, string>;
  readonly tags: Set<string>;
  disks: DiskSummary[];
  datastore: string;
  /** Directory on the datastore: a rename of the VM keeps it. */
  readonly directory: string;
  readonly tasks: ActiveTask[];
  /** False from the import until its lease is complete. */
  complete: boolean;
  bytes: number;
  /** What only clients of the wire can make of it; one that was made in process has defaults. */
  details?: MachineDetails;
}

/** One file that a lease waits for, and what arrived. */
export interface MemoryLeaseFile {
  readonly key: string;
  readonly path: string;
  readonly declared: number | undefined;
  readonly create: boolean;
  received?: { readonly size: number; readonly sha1: string; readonly sha256: string };
}

/** The server's half of an import. It outlives the client that started it. */
export interface MemoryLease {
  readonly id: string;
  readonly vm: string;
  /** Client whose session it is bound to. */
  readonly client: string;
  state: 'ready' | 'done' | 'error';
  readonly files: MemoryLeaseFile[];
}

/** One file of an item. What is said of it may differ from what it is, as on a server that lies. */
export interface MemoryLibraryFile {
  readonly bytes: Uint8Array;
  /** Default: as many as there are. */
  readonly size?: number;
  readonly checksum?: LibraryFile['checksum'];
}

/** An item of a library. */
export interface MemoryLibraryItem {
  readonly library: string;
  readonly name: string;
  readonly files: ReadonlyMap<string, MemoryLibraryFile>;
}

/** A host, as the server stores it. */
export type HostState = { -readonly [K in keyof Required<Omit<MemoryHost, 'name'>>]: Required<MemoryHost>[K] };

/** Everything that the server holds: plain data, so that it can be cloned. Keys are `type:value`. */
export interface InventoryState {
  readonly server: string;
  readonly instanceUuid: string;
  readonly places: Map<string, Place>;
  readonly hosts: Map<string, HostState>;
  readonly datastores: Map<string, { freeSpace: number; readonly capacity: number; accessible: boolean }>;
  readonly machines: Map<string, Machine>;
  readonly leases: Map<string, MemoryLease>;
  readonly tags: Map<string, { readonly name: string; readonly category: string }>;
  readonly customFields: string[];
  /** Id → name. */
  readonly libraries: Map<string, string>;
  readonly libraryItems: Map<string, MemoryLibraryItem>;
  /** Download sessions that nobody ended. */
  readonly libraryDownloads: Set<string>;
  /** Privileges that every user lacks, on everything. */
  readonly deniedPrivileges: Set<string>;
  next: number;
}

/** The inverse of `refKey`. */
export function keyRef(key: string): MoRef {
  const colon = key.indexOf(':');
  return { type: key.slice(0, colon), value: key.slice(colon + 1) };
}

const PREFIX: Readonly<Record<string, string>> = {
  Datacenter: 'datacenter-',
  Folder: 'group-v',
  ClusterComputeResource: 'domain-c',
  ResourcePool: 'resgroup-',
  HostSystem: 'host-',
  Datastore: 'datastore-',
  Network: 'network-',
  DistributedVirtualPortgroup: 'dvportgroup-',
  VmwareDistributedVirtualSwitch: 'dvs-',
  StoragePod: 'group-p',
  VirtualMachine: 'vm-',
  VirtualMachineSnapshot: 'snapshot-',
  Task: 'task-',
};

/** A reference that was never given out before. */
export function newRef(state: InventoryState, type: string): MoRef {
  state.next += 1;
  return { type, value: `${PREFIX[type] ?? `${type}-`}${state.next}` };
}

/** A UUID that was never given out before; deterministic, so that explorations repeat. */
export function newUuid(state: InventoryState): string {
  state.next += 1;
  return `50000000-0000-4000-8000-${state.next.toString(16).padStart(12, '0')}`;
}

/** Splits an inventory path and undoes the escapes of a name (%2f, %5c, %25). */
export function splitPath(path: string): string[] {
  return path
    .split('/')
    .filter((part) => part !== '')
    .map((part) => part.replace(/%2f/gi, '/').replace(/%5c/gi, '\\').replaceAll('%25', '%'));
}

/** Direct child of a place by its literal name: places first, then machines. */
export function childOf(state: InventoryState, parent: string | undefined, name: string): MoRef | undefined {
  for (const place of state.places.values()) if (place.parent === parent && place.name === name) return place.ref;
  for (const machine of state.machines.values()) {
    if (machine.folder === parent && machine.name === name) return machine.ref;
  }
  return undefined;
}

/** Resolves an absolute inventory path. */
export function resolvePath(state: InventoryState, path: string): MoRef | undefined {
  let parent: string | undefined;
  let ref: MoRef | undefined;
  for (const name of splitPath(path)) {
    ref = childOf(state, parent, name);
    if (ref === undefined) return undefined;
    parent = refKey(ref);
  }
  return ref;
}

/** The inventory path of a place or machine, with names escaped. */
export function pathOf(state: InventoryState, key: string): string {
  const names: string[] = [];
  let at: string | undefined = key;
  while (at !== undefined) {
    const machine: Machine | undefined = state.machines.get(at);
    const place: Place | undefined = state.places.get(at);
    const name = machine?.name ?? place?.name ?? '?';
    names.unshift(name.replaceAll('%', '%25').replaceAll('/', '%2f').replaceAll('\\', '%5c'));
    at = machine?.folder ?? place?.parent;
  }
  return `/${names.join('/')}`;
}

/** Makes every place of a path, the last one with the given type; returns its key. */
export function makePath(state: InventoryState, path: string, type: string): string {
  const names = splitPath(path);
  let parent: string | undefined;
  names.forEach((name, depth) => {
    const known = childOf(state, parent, name);
    const kind = depth === names.length - 1 ? type : depth === 0 ? 'Datacenter' : 'Folder';
    const ref = known ?? newRef(state, kind);
    if (known === undefined) state.places.set(refKey(ref), { ref, name, parent });
    parent = refKey(ref);
  });
  if (parent === undefined) throw new TypeError(`inventory path "${path}" names nothing; give it like /DC0/vm/folder`);
  return parent;
}

/** The state that a new in-memory vCenter starts with. */
export function initialState(options: MemoryOptions): InventoryState {
  if (options.from !== undefined) return structuredClone(options.from);
  const state: InventoryState = {
    server: options.server ?? 'vcenter.example',
    instanceUuid: options.instanceUuid ?? '00000000-0000-4000-8000-0000000000c0',
    places: new Map(),
    hosts: new Map(),
    datastores: new Map(),
    machines: new Map(),
    leases: new Map(),
    tags: new Map(),
    customFields: [],
    libraries: new Map(),
    libraryItems: new Map(),
    libraryDownloads: new Set(),
    deniedPrivileges: new Set(),
    next: 0,
  };
  for (const folder of options.folders ?? ['/DC0/vm/ocp']) makePath(state, folder, 'Folder');
  for (const pod of options.datastoreClusters ?? []) makePath(state, pod, 'StoragePod');
  for (const datastore of options.datastores ?? [{ path: '/DC0/datastore/DS0' }]) {
    const { freeSpace = 2 ** 40, capacity = freeSpace, accessible = true } = datastore;
    state.datastores.set(makePath(state, datastore.path, 'Datastore'), { freeSpace, capacity, accessible });
  }
  const networks = options.networks ?? ['/DC0/network/VM Network'];
  for (const network of networks)
    if (typeof network === 'string') makePath(state, network, 'Network');
    else makePath(state, network.path, network.type);
  const clusters = options.clusters ?? [{ path: '/DC0/host/C0', hosts: [{ name: 'host-a' }, { name: 'host-b' }] }];
  const namesOf = (...types: readonly string[]): string[] =>
    [...state.places.values()].filter((place) => types.includes(place.ref.type)).map((place) => place.name);
  for (const cluster of clusters) {
    makePath(state, cluster.path, 'ClusterComputeResource');
    for (const { name, ...host } of cluster.hosts) {
      state.hosts.set(makePath(state, `${cluster.path}/${name}`, 'HostSystem'), {
        connectionState: host.connectionState ?? 'connected',
        powerState: host.powerState ?? 'poweredOn',
        inMaintenanceMode: host.inMaintenanceMode ?? false,
        datastores: host.datastores ?? namesOf('Datastore'),
        networks: host.networks ?? namesOf(...NETWORK_TYPES),
      });
    }
    makePath(state, `${cluster.path}/Resources`, 'ResourcePool');
  }
  for (const tag of options.tags ?? [{ name: 'infra', category: 'openshift-infra' }]) {
    const id = tag.id ?? `urn:vmomi:InventoryServiceTag:${newUuid(state)}:GLOBAL`;
    state.tags.set(id, { name: tag.name, category: tag.category });
  }
  return state;
}
