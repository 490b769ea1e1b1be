// Generated from virtualmachines.vmoperator.vmware.com v1alpha5 by `npm run generate`. Do not edit.
import type { ObjectMeta, Resource } from '../src/meta.ts';

/** A virtual machine of a vCenter, as far as Drydock mirrors it. Field names are those of vm-operator. */
export interface VirtualMachine {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  /** What is wanted of the machine. Drydock reads it and never acts on it; further fields are kept as they are. */
  readonly spec?: VirtualMachineSpec;
  /** What was last observed of the machine. */
  readonly status?: VirtualMachineStatus;
}

/** What is wanted of the machine. Drydock reads it and never acts on it; further fields are kept as they are. */
export interface VirtualMachineSpec {
  /**
   * The vCenter instance UUID that the machine must have; without it any machine that carries the object's name will
   * do.
   */
  readonly instanceUUID?: string;
  /** The power state that is wanted, such as PoweredOn, PoweredOff or Suspended. */
  readonly powerState?: string;
  /** How the machine is connected. */
  readonly network?: VirtualMachineSpecNetwork;
  readonly [key: string]: unknown;
}

/** How the machine is connected. */
export interface VirtualMachineSpecNetwork {
  /** It has no network, and will never have an address. */
  readonly disabled?: boolean;
  readonly [key: string]: unknown;
}

/** What was last observed of the machine. */
export interface VirtualMachineStatus {
  /** The managed object reference value of the machine; absent while none is known. */
  readonly uniqueID?: string;
  /** The instance UUID that vCenter gave the machine. */
  readonly instanceUUID?: string;
  /** The BIOS UUID, which is what provider IDs of nodes carry. */
  readonly biosUUID?: string;
  /** PoweredOn, PoweredOff or Suspended. */
  readonly powerState?: string;
  /** Name of the host that the machine runs on. */
  readonly nodeName?: string;
  /** Name of the Zone that the machine runs in. */
  readonly zone?: string;
  /** The addresses of the machine, as its guest tells them. */
  readonly network?: VirtualMachineStatusNetwork;
  /**
   * Conditions by type. VirtualMachineCreated is True while the machine is in vCenter, False with reason
   * DeletedOutOfBand after somebody destroyed it there.
   */
  readonly conditions?: readonly VirtualMachineStatusCondition[];
}

/** The addresses of the machine, as its guest tells them. */
export interface VirtualMachineStatusNetwork {
  /** Host name inside the guest. */
  readonly hostName?: string;
  /** Its primary IPv4 address. */
  readonly primaryIP4?: string;
  /** Its primary IPv6 address. */
  readonly primaryIP6?: string;
}

export interface VirtualMachineStatusCondition {
  /** Name of the condition, CamelCase. */
  readonly type: string;
  /** True, False or Unknown. */
  readonly status?: string;
  /** One CamelCase word. */
  readonly reason?: string;
  /** A sentence for people. */
  readonly message?: string;
  /** The metadata.generation that the condition was computed from. */
  readonly observedGeneration?: number;
  /** When status last changed. */
  readonly lastTransitionTime?: string;
}

/** The kind VirtualMachine of vmoperator.vmware.com/v1alpha5. */
export const VirtualMachine: Resource<VirtualMachine> = {
  group: 'vmoperator.vmware.com',
  version: 'v1alpha5',
  kind: 'VirtualMachine',
  plural: 'virtualmachines',
  scope: 'Namespaced',
};
