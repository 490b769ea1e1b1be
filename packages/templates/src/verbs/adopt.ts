import type { VmSummary } from '@drydock/vsphere';
import { witnessesOf } from '../act/import.ts';
import type { Ports } from '../act/ports.ts';
import { digestOf } from '../decide/world.ts';
import { TemplateError } from '../errors.ts';
import { failure } from '../failure.ts';
import type { AdoptRequest, ListedTemplate } from '../library.ts';
import { renewProof, type Said, writeStatement } from '../mark/statement.ts';
import { isBorn, type Mark, type MarkReading, readMark, VERIFIED_KEY } from '../mark.ts';
import { requireTemplate } from '../observe/find.ts';
import { machineOf, type Scope, tamperingOf } from '../observe/observe.ts';
import { readRecord, writeRecord } from '../record.ts';
import type { PlannedOptions } from '../store.ts';
import { listed } from './list.ts';

/** What an adoption would do. */
export interface Adoption {
  readonly vm: VmSummary;
  /** undefined: it is ours already. */
  readonly said: Said | undefined;
  /** An import of the owner's that nothing proves, which a person says is ours: its proof is written. */
  readonly prove: Mark | undefined;
  /** What it consists of is recorded as it is now: who adopts it says that this is what it should be. */
  readonly record: boolean;
  readonly world: string;
}

/** Marks a template by a custom attribute; see `TemplateStore.adopt`. It stays a template all the time. */
export async function adoptTemplate(
  ports: Ports,
  scope: Scope,
  request: AdoptRequest,
  options: PlannedOptions,
): Promise<ListedTemplate> {
  const { vcenter } = ports;
  const call = options.signal === undefined ? {} : { signal: options.signal };
  const { vm, said, prove, record, world } = await prepareAdoption(ports, scope, request, options);
  if (options.expectWorld !== undefined && options.expectWorld !== world) {
    const message = `${vm.name} has changed since the plan to adopt it was made`;
    throw new TemplateError({ code: 'WORLD_MOVED', message });
  }
  const witnesses = witnessesOf(ports);
  if (prove !== undefined) await renewProof(vcenter, vm, prove, witnesses.keys, call);
  if (said !== undefined) {
    await writeStatement(vcenter, vm, said, witnesses.keys, call).catch((error: unknown) => {
      throw failure('VCENTER_FAILED', 'mark the template', vm.name, error);
    });
  }
  if (record) await writeRecord(vcenter, vm, 'template', call);
  const seen = await vcenter.vm(vm.ref, call);
  const line = seen === undefined ? undefined : listed(seen, scope.folder, request.owner, witnesses);
  if (line?.owner === request.owner) return line;
  const message = `failed to mark the template: ${vm.name} does not bear the mark although vCenter took it`;
  throw new TemplateError({ code: 'VCENTER_FAILED', message, retriable: true });
}

/** Looks, and refuses what cannot be adopted. */
export async function prepareAdoption(
  ports: Ports,
  { folder }: Scope,
  request: AdoptRequest,
  options: PlannedOptions,
): Promise<Adoption> {
  const call = options.signal === undefined ? {} : { signal: options.signal };
  const { owner, placement, reference } = request;
  const witnesses = witnessesOf(ports);
  const vm = await requireTemplate(ports.vcenter, placement, folder, reference, call);
  const reader = { owner, witnesses };
  const world = digestOf([
    machineOf(vm, folder, { ...reader, holder: '', holderIsLive: () => undefined, running: new Set() }),
  ]);
  const refuse = (code: 'POWERED_ON' | 'NOT_A_TEMPLATE' | 'FOREIGN_OWNER' | 'NOT_OURS', why: string): TemplateError =>
    new TemplateError({ code, message: `${vm.name} (${vm.ref.value}) ${why}` });
  if (!vm.isTemplate && vm.powerState !== 'poweredOff')
    throw refuse('POWERED_ON', 'is a machine that is not powered off');
  if (!vm.isTemplate) throw refuse('NOT_A_TEMPLATE', 'is a machine, not a template');
  const reading = readMark(vm, folder, reader);
  const record = readRecord(vm)?.state !== 'template' || tamperingOf(vm, reading) !== undefined;
  if (reading.kind === 'ours' && reading.mark.owner !== owner)
    throw refuse('FOREIGN_OWNER', `belongs to ${reading.mark.owner}`);
  if (reading.kind === 'ours' && reading.verified) {
    // Adopted before there was a key: now there is one.
    const bare = !reading.born && reading.proof === 'none' && witnesses.keys.current !== undefined;
    if (!bare) return { vm, said: undefined, prove: undefined, record, world };
  }
  if (isBorn(vm)) {
    const { mark } = reading as Extract<MarkReading, { kind: 'invalid' }>;
    const whole = mark.digest !== '' && vm.extraConfig.get(VERIFIED_KEY) === mark.digest;
    if (!whole) throw refuse('NOT_OURS', 'is an unfinished import that somebody made a template');
    if (mark.owner !== owner) throw refuse('FOREIGN_OWNER', `belongs to ${mark.owner}`);
    return { vm, said: undefined, prove: mark, record, world };
  }
  return {
    ...{ vm, world, record, prove: undefined },
    said: { owner, role: 'adopted', publishes: vm.name, release: request.release },
  };
}
