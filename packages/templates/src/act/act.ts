import type { CallOptions, MoRef, VmSummary } from '@drydock/vsphere';
import { mayDestroy } from '../decide/authority.ts';
import { estranged, linkedReason, whyKept } from '../decide/claim.ts';
import type { Act, Machine, Step } from '../decide/machine.ts';
import { TemplateError } from '../errors.ts';
import { fingerprintOf, hasRun, sameDisks } from '../fingerprint.ts';
import { type Said, writeStatement } from '../mark/statement.ts';
import { readMark } from '../mark.ts';
import { linkedMachines, NO_LINKS } from '../observe/links.ts';
import { machineOf, type Scope } from '../observe/observe.ts';
import { RECORD_ATTRIBUTE, readRecord, writeRecord } from '../record.ts';
import type { TemplateWish } from '../wish.ts';
import { finishImport, type ImportOptions, importTemplate, witnessesOf } from './import.ts';
import { expectFree } from './obstacle.ts';
import type { Ports } from './ports.ts';
import { swapNames } from './rename-pair.ts';

/** What acting needs besides the step. */
export interface ActContext extends Scope {
  readonly ports: Ports;
  readonly owner: string;
  /** Absent for a revert, which imports nothing. */
  readonly wish?: TemplateWish;
  readonly importing: Omit<ImportOptions, 'folder' | 'attempt' | 'signal'>;
  /** Asked right before the first rename of a swap, with the name under which the other template is complete. */
  readonly beforeRename?: (name: string) => Promise<void>;
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
    case 'finish':
      context.importing.onProgress?.({ step: 'Publishing' });
      await finishImport(context.ports, context.folder, step.ref, stableNameOf(context), call);
      return {};
    case 'markAsTemplate':
      context.importing.onProgress?.({ step: 'Publishing' });
      await makeTemplate(context, step, call);
      return {};
    case 'record': {
      await recordTemplate(context, step, call);
      const vm = await vcenter.vm(step.ref, call);
      if (vm?.name !== step.name || !vm.isTemplate || readRecord(vm)?.state === 'template') return {};
      const message = `failed to record what ${step.name} consists of: vCenter did not keep the attribute ${RECORD_ATTRIBUTE}`;
      throw new TemplateError({ code: 'ATTRIBUTE_CUT', message });
    }
    case 'attachTags':
      await vcenter.tags.attach(step.ref, step.tagIds, call);
      return {};
    case 'intend':
      await say(context, step, step.mark.instanceUuid, { ...step.mark, role: 'staged', replaces: step.replaces }, call);
      return {};
    case 'retire': {
      const { instanceUuid, publishes, by, release } = step;
      // What nobody has recorded yet was not made by us, or by one that died.
      await recordTemplate(context, step, call);
      const at = (await vcenter.currentTime(call)).toISOString();
      const { owner } = context;
      await say(context, step, instanceUuid, { owner, role: 'retired', at, by, publishes, release }, call);
      return {};
    }
    case 'rename': {
      const vm = await vcenter.vm(step.ref, call);
      if (vm?.name !== step.name || !vm.isTemplate) return {};
      await expectFree(vcenter, step, 'Rename_Task', call);
      await vcenter.rename(step.ref, step.to, call);
      return {};
    }
    case 'swap':
      return swapNames(context.ports, context.folder, step, call, context.beforeRename);
    case 'destroy':
      await destroyStale(context, step, call);
      return {};
  }
}

/** Attributes may be set on templates at any time, so the machine is only asked whether it still is the one that was meant. */
async function say(
  { ports }: ActContext,
  { ref, name }: { readonly ref: MoRef; readonly name: string },
  instanceUuid: string,
  said: Said,
  call: CallOptions,
): Promise<void> {
  const { vcenter } = ports;
  const vm = await vcenter.vm(ref, call);
  if (vm?.name === name && vm.isTemplate && (vm.instanceUuid ?? '') === instanceUuid)
    await writeStatement(vcenter, vm, said, witnessesOf(ports).keys, call);
}

