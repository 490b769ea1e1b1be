import type { CallOptions, MoRef, VmSummary } from '@drydock/vsphere';
import { mayDestroy } from '../decide/authority.ts';
import { estranged, linkedReason, whyKept } from '../decide/claim.ts';
import type { Act, Machine, Step } from '../decide/machine.ts';
import { TemplateError } from '../errors.ts';
import { fingerprintOf, hasRun, sameMachine, versionOf } from '../fingerprint.ts';
import { contentOf, readMark, testimonyOf } from '../mark.ts';
import { linkedMachines, NO_LINKS } from '../observe/links.ts';
import { machineOf, type Scope } from '../observe/observe.ts';
import type { TemplateWish } from '../wish.ts';
import { finishImport, type ImportOptions, importTemplate } from './import.ts';
import { expectFree } from './obstacle.ts';
import type { Ports } from './ports.ts';
import { recordOwnership, renewRecord } from './prove.ts';
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
  const { vcenter, witnesses } = context.ports;
  await witnesses.ledger.load();
  switch (step.kind) {
    case 'import': {
      if (context.wish === undefined) throw new TypeError('a revert imports nothing');
      const { folder, importing, ports } = context;
      await importTemplate(ports, context.wish, { ...importing, folder, attempt: step.attempt, ...call });
      return {};
    }
    case 'finish':
      context.importing.onProgress?.({ step: 'Publishing' });
      await finishImport(context.ports, step.ref, call);
      return {};
    case 'markAsTemplate':
      context.importing.onProgress?.({ step: 'Publishing' });
      await makeTemplate(context, step, call);
      return {};
    case 'record': {
      const vm = await vcenter.vm(step.ref, call);
      if (vm?.name === step.name && vm.isTemplate && machineNow(vm, context).renew)
        await renewRecord(vcenter, vm, witnesses, call);
      return {};
    }
    case 'attachTags':
      await vcenter.tags.attach(step.ref, step.tagIds, call);
      return {};
    case 'intend':
      await intend(context, step, call);
      return {};
    case 'retire': {
      const at = (await vcenter.currentTime(call)).toISOString();
      await note(context, step, { role: 'retired', at, other: step.by }, call);
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

/** Before a swap: the template that goes is owned, and the ledger has what the one that comes replaces. */
async function intend(context: ActContext, step: Extract<Act, { kind: 'intend' }>, call: CallOptions): Promise<void> {
  const { vcenter, witnesses } = context.ports;
  const { old, publishes } = step;
  if (old.claim) {
    const vm = await vcenter.vm(old.ref, call);
    if (vm?.name !== old.name || !vm.isTemplate || testimonyOf(vm, witnesses).key !== old.key) return;
    const { mark } = machineNow(vm, context);
    const { productVersion: release = '' } = vm;
    const before = mark ?? { operation: '', digest: '', release };
    const content = contentOf({ ...before, owner: context.owner, publishes });
    const kind = testimonyOf(vm, witnesses).birth === undefined ? 'claimed' : 'imported';
    if (!(await recordOwnership(vcenter, vm, kind, content, witnesses, call))) {
      const message = `${vm.name} cannot be put away: vCenter gives it no creation date and instance UUID`;
      throw new TemplateError({ code: 'VCENTER_FAILED', message });
    }
  }
  await note(context, step, { role: 'staged', other: old.key }, call, publishes);
}

/** Notes in the ledger what became of an owned template, if it still is the one that was meant. */
async function note(
  context: ActContext,
  { ref, name }: { readonly ref: MoRef; readonly name: string },
  said: { readonly role: 'staged' | 'retired'; readonly at?: string; readonly other: string },
  call: CallOptions,
  publishes?: string,
): Promise<void> {
  const { vcenter, witnesses } = context.ports;
  const vm = await vcenter.vm(ref, call);
  if (vm?.name !== name || !vm.isTemplate) return;
  const { mark, own, key } = machineNow(vm, context);
  if (mark === undefined) return;
  const content = { ...contentOf(mark), ...(publishes === undefined ? {} : { publishes }) };
  await witnesses.ledger.change(key, (now) => ({ stage: 'template', own, ...now, ...said, mark: content }));
}

/** Before and after, in the ledger: who finds a machine that was about to become one cannot tell whether it ever was. */
async function makeTemplate(
  context: ActContext,
  { ref, name }: { readonly ref: MoRef; readonly name: string },
  call: CallOptions,
): Promise<void> {
  const { vcenter, witnesses } = context.ports;
  const { ledger } = witnesses;
  const before = await vcenter.vm(ref, call);
  if (before?.name !== name || before.isTemplate) return;
  const { key, mark, own, ...machine } = machineNow(before, context);
  if (mark === undefined || estranged({ ...machine, key, own }) !== undefined) return;
  await ledger.change(key, (now) => now && { ...now, stage: 'marking', version: versionOf(before) });
  await vcenter.markAsTemplate(ref, call);
  const after = await vcenter.vm(ref, call);
  if (after === undefined) return;
  // vCenter may settle something of its own accord. Somebody may also have made a machine of it again at once, even run it: it was a template all the same, and the one of before.
  const settled = after.isTemplate && hasRun(after) === hasRun(before) && sameMachine(before, after);
  const fingerprint = fingerprintOf(settled ? after : before);
  const changed = ledger.get(key)?.fingerprint !== fingerprint;
  await ledger.change(key, (now) => now && { ...now, stage: 'template', fingerprint });
  if (changed) await renewRecord(vcenter, after, witnesses, call);
}

/** A machine as it is now. Who imports does not matter to what is done to it. */
function machineNow(vm: VmSummary, { folder, owner, ports }: ActContext): Machine {
  return machineOf(vm, folder, { owner, witnesses: ports.witnesses });
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
  if (!still) return;
  await vcenter.destroy(step.ref, call);
  await context.ports.witnesses.ledger.change(testimonyOf(vm, context.ports.witnesses).key, () => undefined);
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
  if (
    readMark(vm, folder, { owner: undefined, witnesses: ports.witnesses }).kind !== 'none' ||
    vm.parent?.value !== folder.value
  )
    return false;
  if (vm.unreadable !== undefined || vm.activeTasks.length > 0) return false;
  if (!vm.isTemplate && (vm.powerState !== 'poweredOff' || hasRun(vm))) return false;
  const links = await linkedMachines(ports.vcenter, datacenter, [vm], call);
  return linkedReason(links.get(vm) ?? NO_LINKS) === undefined;
}
