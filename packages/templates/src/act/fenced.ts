import type { VCenter } from '@drydock/vsphere';
import { reasonOf, TemplateError } from '../errors.ts';

/**
 * Asked right before each call that changes a machine and that nothing on the server guards; throws where this process may not act any more, because another one leads. A process
 * that has no rivals needs none.
 */
export type Fence = () => void;

/** The same session, whose renames, removals, marks and reconfigurations ask `fence` first, after everything that could take time. */
export function fenced(vcenter: VCenter, fence: Fence | undefined): VCenter {
  if (fence === undefined) return vcenter;
  const ask = (doing: string): void => {
    try {
      fence();
    } catch (cause) {
      const message = `failed to ${doing}: this process does not lead any more: ${reasonOf(cause)}`;
      throw new TemplateError({ code: 'NOT_LEADING', message, retriable: true, cause });
    }
  };
  return {
    ...vcenter,
    rename: async (vm, ...rest) => {
      ask(`rename ${vm.value}`);
      await vcenter.rename(vm, ...rest);
    },
    destroy: async (vm, ...rest) => {
      ask(`destroy ${vm.value}`);
      await vcenter.destroy(vm, ...rest);
    },
    reconfigure: async (vm, ...rest) => {
      ask(`reconfigure ${vm.value}`);
      await vcenter.reconfigure(vm, ...rest);
    },
    markAsTemplate: async (vm, ...rest) => {
      ask(`make ${vm.value} a template`);
      await vcenter.markAsTemplate(vm, ...rest);
    },
    setCustomValue: async (vm, ...rest) => {
      ask(`mark ${vm.value}`);
      await vcenter.setCustomValue(vm, ...rest);
    },
  };
}
