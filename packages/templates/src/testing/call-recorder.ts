import type { MoRef } from '@drydock/vsphere';
import { type CallHook, type MemoryInventory, MUTATING_CALLS } from '@drydock/vsphere/testing';

/** Names of the calls, as plans write them, by what hooks see. */
const METHODS: Readonly<Record<string, string>> = {
  startImport: 'ImportVApp',
  'lease.upload': 'Upload',
  'lease.complete': 'HttpNfcLeaseComplete',
  reconfigure: 'ReconfigVM_Task',
  markAsTemplate: 'MarkAsTemplate',
  rename: 'Rename_Task',
  destroy: 'Destroy_Task',
  'customField.define': 'AddCustomFieldDef',
  setCustomValue: 'SetField',
  'tags.attach': 'AttachTag',
};
/** Finer steps of calls above. */
const FINER = new Set(['lease.upload.half', 'logout']);

/** Records what an in-memory vCenter is really called to change, as a plan would write it, without morefs. `also` is called as the hook of the inventory would be. */
export function recordCalls(inventory: Pick<MemoryInventory, 'onCall' | 'state'>, also?: CallHook): string[] {
  const calls: string[] = [];
  inventory.onCall = (method, phase, args, context) => {
    if (phase === 'before' && MUTATING_CALLS.has(method) && !FINER.has(method)) {
      const [first, second] = args;
      const ref = (typeof first === 'string' ? { name: first } : first) as MoRef & { readonly name?: string };
      const name = ref.name ?? inventory.state.machines.get(`${ref.type}:${ref.value}`)?.name;
      const rest: Readonly<Record<string, string>> = {
        rename: ` -> "${String(second)}"`,
        'tags.attach': ` ${String(second)}`,
        setCustomValue: ` ${String(second).replace('drydock.', '')}`,
      };
      calls.push(`${METHODS[method] ?? method} "${name}"${rest[method] ?? ''}`);
    }
    return also?.(method, phase, args, context);
  };
  return calls;
}

/** A planned call without its morefs, as {@link recordCalls} has it. */
export function withoutRef(call: string): string {
  return call.replace(/ vm-\d+ /, ' ');
}
