import type { CallOptions, MoRef, VmSummary } from '@drydock/vsphere';
import type { Act, Step } from '../decide/machine.ts';
import { type Said, writeStatement } from '../mark/statement.ts';
import { NO_WITNESSES } from '../mark/witness.ts';
import { readMark, VERIFIED_KEY } from '../mark.ts';
import { linkedMachines } from '../observe/links.ts';
import type { Scope } from '../observe/observe.ts';
import type { TemplateWish } from '../wish.ts';
import { type ImportOptions, importTemplate, type Ports } from './import.ts';
import { swapNames } from './rename-pair.ts';

/** What acting needs besides the step. */
export interface ActContext extends Scope {
  readonly ports: Ports;
  readonly owner: string;
  /** Absent for a revert, which imports nothing. */
  readonly wish?: TemplateWish;
  readonly importing: Omit<ImportOptions, 'folder' | 'attempt' | 'signal'>;
}

/** What the caller learns of a step. */
export interface Effect {
  readonly absentMs?: number;
}

/** Does one step. Each looks again first: since the observation somebody may have done it, or the world may be another one. */
export async function act(context: ActContext, step: Act, call: CallOptions): Promise<Effect> {
  const { vcenter } = context.ports;
  switch (step.kind) {
    case 'import': {
      if (context.wish === undefined) throw new TypeError('a revert imports nothing');
      const { folder, importing, ports } = context;
      await importTemplate(ports, context.wish, { ...importing, folder, attempt: step.attempt, ...call });
      return {};
    }
    case 'markAsTemplate':
      context.importing.onProgress?.({ step: 'Publishing' });
      await vcenter.markAsTemplate(step.ref, call);
      return {};
    case 'attachTags':
      await vcenter.tags.attach(step.ref, step.tagIds, call);
      return {};
    case 'intend':
      await say(context, step, step.mark.instanceUuid, { ...step.mark, role: 'staged', replaces: step.replaces }, call);
      return {};
    case 'retire': {
      const { instanceUuid, publishes, by, release } = step;
      const at = (await vcenter.currentTime(call)).toISOString();
      const { owner } = context;
      await say(context, step, instanceUuid, { owner, role: 'retired', at, by, publishes, release }, call);
      return {};
    }
    case 'rename': {
      const vm = await vcenter.vm(step.ref, call);
      if (vm?.name === step.name) await vcenter.rename(step.ref, step.to, call);
      return {};
    }
    case 'swap':
      return swapNames(vcenter, context.folder, step, call);
    case 'destroy':
      await destroyStale(context, step, call);
      return {};
  }
}

/** Attributes may be set on templates at any time, so the machine is only asked whether it still is the one that was meant. */
async function say(
  { ports: { vcenter, witnesses = NO_WITNESSES } }: ActContext,
  { ref, name }: { readonly ref: MoRef; readonly name: string },
  instanceUuid: string,
  said: Said,
  call: CallOptions,
): Promise<void> {
  const vm = await vcenter.vm(ref, call);
  if (vm?.name === name && vm.isTemplate && (vm.instanceUuid ?? '') === instanceUuid)
    await writeStatement(vcenter, vm, said, witnesses.keys, call);
}

async function destroyStale(
  context: ActContext,
  step: Extract<Step, { kind: 'destroy' }>,
  call: CallOptions,
): Promise<void> {
  const { vcenter } = context.ports;
  const vm = await vcenter.vm(step.ref, call);
  if (vm === undefined || vm.name !== step.name) return;
  const still = step.marked ? isStillUnfinished(vm, context, step) : await isStillLeftover(vm, context, call);
  if (still) await vcenter.destroy(step.ref, call);
}

/** Since the observation it may have been finished, or the reference may mean something else. */
function isStillUnfinished(
  vm: VmSummary,
  { folder, owner, ports: { witnesses = NO_WITNESSES } }: ActContext,
  step: Extract<Step, { kind: 'destroy' }>,
): boolean {
  const reading = readMark(vm, folder, { owner, witnesses });
  const unchanged =
    reading.kind === 'ours' &&
    reading.proof !== 'none' &&
    reading.mark.instanceUuid === step.instanceUuid &&
    !vm.isTemplate;
  return unchanged && (step.finished || !vm.extraConfig.has(VERIFIED_KEY));
}

async function isStillLeftover(
  vm: VmSummary,
  { ports, folder, datacenter }: ActContext,
  call: CallOptions,
): Promise<boolean> {
  if (readMark(vm, folder).kind !== 'none' || vm.parent?.value !== folder.value) return false;
  if (vm.activeTasks.length > 0 || !(vm.isTemplate || vm.powerState === 'poweredOff')) return false;
  const linked = await linkedMachines(ports.vcenter, datacenter, [vm], call);
  return linked.get(vm)?.length === 0;
}
