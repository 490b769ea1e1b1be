import type { VCenter, VmSummary } from '@drydock/vsphere';
import { digestOf } from '../decide/world.ts';
import { TemplateError } from '../errors.ts';
import { failure } from '../failure.ts';
import type { AdoptRequest, ListedTemplate } from '../library.ts';
import { MARK_ATTRIBUTE, markAttribute, readMark } from '../mark.ts';
import { requireTemplate } from '../observe/find.ts';
import { machineOf, type Scope } from '../observe/observe.ts';
import type { PlannedOptions } from '../store.ts';
import { listed } from './list.ts';

/** What an adoption would do. */
export interface Adoption {
  readonly vm: VmSummary;
  /** undefined: it is ours already. */
  readonly attribute: string | undefined;
  readonly world: string;
}

/** Marks a template by a custom attribute; see `TemplateStore.adopt`. It stays a template all the time. */
export async function adoptTemplate(
  vcenter: VCenter,
  scope: Scope,
  request: AdoptRequest,
  options: PlannedOptions,
): Promise<ListedTemplate> {
  const call = options.signal === undefined ? {} : { signal: options.signal };
  const { vm, attribute, world } = await prepareAdoption(vcenter, scope, request, options);
  if (options.expectWorld !== undefined && options.expectWorld !== world) {
    const message = `${vm.name} has changed since the plan to adopt it was made`;
    throw new TemplateError({ code: 'WORLD_MOVED', message });
  }
  if (attribute !== undefined) {
    await vcenter.setCustomValue(vm.ref, MARK_ATTRIBUTE, attribute, call).catch((error: unknown) => {
      throw failure('VCENTER_FAILED', 'mark the template', vm.name, error);
    });
  }
  const seen = await vcenter.vm(vm.ref, call);
  const line = seen === undefined ? undefined : listed(seen, scope.folder, request.owner);
  if (line?.owner === request.owner) return line;
  const message = `failed to mark the template: ${vm.name} does not bear the mark although vCenter took it`;
  throw new TemplateError({ code: 'VCENTER_FAILED', message, retriable: true });
}

/** Looks, and refuses what cannot be adopted. */
export async function prepareAdoption(
  vcenter: VCenter,
  { folder }: Scope,
  request: AdoptRequest,
  options: PlannedOptions,
): Promise<Adoption> {
  const call = options.signal === undefined ? {} : { signal: options.signal };
  const { owner, placement, reference } = request;
  const vm = await requireTemplate(vcenter, placement, folder, reference, call);
  const world = digestOf([machineOf(vm, folder, { holder: '', holderIsLive: () => undefined, running: new Set() })]);
  const refuse = (code: 'POWERED_ON' | 'NOT_A_TEMPLATE' | 'FOREIGN_OWNER', why: string): TemplateError =>
    new TemplateError({ code, message: `${vm.name} (${vm.ref.value}) ${why}` });
  if (!vm.isTemplate && vm.powerState !== 'poweredOff')
    throw refuse('POWERED_ON', 'is a machine that is not powered off');
  if (!vm.isTemplate) throw refuse('NOT_A_TEMPLATE', 'is a machine, not a template');
  const reading = readMark(vm, folder);
  if (reading.kind === 'ours' && reading.mark.owner !== owner)
    throw refuse('FOREIGN_OWNER', `belongs to ${reading.mark.owner}`);
  if (reading.kind === 'ours' && reading.verified) return { vm, attribute: undefined, world };
  const attribute = markAttribute({
    instanceUuid: vm.instanceUuid ?? '',
    owner,
    role: 'adopted',
    publishes: vm.name,
    release: request.release ?? vm.productVersion ?? '',
  });
  return { vm, attribute, world };
}
