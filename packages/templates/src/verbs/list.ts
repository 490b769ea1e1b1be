import type { CallOptions, MoRef, VCenter, VmSummary } from '@drydock/vsphere';
import { estranged } from '../decide/claim.ts';
import type { Machine } from '../decide/machine.ts';
import { readFailure } from '../failure.ts';
import type { ListedTemplate, TemplateRole } from '../library.ts';
import { pointerTexts, readPointers } from '../mark/pointers.ts';
import type { Witnesses } from '../mark/witness.ts';
import { isBorn, keyIdsOf, type Mark, type MarkReading, type Reader, readMark } from '../mark.ts';
import { isUpstreamName, retiredName } from '../names.ts';
import { machineOf } from '../observe/observe.ts';

/** Templates, marked machines and leftovers of a folder, by name; see `TemplateStore.list`. */
export async function listTemplates(
  vcenter: VCenter,
  folder: MoRef,
  owner: string,
  witnesses: Witnesses,
  call: CallOptions,
): Promise<readonly ListedTemplate[]> {
  const children = await vcenter.children(folder, call).catch((error: unknown) => {
    throw readFailure('list the templates of', folder.value, error);
  });
  return children
    .map((vm) => listed(vm, folder, owner, witnesses))
    .filter((one) => one !== undefined)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** One machine as a line; undefined for a machine that has nothing to do with templates. */
export function listed(vm: VmSummary, folder: MoRef, owner: string, witnesses: Witnesses): ListedTemplate | undefined {
  const reader = { owner, witnesses };
  const reading = readMark(vm, folder, reader);
  const pointers = pointerTexts(readPointers(vm));
  const mark = reading.kind === 'ours' ? reading.mark : undefined;
  const machine = machineOf(vm, folder, reader);
  const role = estrangedRole(machine, vm, folder, reader) ?? roleOf(vm, reading, owner);
  if (role === undefined) return undefined;
  const why = reasonOf(role, machine, reading);
  return {
    name: vm.name,
    instanceUuid: vm.instanceUuid ?? '',
    ref: vm.ref,
    ...(mark === undefined || mark.release === '' ? {} : { release: mark.release }),
    ...(vm.productVersion === undefined ? {} : { version: vm.productVersion }),
    ...(mark === undefined || mark.digest === '' ? {} : { digest: mark.digest }),
    ...(mark === undefined ? {} : { owner: mark.owner }),
    role,
    ...(mark?.publishes === undefined ? {} : { stableName: mark.publishes }),
    isTemplate: vm.isTemplate,
    ...(vm.createDate === undefined ? {} : { createdAt: vm.createDate }),
    ...(why === undefined ? {} : { reason: why }),
    ...(reading.kind === 'ours' && mark?.owner === owner ? { proof: reading.proof, keyIds: keyIdsOf(vm) } : {}),
    ...(reading.kind === 'invalid' && reading.unproven === true ? { keyIds: keyIdsOf(vm) } : {}),
    ...(role === 'unproven' && reading.kind === 'invalid' && reading.registeredAgain ? { registeredAgain: true } : {}),
    ...(pointers.length === 0 ? {} : { pointers }),
  };
}

/** What somebody made another thing of, or what nobody can read. A clone's record does not count. */
function estrangedRole(
  { unreadable, isTemplate, past, tampered }: Machine,
  vm: VmSummary,
  folder: MoRef,
  reader: Reader,
): TemplateRole | undefined {
  if (unreadable !== undefined) return isTemplate ? 'unreadable' : undefined;
  if (!isTemplate && past === 'template') return convertedRole(vm, folder, reader);
  return tampered === undefined ? undefined : 'tampered';
}

/** Who may set attributes can write that a machine was a template. It was one of ours where its mark counts, or would if it were off. */
function convertedRole(vm: VmSummary, folder: MoRef, reader: Reader): TemplateRole {
  const reading = readMark({ ...vm, powerState: 'poweredOff' }, folder, reader);
  if (reading.kind === 'ours') return reading.mark.owner === reader.owner ? 'converted' : 'foreign';
  return reading.kind === 'invalid' && reading.unproven === true && isBorn(vm) ? 'unproven' : 'foreign';
}

/** Why a machine is not used, or its mark does not count. */
function reasonOf(role: TemplateRole, machine: Machine, reading: MarkReading): string | undefined {
  if (role === 'foreign' && reading.kind !== 'ours')
    return 'what it bears says that it was a template of ours, and nothing proves it: it is left alone as the machine of somebody else';
  const doubt = reading.kind === 'invalid' ? reading.reason : undefined;
  if (role === 'unproven' || role === 'foreign') return doubt;
  return estranged(machine) ?? doubt;
}

/** What a machine is to `owner`; undefined for one that has nothing to do with templates. */
export function roleOf(vm: VmSummary, reading: MarkReading, owner: string): TemplateRole | undefined {
  if (reading.kind !== 'ours') {
    if (reading.kind === 'invalid' && reading.unproven === true) return 'unproven';
    if (isUpstreamName(vm.name)) return 'leftover';
    return vm.isTemplate ? 'unmarked' : undefined;
  }
  const { mark, verified } = reading;
  if (mark.owner !== owner) return 'foreign';
  if (!verified) return 'unfinished';
  if (!vm.isTemplate) return 'staged';
  return publishedRole(vm.name, mark);
}

function publishedRole(name: string, mark: Mark): TemplateRole {
  if (mark.role === 'adopted') return 'adopted';
  if (mark.publishes === undefined || mark.publishes === name) return 'current';
  const putAway = mark.role === 'retired' || name === retiredName(mark.publishes, mark.instanceUuid);
  return putAway ? 'retired' : 'staged';
}
