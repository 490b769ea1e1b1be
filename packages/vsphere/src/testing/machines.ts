import { refKey } from '../soap/soap.ts';
import type { MoRef, VmChange, VmSummary } from '../vcenter.ts';
import { simulatedFault } from './fault.ts';
import { childOf, type InventoryState, keyRef, type Machine, newRef, newUuid } from './inventory.ts';

/** vCenter's limit for the name of an inventory object. */
const NAME_LIMIT = 80;

/** The machine behind a reference, or ManagedObjectNotFound. */
export function machineOf(state: InventoryState, ref: MoRef, op: string): Machine {
  const machine = state.machines.get(refKey(ref));
  if (machine === undefined) throw simulatedFault('ManagedObjectNotFound', op, refKey(ref), { obj: ref });
  return machine;
}

/** Refuses a name that is empty, too long, or borne by another child of the folder. */
export function checkName(state: InventoryState, folder: string, name: string, op: string, self?: MoRef): void {
  if (name === '' || name.length > NAME_LIMIT) throw simulatedFault('InvalidName', op, name, { name });
  const bearer = childOf(state, folder, name);
  if (bearer !== undefined && (self === undefined || refKey(bearer) !== refKey(self))) {
    throw simulatedFault('DuplicateName', op, name, { name, object: bearer });
  }
}

/** The machine as a property retrieval shows it. */
export function summarize(state: InventoryState, machine: Machine): VmSummary {
  const customValues = new Map<string, string>();
  for (const [key, value] of machine.customValues) customValues.set(state.customFields[key] ?? `${key}`, value);
  const known = {
    ref: machine.ref,
    name: machine.name,
    parent: keyRef(machine.folder),
    instanceUuid: machine.instanceUuid,
    isTemplate: machine.isTemplate,
    powerState: machine.powerState,
    customValues,
    activeTasks: machine.tasks.map((task) => ({ ...task })),
  };
  if (!machine.readable) {
    const unreadable = `its configuration is unset, and it is ${machine.connectionState}`;
    return { ...known, unreadable, extraConfig: new Map(), hardware: new Map(), disks: [] };
  }
  return {
    ...known,
    ...(machine.productVersion === undefined ? {} : { productVersion: machine.productVersion }),
    createDate: machine.createDate,
    secureBoot: machine.secureBoot,
    extraConfig: new Map(machine.extraConfig),
    hardware: new Map(machine.hardware),
    changeVersion: `${machine.changes}`,
    disks: machine.disks.map((disk) => ({ ...disk })),
  };
}

/** ReconfigVM_Task. A template takes only its annotation; an empty value removes a key of extraConfig. */
export function reconfigureMachine(machine: Machine, change: VmChange): void {
  const op = 'ReconfigVM_Task';
  if (machine.isTemplate && (change.extraConfig !== undefined || change.secureBoot !== undefined)) {
    throw simulatedFault('NotSupported', op, machine.name);
  }
  if (machine.powerState !== 'poweredOff' && change.secureBoot !== undefined) {
    throw simulatedFault('InvalidPowerState', op, machine.name, {
      requestedState: 'poweredOff',
      existingState: machine.powerState,
    });
  }
  for (const [key, value] of change.extraConfig ?? []) {
    if (value === '') machine.extraConfig.delete(key);
    else machine.extraConfig.set(key, value);
  }
  if (change.secureBoot !== undefined) machine.secureBoot = change.secureBoot;
  if (change.annotation !== undefined) machine.annotation = change.annotation;
  machine.changes += 1;
}

/** What a method that vCenter has disabled on the machine is answered with. */
export function checkEnabled(machine: Machine, op: string): void {
  if (machine.disabledMethods.has(op)) throw simulatedFault('MethodDisabled', op, machine.name);
  if (machine.connectionState !== 'connected') throw simulatedFault('InvalidState', op, machine.name);
}

/** Why a method could not be done; see `VCenter.obstacle`. */
export function obstacleOf(state: InventoryState, machine: Machine, methods: readonly string[]): string | undefined {
  if (machine.connectionState !== 'connected') return `it is ${machine.connectionState}`;
  const refused = methods.filter((method) => machine.disabledMethods.has(method));
  if (refused.length > 0) return `vCenter has disabled ${refused.join(' and ')} on it`;
  const host = machine.host === undefined ? undefined : state.hosts.get(machine.host);
  const name = machine.host === undefined ? '' : (state.places.get(machine.host)?.name ?? '');
  if (host === undefined) return undefined;
  if (host.connectionState !== 'connected') return `its host ${name} is ${host.connectionState}`;
  return host.inMaintenanceMode ? `its host ${name} is in maintenance mode` : undefined;
}

/** MarkAsTemplate: NotSupported the second time, InvalidPowerState while it runs. */
export function markMachine(machine: Machine): void {
  const op = 'MarkAsTemplate';
  checkEnabled(machine, op);
  if (machine.isTemplate) throw simulatedFault('NotSupported', op, machine.name);
  if (machine.powerState !== 'poweredOff') {
    throw simulatedFault('InvalidPowerState', op, machine.name, {
      requestedState: 'poweredOff',
      existingState: machine.powerState,
    });
  }
  machine.isTemplate = true;
  machine.changes += 1;
}

/** MarkAsVirtualMachine, as an administrator does it: attributes, name and files stay. */
export function convertToMachine(machine: Machine): void {
  if (!machine.isTemplate) throw simulatedFault('NotSupported', 'MarkAsVirtualMachine', machine.name);
  machine.isTemplate = false;
  machine.changes += 1;
}

