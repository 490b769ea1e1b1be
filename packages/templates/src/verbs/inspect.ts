import type { CallOptions, VCenter } from '@drydock/vsphere';
import { estranged } from '../decide/claim.ts';
import { TemplateError } from '../errors.ts';
import type { Witnesses } from '../mark/witness.ts';
import { readMark } from '../mark.ts';
import { findTemplate } from '../observe/find.ts';
import { machineOf } from '../observe/observe.ts';
import { resolveFolder } from '../observe/place.ts';
import type { TemplateState } from '../store.ts';
import type { Placement } from '../wish.ts';

/** What a reference stands for in the placement's folder; see `TemplateStore.inspect`. */
export async function inspectTemplate(
  vcenter: VCenter,
  placement: Placement,
  reference: string,
  witnesses: Witnesses,
  call: CallOptions,
): Promise<TemplateState> {
  const folder = await resolveFolder(vcenter, placement, call);
  const vm = await findTemplate(vcenter, placement, folder, reference, call);
  if (vm === undefined) return { kind: 'absent' };
  if (vm.unreadable !== undefined) {
    const message = `what ${reference} is cannot be told (${vm.ref.value}): ${vm.unreadable}`;
    throw new TemplateError({ code: 'TEMPLATE_UNREADABLE', message, retriable: true });
  }
  const reader = { owner: undefined, witnesses };
  const reading = readMark(vm, folder, reader);
  const foreign = estranged(machineOf(vm, folder, reader));
  const ours = reading.kind === 'ours';
  // An OVA may have another product version than the release that it was published as, or none.
  const marked = ours && reading.verified && reading.mark.release !== '' ? reading.mark.release : undefined;
  const digest = ours && reading.verified ? reading.mark.digest : '';
  return {
    kind: 'present',
    name: vm.name,
    version: marked ?? vm.productVersion,
    ...(digest === '' ? {} : { digest }),
    isTemplate: vm.isTemplate,
    ours,
    ...(foreign === undefined ? {} : { estranged: foreign }),
  };
}
