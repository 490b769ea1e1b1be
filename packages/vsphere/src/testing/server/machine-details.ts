import type { DiskSummary, MoRef } from '../../vcenter.ts';
import { type Data, data, type Value } from './vim-values.ts';

/** A snapshot of a machine. */
export interface MachineSnapshotPoint {
  readonly ref: MoRef;
  readonly name: string;
  readonly description: string;
  readonly at: string;
  /** Moref value of the one that it was taken on. */
  readonly parent: string | undefined;
}

/** A disk with its place among the devices. */
export interface MachineDisk extends DiskSummary {
  readonly key?: number;
  readonly controllerKey?: number;
  readonly unitNumber?: number;
}

/** What the wire shows of a machine and the model of processes does not need. Plain data. */
export interface MachineDetails {
  /** BIOS UUID. */
  uuid: string;
  /** `[datastore] directory/name.vmx`. */
  vmx: string;
  /** Key of its resource pool; a template has none. */
  pool: string | undefined;
  /** Devices that are no disks. */
  devices: Data[];
  /** Keys of the networks that its cards are in. */
  networks: string[];
  snapshots: MachineSnapshotPoint[];
  /** Moref value of the snapshot that the machine stands on. */
  currentSnapshot?: string | undefined;
  /** `config.vAppConfig`. */
  vApp?: Data;
  /** Other fields of its configuration, as a spec said them. */
  config: Record<string, Value>;
  /** What VMware Tools tell while it is on. */
  guest?: { readonly hostName: string; readonly addresses: readonly string[] };
}

const described = (type: string, key: number, label: string, more: Data['fields'] = {}): Data =>
  data(type, { key, deviceInfo: data('Description', { label, summary: label }), ...more });

/** The devices of every machine. */
export const BORN_DEVICES: readonly Data[] = [
  described('VirtualPCIController', 100, 'PCI controller 0', { busNumber: 0 }),
  described('VirtualIDEController', 200, 'IDE 0', { busNumber: 0 }),
  described('VirtualIDEController', 201, 'IDE 1', { busNumber: 1 }),
  described('VirtualPS2Controller', 300, 'PS2 controller 0', { busNumber: 0 }),
  described('VirtualSIOController', 400, 'SIO controller 0', { busNumber: 0 }),
  described('VirtualKeyboard', 600, 'Keyboard', { controllerKey: 300, unitNumber: 0 }),
  described('VirtualPointingDevice', 700, 'Pointing device', { controllerKey: 300, unitNumber: 1 }),
  described('VirtualMachineVideoCard', 500, 'Video card', {
    ...{ controllerKey: 100, unitNumber: 0, videoRamSizeInKB: 4096, numDisplays: 1, useAutoDetect: false },
    ...{ enable3DSupport: false, use3dRenderer: 'automatic', graphicsMemorySizeInKB: 262144 },
  }),
  described('VirtualMachineVMCIDevice', 12000, 'VMCI device', {
    ...{ controllerKey: 100, unitNumber: 17, id: -1, allowUnrestrictedCommunication: false, filterEnable: true },
  }),
];

/** Unlimited. */
export const ALLOCATION: Data = data('ResourceAllocationInfo', {
  ...{ reservation: 0, expandableReservation: true, limit: -1 },
  shares: data('SharesInfo', { shares: 4000, level: 'normal' }),
});
