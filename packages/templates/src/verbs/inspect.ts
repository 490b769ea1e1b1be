import type { CallOptions, VCenter } from '@drydock/vsphere';
import { TemplateError } from '../errors.ts';
import { readMark } from '../mark.ts';
import { findTemplate } from '../observe/find.ts';
import { resolveFolder } from '../observe/place.ts';
import type { TemplateState } from '../store.ts';
import type { Placement } from '../wish.ts';

/** What a reference stands for in the placement's folder; see `TemplateStore.inspect`. */
export async function inspectTemplate(
  vcenter: VCenter,
  placement: Placement,
  reference: string,
  call: CallOptions,
): Promise<TemplateState> {
  const folder = await resolveFolder(vcenter, placement, call);
  const vm = await findTemplate(vcenter, placement, folder, reference, call);
  if (vm === undefined) return { kind: 'absent' };
  const ours = readMark(vm, folder).kind === 'ours';
  return { kind: 'present', name: vm.name, version: vm.productVersion, isTemplate: vm.isTemplate, ours };
}

/** The version of what was inspected, or upstream's error where all sources are empty (BI-V139). */
export function versionOf(state: TemplateState, reference: string): string {
  const version = state.kind === 'present' ? state.version : undefined;
  if (version !== undefined && version !== '') return version;
  throw new TemplateError({
    code: 'VERSION_UNKNOWN',
    message: `unable to determine RHCOS version of virtual machine: ${reference}`,
  });
}
