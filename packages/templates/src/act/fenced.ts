import type { CallOptions, VCenter } from '@drydock/vsphere';
import { reasonOf, TemplateError } from '../errors.ts';

/**
 * Asked right before each call that changes a machine and that nothing on the server guards; throws where this process may not act any more, because another one leads. A process
 * that has no rivals needs none.
 */
export type Fence = () => void;

/** The same session, whose renames, removals, marks and reconfigurations ask `fence` before each request of theirs, after everything that could take time. */
export function fenced(vcenter: VCenter, fence: Fence | undefined): VCenter {
  if (fence === undefined) return vcenter;
  const asking = (doing: string, options: CallOptions | undefined): CallOptions => ({
    ...options,
    fence: () => {
      try {
        fence();
      } catch (cause) {
        const message = `failed to ${doing}: this process does not lead any more: ${reasonOf(cause)}`;
        throw new TemplateError({ code: 'NOT_LEADING', message, retriable: true, cause });
      }
    },
  });
  return {
    ...vcenter,
    rename: (vm, name, options) => vcenter.rename(vm, name, asking(`rename ${vm.value}`, options)),
    destroy: (vm, options) => vcenter.destroy(vm, asking(`destroy ${vm.value}`, options)),
    reconfigure: (vm, change, options) => vcenter.reconfigure(vm, change, asking(`reconfigure ${vm.value}`, options)),
    markAsTemplate: (vm, options) => vcenter.markAsTemplate(vm, asking(`make ${vm.value} a template`, options)),
    setCustomValue: (vm, name, value, options) =>
      vcenter.setCustomValue(vm, name, value, asking(`mark ${vm.value}`, options)),
  };
}