/** Before and after: who finds a machine that was about to become one cannot tell whether it ever was. */
async function makeTemplate(
  context: ActContext,
  { ref, name }: { readonly ref: MoRef; readonly name: string },
  call: CallOptions,
): Promise<void> {
  const { vcenter } = context.ports;
  const before = await vcenter.vm(ref, call);
  if (before?.name !== name) return;
  if (before.isTemplate || estranged(machineNow(before, context)) !== undefined) return;
  await writeRecord(vcenter, before, 'marking', call);
  await vcenter.markAsTemplate(ref, call);
  const after = await vcenter.vm(ref, call);
  if (after === undefined) return;
  // vCenter may settle something of its own accord. Somebody may also have made a machine of it again at once, even run it: it was a template all the same, and the one of before.
  const settled = after.isTemplate && hasRun(after) === hasRun(before) && sameDisks(before, after);
  await writeRecord(vcenter, after, 'template', call, fingerprintOf(settled ? after : before));
}

/** Records what a template consists of, unless that is recorded, or is not what it was. */
async function recordTemplate(
  context: ActContext,
  { ref, name }: { readonly ref: MoRef; readonly name: string },
  call: CallOptions,
): Promise<void> {
  const { vcenter } = context.ports;
  const vm = await vcenter.vm(ref, call);
  if (vm?.name !== name || !vm.isTemplate || readRecord(vm)?.state === 'template') return;
  if (estranged(machineNow(vm, context)) === undefined) await writeRecord(vcenter, vm, 'template', call);
}

/** A machine as it is now. Who imports does not matter to what is done to it. */
function machineNow(vm: VmSummary, { folder, owner, ports }: ActContext): Machine {
  const nobody = { holder: '', holderIsLive: () => undefined, running: new Set<string>() };
  return machineOf(vm, folder, { ...nobody, owner, witnesses: witnessesOf(ports) });
}

function stableNameOf({ wish }: ActContext): string | undefined {
  return wish?.publication?.kind === 'swap' ? wish.publication.name : undefined;
}

async function destroyStale(
  context: ActContext,
  step: Extract<Step, { kind: 'destroy' }>,
  call: CallOptions,
): Promise<void> {
  const { vcenter } = context.ports;
  await expectFree(vcenter, step, 'Destroy_Task', call);
  const vm = await vcenter.vm(step.ref, call);
  if (vm === undefined || vm.name !== step.name) return;
  const still = step.marked ? isStillUnfinished(vm, context, step) : await isStillLeftover(vm, context, call);
  if (still) await vcenter.destroy(step.ref, call);
}

/** Since the observation it may have been finished, or become another thing, or the reference may mean something else. */
function isStillUnfinished(vm: VmSummary, context: ActContext, step: Extract<Step, { kind: 'destroy' }>): boolean {
  const machine = machineNow(vm, context);
  const { mark } = machine;
  if (mark === undefined || mark.instanceUuid !== step.instanceUuid || machine.busy) return false;
  const kept = whyKept({ ...machine, mark });
  return kept === undefined && mayDestroy(machine).may && (step.finished || !machine.verified);
}

async function isStillLeftover(
  vm: VmSummary,
  { ports, folder, datacenter }: ActContext,
  call: CallOptions,
): Promise<boolean> {
  if (readMark(vm, folder).kind !== 'none' || vm.parent?.value !== folder.value) return false;
  if (vm.unreadable !== undefined || vm.activeTasks.length > 0) return false;
  if (!vm.isTemplate && (vm.powerState !== 'poweredOff' || hasRun(vm))) return false;
  const links = await linkedMachines(ports.vcenter, datacenter, [vm], call);
  return linkedReason(links.get(vm) ?? NO_LINKS) === undefined;
}
