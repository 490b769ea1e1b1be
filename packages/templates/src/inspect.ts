import { type CallOptions, type MoRef, unescapeName, type VCenter } from '@drydock/vsphere';
import { TemplateError } from './errors.ts';
import { readMark } from './mark.ts';
import { cleanInventoryPath } from './paths.ts';
import { folderPath, resolveFolder } from './place.ts';
import type { Placement, TemplateState } from './store.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What a reference stands for in the placement's folder: a bare name, a path whose folder is this folder, or an instance UUID. Never searched elsewhere. */
export async function inspectTemplate(
  vcenter: VCenter,
  placement: Placement,
  reference: string,
  call: CallOptions,
): Promise<TemplateState> {
  const folder = await resolveFolder(vcenter, placement, call);
  const ref = await find(vcenter, placement, folder, reference, call);
  const vm = ref?.type === 'VirtualMachine' ? await vcenter.vm(ref, call) : undefined;
  if (vm === undefined || vm.parent?.value !== folder.value) return { kind: 'absent' };
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

async function find(
  vcenter: VCenter,
  placement: Placement,
  folder: MoRef,
  reference: string,
  call: CallOptions,
): Promise<MoRef | undefined> {
  if (UUID.test(reference)) return vcenter.findByInstanceUuid(reference.toLowerCase(), call);
  const slash = reference.lastIndexOf('/');
  if (slash < 0) return vcenter.findChild(folder, reference, call);
  const parent = cleanInventoryPath(reference.slice(0, slash));
  if (reference.startsWith('/') && parent === folderPath(placement))
    return vcenter.findChild(folder, unescapeName(reference.slice(slash + 1)), call);
  return undefined;
}
