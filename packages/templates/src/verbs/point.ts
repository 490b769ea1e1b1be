import type { CallOptions, MoRef, VCenter } from '@drydock/vsphere';
import { failure, readFailure } from '../failure.ts';
import { pointerName, readPointers, recordPointer } from '../mark/pointers.ts';
import { requireTemplate } from '../observe/find.ts';
import { resolveFolder } from '../observe/place.ts';
import type { Placement } from '../wish.ts';

/** Records on a template that something points at it; see `TemplateStore.hold`. */
export async function holdTemplate(
  vcenter: VCenter,
  placement: Placement,
  reference: string,
  what: string,
  call: CallOptions,
): Promise<void> {
  const folder = await resolveFolder(vcenter, placement, call);
  const vm = await requireTemplate(vcenter, placement, folder, reference, call);
  try {
    await recordPointer(vcenter, vm, { what, points: true, now: await vcenter.currentTime(call) }, call);
  } catch (error) {
    throw failure('VCENTER_FAILED', 'record who points at the template', vm.name, error);
  }
}

/** Records that something points no longer at any template of the folder, but for one; see `TemplateStore.release`. */
export async function releaseTemplates(
  vcenter: VCenter,
  folder: MoRef,
  what: string,
  except: string | undefined,
  call: CallOptions,
): Promise<readonly string[]> {
  const children = await vcenter.children(folder, call).catch((error: unknown) => {
    throw readFailure('list the templates of', folder.value, error);
  });
  const held = children.filter(
    (vm) => vm.name !== except && readPointers(vm).named.some((pointer) => pointer.what === pointerName(what)),
  );
  for (const vm of held) {
    try {
      await recordPointer(vcenter, vm, { what, points: false, now: await vcenter.currentTime(call) }, call);
    } catch (error) {
      throw failure('VCENTER_FAILED', 'record who points at the template', vm.name, error);
    }
  }
  return held.map(({ name }) => name);
}
