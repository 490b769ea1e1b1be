import type { VirtualMachine } from '@drydock/api';
import { LOW_PRIORITY } from '@drydock/kube';

/** Why an object is put into the queue. `initial`: the first list, or a resync. `generic`: vCenter said something. */
export type QueueCause = 'create' | 'delete' | 'update' | 'generic' | 'initial';

/** A whole number that goes before every rule. */
export const PRIORITY_ANNOTATION = 'drydock.dev/priority';

const BY_CAUSE: Readonly<Record<QueueCause, number>> = {
  create: 4,
  delete: 3,
  update: 2,
  generic: 1,
  initial: LOW_PRIORITY,
};

/**
 * vm-operator's priorities (since 2025-10-27): what people wait for goes first, judged by the object's own state; a signal of vCenter outranks the first list, but not what
 * users edit. Pure.
 */
export function priorityOf(vm: VirtualMachine, cause: QueueCause): number {
  const asked = Number(vm.metadata.annotations?.[PRIORITY_ANNOTATION] ?? Number.NaN);
  if (Number.isInteger(asked)) return asked;
  if (vm.metadata.deletionTimestamp !== undefined) return 97;
  const { spec = {}, status = {} } = vm;
  const isCondition = (type: string, value: string): boolean =>
    status.conditions?.some((one) => one.type === type && one.status === value) === true;
  if (!isCondition('VirtualMachineCreated', 'True')) return 100;
  if (spec.powerState !== undefined && spec.powerState !== status.powerState) return 99;
  const { network } = status;
  const addressed = network?.primaryIP4 !== undefined || network?.primaryIP6 !== undefined;
  if (status.powerState === 'PoweredOn' && spec.network?.disabled !== true && !addressed) return 98;
  if (isCondition('VirtualMachineDiskPromotionSynced', 'False')) return 96;
  return BY_CAUSE[cause];
}
