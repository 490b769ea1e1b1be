import type { VmSummary } from '@drydock/vsphere';
import type { Ports } from '../act/ports.ts';
import { recordOwnership } from '../act/prove.ts';
import { digestOf } from '../decide/world.ts';
import { TemplateError } from '../errors.ts';
import { failure } from '../failure.ts';
import type { AdoptRequest, ListedTemplate } from '../library.ts';
import { CONTENT_KEY } from '../mark/birth-mark.ts';
import type { Content } from '../mark/ledger.ts';
import type { RecordKind } from '../mark/ownership-record.ts';
import { contentOf, otherRelease, readMark, testimonyOf } from '../mark.ts';
import { requireTemplate } from '../observe/find.ts';
import { machineOf, type Scope, tamperingOf } from '../observe/observe.ts';
import type { PlannedOptions } from '../store.ts';
import { listed } from './list.ts';

/** What an adoption would do. */
export interface Adoption {
  readonly vm: VmSummary;
  /** The ownership record that is written; undefined: it is owned and recorded here already. */
  readonly claim: { readonly kind: RecordKind; readonly mark: Content } | undefined;
  readonly world: string;
}

/** Records that a template is owned; see `TemplateStore.adopt`. It stays a template all the time. */
export async function adoptTemplate(
  ports: Ports,
  scope: Scope,
  request: AdoptRequest,
  options: PlannedOptions,
): Promise<ListedTemplate> {
  const { vcenter, witnesses } = ports;
  const { vm, claim, world } = await prepareAdoption(ports, scope, request, options);
  if (options.expectWorld !== undefined && options.expectWorld !== world) {
    const message = `${vm.name} has changed since the plan to adopt it was made`;
    throw new TemplateError({ code: 'WORLD_MOVED', message });
  }
  if (claim !== undefined) {
    const role = claim.kind === 'adopted' ? { role: 'adopted' as const } : {};
    await recordOwnership(vcenter, vm, claim.kind, claim.mark, witnesses, options, role).catch((error: unknown) => {
      throw failure('VCENTER_FAILED', 'record ownership of the template', vm.name, error);
    });
  }
  const seen = await vcenter.vm(vm.ref, options);
  const line = seen === undefined ? undefined : listed(seen, scope.folder, request.owner, witnesses);
  if (line?.owner === request.owner) return line;
  const message = `failed to record ownership of the template: ${vm.name} has no readable record although vCenter took it`;
  throw new TemplateError({ code: 'VCENTER_FAILED', message, retriable: true });
}

/** Looks, and refuses what cannot be adopted. */
export async function prepareAdoption(
  { vcenter, witnesses }: Ports,
  { folder }: Scope,
  request: AdoptRequest,
  options: PlannedOptions,
): Promise<Adoption> {
  const { owner, placement, reference } = request;
  const vm = await requireTemplate(vcenter, placement, folder, reference, options);
  const reader = { owner, witnesses };
  const world = digestOf([machineOf(vm, folder, reader)]);
  const refuse = (
    code: 'POWERED_ON' | 'NOT_A_TEMPLATE' | 'FOREIGN_OWNER' | 'NOT_OURS' | 'VCENTER_FAILED',
    why: string,
  ): TemplateError => new TemplateError({ code, message: `${vm.name} (${vm.ref.value}) ${why}` });
  if (!vm.isTemplate && vm.powerState !== 'poweredOff')
    throw refuse('POWERED_ON', 'is a machine that is not powered off');
  if (!vm.isTemplate) throw refuse('NOT_A_TEMPLATE', 'is a machine, not a template');
  const testimony = testimonyOf(vm, witnesses);
  if (testimony.identity === undefined)
    throw refuse(
      'VCENTER_FAILED',
      'has no creation date or instance UUID, without which it cannot be told from a copy',
    );
  const reading = readMark(vm, folder, reader, testimony);
  if (reading.kind === 'ours' && reading.mark.owner !== owner)
    throw refuse('FOREIGN_OWNER', `belongs to ${reading.mark.owner}`);
  const { birth, entry } = testimony;
  const tampered = tamperingOf(vm, reading, testimony) !== undefined;
  if (reading.kind === 'ours' && entry?.own === true && !reading.renew && !tampered)
    return { vm, claim: undefined, world };
  if (birth !== undefined) {
    const whole = vm.extraConfig.has(CONTENT_KEY) || vm.extraConfig.get('drydock.verified') === birth.digest;
    if (!whole) throw refuse('NOT_OURS', 'is an unfinished import that somebody made a template');
    if (birth.owner !== owner) throw refuse('FOREIGN_OWNER', `belongs to ${birth.owner}`);
    return { vm, claim: { kind: 'imported', mark: contentOf(birth) }, world };
  }
  if (reading.kind === 'ours' && reading.mark.role !== 'adopted')
    return { vm, claim: { kind: 'claimed', mark: contentOf(reading.mark) }, world };
  const release = otherRelease(request.release, vm) ?? vm.productVersion ?? '';
  return {
    vm,
    claim: { kind: 'adopted', mark: { owner, operation: '', digest: '', release, publishes: vm.name } },
    world,
  };
}
