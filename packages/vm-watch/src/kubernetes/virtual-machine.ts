import { isIPv6 } from 'node:net';
import type { VirtualMachine, VirtualMachineStatus } from '@drydock/api';
import type { MachineState } from '../watch/machine-state.ts';

/** What was found out about the machine of an object. */
export type MachineFinding =
  | { readonly kind: 'found'; readonly machine: MachineState; readonly zone: string | undefined }
  /** It had one, which is gone from vCenter. */
  | { readonly kind: 'deleted'; readonly uniqueId: string }
  /** What its reference names is another machine: a vCenter was replaced. */
  | { readonly kind: 'replaced'; readonly uniqueId: string }
  | { readonly kind: 'unreadable'; readonly uniqueId: string }
  /** No machine carries its name, or none was seen yet. */
  | { readonly kind: 'none' }
  /** Several do. */
  | { readonly kind: 'ambiguous'; readonly uniqueIds: readonly string[] };

/** True while the machine is in vCenter; vm-operator's name. */
export const CREATED_CONDITION = 'VirtualMachineCreated';

const POWER: ReadonlyMap<string, string> = new Map([
  ['poweredOn', 'PoweredOn'],
  ['poweredOff', 'PoweredOff'],
  ['suspended', 'Suspended'],
]);

/**
 * The whole status of an object: what was observed of its machine, and what others wrote beside it. Pure. A machine that was deleted out of band takes its identity along, so that a
 * machine that is restored under the object's name is not taken for a copy.
 */
export function mirroredStatus(
  vm: VirtualMachine,
  finding: MachineFinding,
  server: string,
  now: Date,
): VirtualMachineStatus {
  const { uniqueID, instanceUUID, biosUUID, powerState, nodeName, zone, network, ...others } = vm.status ?? {};
  const known = { uniqueID, instanceUUID, biosUUID, powerState, nodeName, zone, network };
  const condition = (status: string, reason: string, message: string): VirtualMachineStatus['conditions'] =>
    withCondition(vm, { type: CREATED_CONDITION, status, reason, message }, now);
  const carried = `${vm.metadata.namespace ?? ''}/${vm.metadata.name}`;
  switch (finding.kind) {
    case 'found':
      return {
        ...others,
        ...observed(finding.machine, finding.zone),
        ...some({ conditions: condition('True', 'Found', `machine ${finding.machine.ref.value} of ${server}`) }),
      };
    case 'deleted': {
      const message = `machine ${finding.uniqueId} of ${server} was deleted there, not through this object`;
      return { ...others, ...some({ conditions: condition('False', 'DeletedOutOfBand', message) }) };
    }
    case 'replaced': {
      const message = `${finding.uniqueId} of ${server} is another machine than before: the vCenter was replaced`;
      return { ...others, ...some({ conditions: condition('False', 'MachineReplaced', message) }) };
    }
    case 'unreadable': {
      const message = `machine ${finding.uniqueId} of ${server} cannot be read; check the privileges of the user`;
      return { ...others, ...some(known), ...some({ conditions: condition('Unknown', 'Unreadable', message) }) };
    }
    case 'none': {
      // A machine that was deleted stays so until another one is found.
      const before = vm.status?.conditions?.find(({ type }) => type === CREATED_CONDITION);
      if (before?.reason === 'DeletedOutOfBand') return vm.status ?? {};
      const message = `no machine of ${server} carries ${carried} in vmservice.namespacedName`;
      return { ...others, ...some({ conditions: condition('False', 'NotFound', message) }) };
    }
    case 'ambiguous': {
      const message = `the machines ${finding.uniqueIds.toSorted().join(', ')} of ${server} carry ${carried}: set spec.instanceUUID, or take the key off the copies`;
      return { ...others, ...some({ conditions: condition('False', 'Ambiguous', message) }) };
    }
  }
}

function observed(machine: MachineState, zone: string | undefined): VirtualMachineStatus {
  const { ipAddress, hostName } = machine;
  const network = some({
    hostName: filled(hostName),
    primaryIP4: isIPv6(ipAddress) ? undefined : filled(ipAddress),
    primaryIP6: isIPv6(ipAddress) ? ipAddress : undefined,
  });
  return some({
    uniqueID: machine.ref.value,
    instanceUUID: filled(machine.instanceUuid),
    biosUUID: filled(machine.biosUuid),
    powerState: POWER.get(machine.powerState),
    nodeName: filled(machine.host),
    zone,
    network: Object.keys(network).length === 0 ? undefined : network,
  });
}

function withCondition(
  vm: VirtualMachine,
  wanted: { readonly type: string; readonly status: string; readonly reason: string; readonly message: string },
  now: Date,
): VirtualMachineStatus['conditions'] {
  const { conditions = [] } = vm.status ?? {};
  const before = conditions.find(({ type }) => type === wanted.type);
  // The schema of the API's times has no fractions.
  const since =
    before?.status === wanted.status && before.lastTransitionTime !== undefined
      ? before.lastTransitionTime
      : `${now.toISOString().slice(0, 19)}Z`;
  const made = { ...wanted, lastTransitionTime: since };
  return before === undefined
    ? [...conditions, made]
    : conditions.map((one) => (one.type === wanted.type ? made : one));
}

type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

function some<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}

function filled(text: string): string | undefined {
  return text === '' ? undefined : text;
}
