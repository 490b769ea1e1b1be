import { outcomeUnknown, VimError } from '../errors.ts';
import { refText } from '../foreign-text.ts';
import type { SessionCaller } from '../session/caller.ts';
import { flag, label } from '../soap/decode.ts';
import { checkName, escapeName, unescapeName } from '../soap/names.ts';
import { data, methodBody } from '../soap/schema.ts';
import { refKey } from '../soap/soap.ts';
import type { CallOptions, MoRef, VmChange } from '../vcenter.ts';
import { child, element, referenceOf, typed, type XmlNode, xsd } from '../xml/xml.ts';
import { activeTasks } from './inventory.ts';
import { read, recentTasks } from './vm-summary.ts';

/** What the outcome of an act shows in. */
interface Seen {
  readonly name: string;
  readonly isTemplate: boolean;
}

/** See `VCenter.rename`. Both forms of a collision (DuplicateName, InvalidArgument{name}) are `VIM_NAME_TAKEN`. */
export async function rename(caller: SessionCaller, vm: MoRef, name: string, options?: CallOptions): Promise<void> {
  checkName(`Rename_Task on ${refText(vm)}`, name);
  try {
    await runTask(caller, 'Rename_Task', vm, methodBody('Rename_Task', { newName: escapeName(name) }), options);
  } catch (error) {
    if (!(error instanceof VimError)) throw error;
    const collision = error.fault?.is('DuplicateName') === true || isBadName(error);
    if (!collision && !outcomeUnknown(error)) throw error;
    // VS-T8, VS-T9: who bears the name now decides. Some servers call a rename onto the own name a collision.
    const seen = await look(caller, vm, error, options);
    if (seen?.name === name) return;
    if (!collision) throw notDone(error, vm, seen);
    const message = `${refText(vm)} cannot be named "${name}": another object of its folder bears that name`;
    throw new VimError({
      kind: 'fault',
      code: 'VIM_NAME_TAKEN',
      op: 'Rename_Task',
      opId: error.opId,
      message,
      ...(error.fault === undefined ? {} : { fault: error.fault }),
      cause: error,
    });
  }
}

/** See `VCenter.destroy`. A machine that is gone already is success. */
export async function destroy(caller: SessionCaller, vm: MoRef, options?: CallOptions): Promise<void> {
  if (vm.type !== 'VirtualMachine') {
    // Destroy_Task on a folder deletes every machine below it.
    throw new VimError({
      kind: 'protocol',
      code: 'VIM_REFUSED',
      op: 'Destroy_Task',
      message: `${refText(vm)} is not a VirtualMachine`,
      sent: false,
    });
  }
  try {
    await runTask(caller, 'Destroy_Task', vm, [], options);
  } catch (error) {
    if (!(error instanceof VimError)) throw error;
    if (isGone(error, vm)) return;
    if (!outcomeUnknown(error)) throw error;
    const seen = await look(caller, vm, error, options);
    if (seen !== undefined) throw notDone(error, vm, seen);
  }
}

/** See `VCenter.markAsTemplate`. One that is a template already is success. */
export async function markAsTemplate(caller: SessionCaller, vm: MoRef, options?: CallOptions): Promise<void> {
  try {
    await caller.call('MarkAsTemplate', vm, [], options);
  } catch (error) {
    if (!(error instanceof VimError)) throw error;
    if (!outcomeUnknown(error) && error.fault?.is('NotSupported') !== true) throw error;
    const seen = await look(caller, vm, error, options);
    if (seen?.isTemplate === true) return;
    throw error.fault === undefined ? notDone(error, vm, seen) : error;
  }
}

/** See `VCenter.reconfigure`. Making the same change twice is harmless, so a lost answer needs no look. */
export async function reconfigure(
  caller: SessionCaller,
  vm: MoRef,
  change: VmChange,
  options?: CallOptions,
): Promise<void> {
  const extraConfig = [...(change.extraConfig ?? [])].map(([key, value]) =>
    typed('extraConfig', 'OptionValue', element('key', key), xsd('value', 'string', value)),
  );
  const spec = data('VirtualMachineConfigSpec', {
    annotation: change.annotation,
    extraConfig,
    bootOptions:
      change.secureBoot === undefined
        ? undefined
        : data('VirtualMachineBootOptions', { efiSecureBootEnabled: change.secureBoot }),
    // Secure boot exists with EFI only; a server that is not told so refuses the pair.
    firmware: change.secureBoot === true ? 'efi' : undefined,
  });
  await runTask(caller, 'ReconfigVM_Task', vm, methodBody('ReconfigVM_Task', { spec }), options);
}

async function runTask(
  caller: SessionCaller,
  method: string,
  self: MoRef,
  body: readonly XmlNode[],
  options?: CallOptions,
): Promise<void> {
  const answer = await caller.call(method, self, body, options);
  const task = referenceOf(child(answer, 'returnval'));
  if (task === undefined) {
    throw new VimError({
      kind: 'protocol',
      code: 'VIM_BAD_RESPONSE',
      op: method,
      message: `${refText(self)}: the server names no task`,
    });
  }
  await caller.waitForTask(task, { ...options, op: method });
}

/**
 * Looks at a machine after an answer was lost: waits until nothing runs on it any more, then reads what shows the outcome; undefined when it is gone. Where even that fails,
 * the outcome stays unknown.
 */
async function look(
  caller: SessionCaller,
  vm: MoRef,
  lost: VimError,
  options?: CallOptions,
): Promise<Seen | undefined> {
  try {
    for (;;) {
      const [content] = await caller.retrieve([vm], vm.type, ['name', 'config.template', 'recentTask'], options);
      if (content === undefined) return undefined;
      const running = await activeTasks(caller, recentTasks(content), options);
      if (running.length === 0) {
        return {
          name: unescapeName(read(content, 'name', label) ?? ''),
          isTemplate: read(content, 'config.template', flag) ?? false,
        };
      }
      // How it ends is not asked here: the next reading shows it.
      await Promise.allSettled(running.map(({ ref }) => caller.waitForTask(ref, { ...options, op: lost.op })));
      options?.signal?.throwIfAborted();
    }
  } catch (cause) {
    throw new VimError({
      kind: lost.kind,
      code: 'VIM_UNKNOWN_OUTCOME',
      op: lost.op,
      opId: lost.opId,
      message: `${refText(vm)}: the answer was lost, and so was the look at what became of it`,
      retriable: true,
      cause: new AggregateError([lost, cause]),
    });
  }
}

/** The answer was lost, and the act surely did not take effect. */
function notDone(lost: VimError, vm: MoRef, seen: Seen | undefined): VimError {
  const state =
    seen === undefined ? 'it is gone' : `it is still named "${seen.name}"${seen.isTemplate ? ' and a template' : ''}`;
  return new VimError({
    kind: lost.kind,
    code: lost.code === 'VIM_UNKNOWN_OUTCOME' ? 'VIM_UNREACHABLE' : lost.code,
    op: lost.op,
    opId: lost.opId,
    message: `${refText(vm)}: the answer was lost and the call had no effect: ${state}`,
    retriable: seen !== undefined,
    sent: false,
    cause: lost,
  });
}

function isBadName(error: VimError): boolean {
  return (
    error.fault?.is('InvalidArgument') === true && /^(?:name|newName)$/.test(error.fault.field('invalidProperty') ?? '')
  );
}

function isGone(error: VimError, vm: MoRef): boolean {
  if (error.fault?.is('ManagedObjectNotFound') !== true) return false;
  const object = error.fault.reference('obj');
  return object === undefined || refKey(object) === refKey(vm);
}
