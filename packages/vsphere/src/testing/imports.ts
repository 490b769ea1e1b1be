import { refKey } from '../soap/soap.ts';
import type { DiskSummary, ImportRequest, ManifestEntry, MoRef } from '../vcenter.ts';
import { simulatedFault } from './fault.ts';
import { type InventoryState, type MemoryLease, newRef, newUuid } from './inventory.ts';
import { bornMachine, checkName, freeDirectory, removeMachine, uniqueUuid } from './machines.ts';
import type { MemoryServer } from './memory-server.ts';

/** What the server reads in a descriptor. */
export interface ImportedDescriptor {
  readonly networks: readonly string[];
  readonly productVersion?: string;
  readonly secureBoot: boolean;
  readonly files: readonly { readonly path: string; readonly size?: number; readonly isDisk: boolean }[];
}

/** Whether a host could run the import: vCenter refuses one that does not mount the datastore. */
function checkPlacement(state: InventoryState, request: ImportRequest, op: string): void {
  for (const ref of [request.resourcePool, request.folder, request.host, request.datastore]) {
    if (!state.places.has(refKey(ref))) throw simulatedFault('ManagedObjectNotFound', op, refKey(ref), { obj: ref });
  }
  const host = state.hosts.get(refKey(request.host));
  const datastore = state.places.get(refKey(request.datastore));
  if (host === undefined || datastore === undefined || !host.datastores.includes(datastore.name)) {
    throw simulatedFault('InvalidDatastore', op, request.name, { name: datastore?.name ?? '?' });
  }
  if (host.inMaintenanceMode || host.connectionState !== 'connected' || host.powerState !== 'poweredOn') {
    throw simulatedFault('HostNotConnected', op, request.name);
  }
}

function disksOf(
  state: InventoryState,
  directory: string,
  files: ImportedDescriptor['files'],
  request: ImportRequest,
): DiskSummary[] {
  return files
    .filter((file) => file.isDisk)
    .map((_file, index) => ({
      file: `${directory}/disk-${index}.vmdk`,
      uuid: newUuid(state),
      capacityKB: 16_777_216,
      thin: request.diskProvisioning === '' || request.diskProvisioning === 'thin',
      eagerlyScrub: request.diskProvisioning === 'eagerZeroedThick',
      parents: [],
    }));
}

/** CreateImportSpec and ImportVApp: makes the half-made machine and its lease. */
export function importMachine(
  state: InventoryState,
  client: string,
  request: ImportRequest,
  descriptor: ImportedDescriptor,
  facts: Pick<MemoryServer, 'reportsVersion' | 'takenDirectory'> & { readonly createDate: string },
): MemoryLease {
  const op = 'ImportVApp';
  checkPlacement(state, request, op);
  for (const network of descriptor.networks) {
    const ref = request.networks.get(network);
    if (ref === undefined || !state.places.has(refKey(ref))) {
      throw simulatedFault('OvfNetworkMappingNotSupported', 'CreateImportSpec', request.name, { name: network });
    }
  }
  const folder = refKey(request.folder);
  checkName(state, folder, request.name, op);
  const datastore = refKey(request.datastore);
  const directory = freeDirectory(state, datastore, request.name);
  if (directory !== request.name && facts.takenDirectory === 'refused')
    throw simulatedFault('FileAlreadyExists', op, request.name, { file: request.name });
  const machine = bornMachine(state, {
    ...{ name: request.name, folder, host: refKey(request.host), datastore, directory },
    ...{ createDate: facts.createDate, annotation: request.annotation ?? '', complete: false },
    productVersion: facts.reportsVersion ? descriptor.productVersion : undefined,
    secureBoot: descriptor.secureBoot,
    extraConfig: new Map(request.extraConfig),
  });
  machine.instanceUuid = uniqueUuid(state, request.instanceUuid);
  const store = state.places.get(datastore)?.name ?? '?';
  machine.disks = disksOf(state, `[${store}] ${directory}`, descriptor.files, request);
  const { ref } = machine;
  state.machines.set(refKey(ref), machine);
  const lease: MemoryLease = {
    id: newRef(state, 'HttpNfcLease').value,
    vm: refKey(ref),
    client,
    state: 'ready',
    files: descriptor.files.map((file, index) => ({
      key: `/${ref.value}/disk:${index}`,
      path: file.path,
      declared: file.size,
      create: !file.isDisk,
    })),
  };
  state.leases.set(lease.id, lease);
  return lease;
}

/** The lease as the session of `client` sees it. A lease belongs to its session; another one is told that it does not exist. */
export function leaseOf(state: InventoryState, id: string, client: string, op: string): MemoryLease {
  const lease = state.leases.get(id);
  const ref: MoRef = { type: 'HttpNfcLease', value: id };
  if (lease === undefined || lease.client !== client) {
    throw simulatedFault('ManagedObjectNotFound', op, id, { obj: ref });
  }
  if (lease.state !== 'ready') throw simulatedFault('InvalidState', op, id);
  return lease;
}

/** Stores what one upload brought. The datastore fills. */
export function receiveFile(
  state: InventoryState,
  lease: MemoryLease,
  key: string,
  received: { readonly size: number; readonly sha1: string; readonly sha256: string },
): void {
  const op = 'POST nfc';
  const file = lease.files.find((candidate) => candidate.key === key);
  const machine = state.machines.get(lease.vm);
  if (file === undefined || machine === undefined) throw simulatedFault('InvalidState', op, key);
  const datastore = state.datastores.get(machine.datastore);
  if (datastore !== undefined) {
    if (datastore.freeSpace < received.size) {
      throw simulatedFault('NoDiskSpace', op, machine.name, {
        file: machine.directory,
        datastore: state.places.get(machine.datastore)?.name ?? '?',
      });
    }
    datastore.freeSpace -= received.size;
  }
  machine.bytes += received.size;
  file.received = received;
}

/** HttpNfcLeaseGetManifest: what arrived. */
export function manifestOf(lease: MemoryLease): ManifestEntry[] {
  const entries: ManifestEntry[] = [];
  for (const { key, received } of lease.files) {
    if (received === undefined) continue;
    entries.push({
      key,
      sha1: received.sha1,
      checksum: received.sha256,
      checksumType: 'SHA256',
    });
  }
  return entries;
}

/** HttpNfcLeaseComplete. Like the simulator it does not ask whether everything arrived: only the manifest tells (sandbox §4). */
export function completeLease(state: InventoryState, lease: MemoryLease): void {
  lease.state = 'done';
  const machine = state.machines.get(lease.vm);
  if (machine !== undefined) machine.complete = lease.files.every((file) => file.received !== undefined);
}

/** HttpNfcLeaseAbort, and what happens when a lease expires: vCenter removes the machine, the simulator leaves it. */
export function abortLease(state: InventoryState, lease: MemoryLease, leavesVm: boolean): void {
  lease.state = 'error';
  if (leavesVm) return;
  const machine = state.machines.get(lease.vm);
  if (machine !== undefined) removeMachine(state, machine);
}
