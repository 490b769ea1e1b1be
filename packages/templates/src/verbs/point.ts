import type { CallOptions, MoRef, VmSummary } from '@drydock/vsphere';
import type { Ports } from '../act/ports.ts';
import { failure, readFailure } from '../failure.ts';
import { pointerName, readPointers, recordPointer } from '../mark/pointers.ts';
import type { Witnesses } from '../mark/witness.ts';
import { testimonyOf } from '../mark.ts';
import { requireTemplate } from '../observe/find.ts';
import { resolveFolder } from '../observe/place.ts';
import type { Placement } from '../wish.ts';

/** Records on a template that something points at it; see `TemplateStore.hold`. */
export async function holdTemplate(
  { vcenter, witnesses }: Ports,
  placement: Placement,
  reference: string,
  what: string,
  call: CallOptions,
): Promise<void> {
  const folder = await resolveFolder(vcenter, placement, call);
  const vm = await requireTemplate(vcenter, placement, folder, reference, call);
  try {
    await remember(vm, what, true, witnesses);
    await recordPointer(vcenter, vm, { what, points: true, now: await vcenter.currentTime(call) }, call);
  } catch (error) {
    throw failure('VCENTER_FAILED', 'record who points at the template', vm.name, error);
  }
}

/** Records that something points no longer at any template of the folder, but for one; see `TemplateStore.release`. */
export async function releaseTemplates(
  { vcenter, witnesses }: Ports,
  folder: MoRef,
  what: string,
  except: string | undefined,
  call: CallOptions,
): Promise<readonly string[]> {
  const children = await vcenter.children(folder, call).catch((error: unknown) => {
    throw readFailure('list the templates of', folder.value, error);
  });
  const name = pointerName(what);
  const held = children.filter((vm) => {
    const remembered = testimonyOf(vm, witnesses).entry?.holders?.includes(name) === true;
    return vm.name !== except && (remembered || readPointers(vm).named.some((pointer) => pointer.what === name));
  });
  for (const vm of held) {
    try {
      await recordPointer(vcenter, vm, { what, points: false, now: await vcenter.currentTime(call) }, call);
      await remember(vm, what, false, witnesses);
    } catch (error) {
      throw failure('VCENTER_FAILED', 'record who points at the template', vm.name, error);
    }
  }
  return held.map(({ name }) => name);
}

/** The ledger remembers who holds a template: an attribute that somebody empties frees nothing. */
async function remember(vm: VmSummary, what: string, points: boolean, witnesses: Witnesses): Promise<void> {
  const { key, entry } = testimonyOf(vm, witnesses);
  if (entry === undefined) return;
  const name = pointerName(what);
  await witnesses.ledger.change(key, (now) => {
    if (now === undefined) return undefined;
    const others = (now.holders ?? []).filter((one) => one !== name);
    return { ...now, holders: points ? [...others, name] : others };
  });
}
