import { refKey } from '../soap/soap.ts';
import type { MoRef } from '../vcenter.ts';
import { type InventoryState, newUuid } from './inventory.ts';
import { bornMachine, checkName } from './machines.ts';

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
  const datastore = state.datastores.keys().next().value ?? '';
  const made = bornMachine(state, {
    ...{ name: machine.name, folder: refKey(folder), host: state.hosts.keys().next().value, datastore },
    ...{ isTemplate: machine.template ?? false, powerState: machine.powerState ?? 'poweredOff' },
    ...{ productVersion: machine.productVersion, createDate: machine.createDate ?? createDate },
    secureBoot: machine.secureBoot ?? false,
    extraConfig: new Map(Object.entries(machine.extraConfig ?? {})),
    tags: new Set(machine.tags),
  });
  made.instanceUuid = machine.instanceUuid ?? newUuid(state);
  const store = state.places.get(datastore)?.name ?? '?';
  const disks = machine.disks ?? [{ file: `[${store}] ${made.directory}/disk-0.vmdk`, thin: true }];
  made.disks = disks.map((disk) => ({ parents: [], uuid: newUuid(state), capacityKB: 16_777_216, ...disk }));
  const { ref } = made;
  state.machines.set(refKey(ref), made);
  return ref;
}