/** PowerOnVM_Task and its traces: a running machine's own entries in extraConfig, which stay when it is off again. */
export function powerMachine(machine: Machine, powerState: Machine['powerState'], leavesTraces = true): void {
  machine.powerState = powerState;
  machine.changes += 1;
  if (powerState !== 'poweredOn' || !leavesTraces) return;
  for (const [key, value] of BOOT_TRACES) machine.extraConfig.set(key, value);
}

const BOOT_TRACES = [
  ['monitor.phys_bits_used', '45'],
  ['softPowerOff', 'FALSE'],
  ['vmotion.checkpointFBSize', '4194304'],
] as const;

/** Destroy_Task: refuses what runs and what a task holds; files of linked clones go with it, as on vCenter (VS-T5). */
export function destroyMachine(state: InventoryState, ref: MoRef): void {
  const op = 'Destroy_Task';
  const machine = machineOf(state, ref, op);
  checkEnabled(machine, op);
  if (machine.powerState !== 'poweredOff') {
    throw simulatedFault('InvalidPowerState', op, machine.name, {
      requestedState: 'poweredOff',
      existingState: machine.powerState,
    });
  }
  const held = machine.tasks[0];
  if (held !== undefined) throw simulatedFault('TaskInProgress', op, machine.name, { task: held.ref });
  removeMachine(state, machine);
}

/** Takes a machine and its files away, and ends the lease that made it. */
export function removeMachine(state: InventoryState, machine: Machine): void {
  const key = refKey(machine.ref);
  state.machines.delete(key);
  const datastore = state.datastores.get(machine.datastore);
  if (datastore !== undefined) datastore.freeSpace += machine.bytes;
  for (const lease of state.leases.values()) if (lease.vm === key && lease.state === 'ready') lease.state = 'error';
}

/** A directory on the datastore that no machine uses: vCenter appends _1, _2, … where the name is taken. */
export function freeDirectory(state: InventoryState, datastore: string, name: string): string {
  const taken = new Set<string>();
  for (const machine of state.machines.values()) if (machine.datastore === datastore) taken.add(machine.directory);
  let directory = name;
  for (let suffix = 1; taken.has(directory); suffix += 1) directory = `${name}_${suffix}`;
  return directory;
}

/** What every machine of this vCenter is born with. */
const BORN_HARDWARE: ReadonlyMap<string, string> = new Map([
  ['config.firmware', 'efi'],
  ['config.hardware.memoryMB', '16384'],
  ['config.hardware.numCPU', '4'],
]);

/** What has to be said of a new machine. */
export type MachineBirth = Pick<Machine, 'name' | 'folder' | 'host' | 'datastore' | 'createDate'> & Partial<Machine>;

/** A machine that is off and has nothing; it is not in the inventory yet. */
export function bornMachine(state: InventoryState, birth: MachineBirth): Machine {
  return {
    ref: newRef(state, 'VirtualMachine'),
    instanceUuid: '',
    isTemplate: false,
    powerState: 'poweredOff',
    productVersion: undefined,
    secureBoot: false,
    annotation: '',
    extraConfig: new Map(),
    hardware: new Map(BORN_HARDWARE),
    changes: 0,
    readable: true,
    connectionState: 'connected',
    disabledMethods: new Set(),
    customValues: new Map(),
    tags: new Set(),
    disks: [],
    tasks: [],
    complete: true,
    bytes: 0,
    ...birth,
    directory: birth.directory ?? freeDirectory(state, birth.datastore, birth.name),
  };
}

/** The instance UUID of a machine that wishes for one: vCenter keeps them unique, and gives another one where it is taken. */
export function uniqueUuid(state: InventoryState, wished: string): string {
  const isTaken = wished === '' || [...state.machines.values()].some((other) => other.instanceUuid === wished);
  return isTaken ? newUuid(state) : wished;
}

/** What a test says of a clone. */
export interface CloneRequest {
  readonly name: string;
  /** Default: the folder of the source. */
  readonly folder?: MoRef;
  /** Its disk is a child of the source's disk. */
  readonly linked?: boolean;
  readonly powerOn?: boolean;
  readonly template?: boolean;
  /** vCenter versions differ in whether custom attributes follow; default no. */
  readonly copyCustomValues?: boolean;
}

/**
 * CloneVM_Task as vCenter does it: extraConfig is copied whole, instanceUuid is not, tags are not. This is how a worker
 * machine comes to carry the mark of its template.
 */
export function cloneMachine(state: InventoryState, source: MoRef, request: CloneRequest, createDate: string): MoRef {
  const op = 'CloneVM_Task';
  const from = machineOf(state, source, op);
  const folder = request.folder === undefined ? from.folder : refKey(request.folder);
  checkName(state, folder, request.name, op);
  const ref = newRef(state, 'VirtualMachine');
  const directory = freeDirectory(state, from.datastore, request.name);
  const store = state.places.get(from.datastore)?.name ?? '?';
  state.machines.set(refKey(ref), {
    ...from,
    ref,
    name: request.name,
    folder,
    instanceUuid: newUuid(state),
    isTemplate: request.template ?? false,
    powerState: request.powerOn === true ? 'poweredOn' : 'poweredOff',
    createDate,
    extraConfig: new Map(from.extraConfig),
    hardware: new Map(from.hardware),
    disabledMethods: new Set(),
    customValues: request.copyCustomValues === true ? new Map(from.customValues) : new Map(),
    tags: new Set(),
    directory,
    disks: from.disks.map((disk, index) => ({
      ...disk,
      uuid: newUuid(state),
      file: `[${store}] ${directory}/disk-${index}.vmdk`,
      parents: request.linked === true ? [disk.file, ...disk.parents] : [],
    })),
    tasks: [],
    bytes: request.linked === true ? 0 : from.bytes,
  });
  return ref;
}
