import { refKey } from '../soap/soap.ts';
import type { MoRef } from '../vcenter.ts';
import { BORN_HARDWARE } from './imports.ts';
import { type InventoryState, newRef, newUuid } from './inventory.ts';
import { checkName, freeDirectory } from './machines.ts';

/** A machine that exists without an import. */
export interface ForeignMachine {
  readonly name: string;
  readonly template?: boolean;
  readonly instanceUuid?: string;
  readonly productVersion?: string;
  readonly secureBoot?: boolean;
  readonly extraConfig?: Readonly<Record<string, string>>;
  readonly powerState?: 'poweredOn' | 'poweredOff' | 'suspended';
  readonly createDate?: string;
  /** `parents`: the chain below, as a snapshot or a linked clone has one. */
  readonly disks?: readonly {
    readonly file: string;
    readonly thin?: boolean;
    readonly eagerlyScrub?: boolean;
    readonly parents?: readonly string[];
  }[];
  readonly tags?: readonly string[];
}

/** Puts a machine into a folder as if an installer or a person had. */
export function addMachine(state: InventoryState, folder: MoRef, machine: ForeignMachine, createDate: string): MoRef {
  checkName(state, refKey(folder), machine.name, 'CreateVM_Task');
  const ref = newRef(state, 'VirtualMachine');
  const datastore = state.datastores.keys().next().value ?? '';
  const directory = freeDirectory(state, datastore, machine.name);
  const store = state.places.get(datastore)?.name ?? '?';
  const disks = machine.disks ?? [{ file: `[${store}] ${directory}/disk-0.vmdk`, thin: true }];
  state.machines.set(refKey(ref), {
    ref,
    name: machine.name,
    folder: refKey(folder),
    instanceUuid: machine.instanceUuid ?? newUuid(state),
    isTemplate: machine.template ?? false,
    powerState: machine.powerState ?? 'poweredOff',
    productVersion: machine.productVersion,
    createDate: machine.createDate ?? createDate,
    secureBoot: machine.secureBoot ?? false,
    annotation: '',
    extraConfig: new Map(Object.entries(machine.extraConfig ?? {})),
    hardware: new Map(BORN_HARDWARE),
    changes: 0,
    readable: true,
    connectionState: 'connected',
    disabledMethods: new Set(),
    host: state.hosts.keys().next().value,
    customValues: new Map(),
    tags: new Set(machine.tags),
    disks: disks.map((disk) => ({ parents: [], uuid: newUuid(state), capacityKB: 16_777_216, ...disk })),
    datastore,
    directory,
    tasks: [],
    complete: true,
    bytes: 0,
  });
  return ref;
}
