import type { CallOptions, VCenter, VmSummary } from '@drydock/vsphere';
import { isTemplateError, reasonOf } from '../errors.ts';
import type { Verification, VerificationCheck } from '../library.ts';
import type { Witnesses } from '../mark/witness.ts';
import { type MarkReading, readMark } from '../mark.ts';
import { requireTemplate } from '../observe/find.ts';
import { resolveFolder, resolvePlace } from '../observe/place.ts';
import type { Placement } from '../wish.ts';
import { roleOf } from './list.ts';

/** Checks one template; see `TemplateStore.verify`. Everything is read, nothing is believed from before. */
export async function verifyTemplate(
  vcenter: VCenter,
  placement: Placement,
  reference: string,
  witnesses: Witnesses,
  options: CallOptions & { readonly tagIds?: readonly string[] },
): Promise<Verification> {
  const folder = await resolveFolder(vcenter, placement, options);
  const vm = await requireTemplate(vcenter, placement, folder, reference, options);
  const reading = readMark(vm, folder, { owner: undefined, witnesses });
  const checks = [
    markCheck(vm, reading),
    digestCheck(reading),
    check('template', vm.isTemplate, vm.isTemplate ? 'it is a template' : 'it is a machine', 'Make it a template.'),
    await tagsCheck(vcenter, vm, options.tagIds ?? [], options),
    await hostsCheck(vcenter, placement, options),
    tasksCheck(vm),
  ];
  return { name: vm.name, checks, ok: checks.every(({ ok }) => ok) };
}

function check(name: VerificationCheck['name'], ok: boolean, detail: string, next?: string): VerificationCheck {
  return { name, ok, detail, ...(ok || next === undefined ? {} : { next }) };
}

const PROOFS = {
  keyed: 'proven by its ownership record',
  recorded: 'proven by the ledger',
  here: 'imported by this process',
  noted: 'imported from here, but without a key nothing proves it: it is never removed',
  none: 'not proven: without a key it is never removed',
} as const;

function markCheck(vm: VmSummary, reading: MarkReading): VerificationCheck {
  switch (reading.kind) {
    case 'none':
      return check('mark', false, 'it bears no mark', 'Adopt it to bring it under management.');
    case 'invalid':
      return check('mark', false, `its mark does not count: ${reading.reason}`, 'Adopt it if it is what it should be.');
    case 'ours': {
      const { mark, proof } = reading;
      const role = roleOf(vm, reading, mark.owner) ?? 'unknown';
      return check('mark', true, `it belongs to ${mark.owner} (${role}), ${PROOFS[proof]}`);
    }
  }
}

function digestCheck(reading: MarkReading): VerificationCheck {
  if (reading.kind !== 'ours') return check('digest', false, 'no digest is recorded', 'Publish it.');
  const { mark, verified } = reading;
  if (mark.digest === '') return check('digest', true, 'made by hand: no digest is known');
  if (verified) return check('digest', true, `every byte of sha256 ${mark.digest} was acknowledged`);
  return check('digest', false, 'its import was never finished', 'Publish again: it is finished or removed.');
}

async function tagsCheck(
  vcenter: VCenter,
  vm: VmSummary,
  tagIds: readonly string[],
  call: CallOptions,
): Promise<VerificationCheck> {
  if (tagIds.length === 0) return check('tags', true, 'no tags were asked for');
  try {
    const attached = await vcenter.tags.attached(vm.ref, call);
    const missing = tagIds.filter((id) => !attached.includes(id));
    const said = missing.length === 0 ? `all ${tagIds.length} attached` : `not attached: ${missing.join(', ')}`;
    return check('tags', missing.length === 0, said, 'Publish again: missing tags are attached.');
  } catch (error) {
    call.signal?.throwIfAborted();
    return check('tags', false, reasonOf(error), 'Look at the cause.');
  }
}

async function hostsCheck(vcenter: VCenter, placement: Placement, call: CallOptions): Promise<VerificationCheck> {
  try {
    const { hosts } = await resolvePlace(vcenter, placement, call);
    return check('hosts', true, `${hosts.length} can run its clones: ${hosts.map(({ name }) => name).join(', ')}`);
  } catch (error) {
    call.signal?.throwIfAborted();
    if (isTemplateError(error)) return check('hosts', false, error.text, error.next);
    return check('hosts', false, reasonOf(error), 'Look at the cause.');
  }
}

function tasksCheck({ activeTasks }: VmSummary): VerificationCheck {
  const names = activeTasks.map(({ descriptionId }) => descriptionId);
  return check(
    'tasks',
    names.length === 0,
    names.length === 0 ? 'none runs' : `${names.join(', ')} runs`,
    'Wait for it.',
  );
}
