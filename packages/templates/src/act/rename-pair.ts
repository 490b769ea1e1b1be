import { type CallOptions, isVimError, type MoRef, type VCenter, type VmSummary } from '@drydock/vsphere';
import type { Step } from '../decide/machine.ts';
import { clauseOf, TemplateError } from '../errors.ts';
import { failure } from '../failure.ts';
import { expectFree } from './obstacle.ts';
import type { Ports } from './ports.ts';

/** How long each half of the pair, and taking it back, may last: the name is absent meanwhile. */
const HALF_MS = 20_000;

/**
 * The two renames of a swap, back to back. Everything that could stop the second is looked at before the first; if it stops all the same, the first is taken
 * back at once (BI-W2, VS-W94). From the first rename on only our own deadlines count: a caller that gives up must not leave the name absent. What cannot
 * be taken back is `SWAP_FAILED` with both causes, and the next pass goes on from what is there. Where the world is no longer what the step says, nothing
 * is done. `beforeRename` is asked right before the first; what it throws leaves all as it is.
 */
export async function swapNames(
  { vcenter, unfenced }: Pick<Ports, 'vcenter' | 'unfenced'>,
  folder: MoRef,
  step: Extract<Step, { kind: 'swap' }>,
  call: CallOptions,
  beforeRename?: (name: string) => Promise<void>,
): Promise<{ readonly absentMs?: number }> {
  await expectFree(vcenter, step.old, 'Rename_Task', call);
  await expectFree(vcenter, step, 'Rename_Task', call);
  // A look also proves that the session lives.
  const [old, fresh, bearer] = await Promise.all([
    vcenter.vm(step.old.ref, call),
    vcenter.vm(step.ref, call),
    vcenter.findChild(folder, step.retired, call),
  ]);
  const ready = isReady(old, step.old.name, folder) && isReady(fresh, step.name, folder) && bearer === undefined;
  if (!ready) return {};
  await beforeRename?.(step.name);
  // Before the first request leaves: what is reported is never less than what others saw.
  const from = performance.now();
  await putAway(vcenter, step);
  try {
    // Whoever leads now would do the same: the name is absent until it is done.
    await unfenced.rename(step.ref, step.publishes, bounded());
  } catch (error) {
    if ((await nameOf(vcenter, step.ref)) !== step.publishes) return takeBack(unfenced, step, error);
  }
  return { absentMs: Math.round((performance.now() - from) * 10) / 10 };
}

function isReady(vm: VmSummary | undefined, name: string, folder: MoRef): boolean {
  return vm?.name === name && vm.isTemplate && vm.activeTasks.length === 0 && vm.parent?.value === folder.value;
}

/** The first rename. A lost answer is looked up: the name may be absent already. */
async function putAway(vcenter: VCenter, { old, retired }: Extract<Step, { kind: 'swap' }>): Promise<void> {
  try {
    await vcenter.rename(old.ref, retired, bounded());
  } catch (error) {
    if ((await nameOf(vcenter, old.ref)) !== retired)
      throw failure(codeOf(error), 'rename the template that is replaced', old.name, error);
  }
}

async function takeBack(
  vcenter: VCenter,
  { old, publishes, retired, name }: Extract<Step, { kind: 'swap' }>,
  error: unknown,
): Promise<never> {
  try {
    await vcenter.rename(old.ref, old.name, bounded());
  } catch (undo) {
    if ((await nameOf(vcenter, old.ref)) !== old.name) {
      const message = `failed to swap ${publishes}: ${name} could not take the name, and ${retired} could not take it back: ${clauseOf(error)}`;
      const cause = new AggregateError([error, undo], 'both renames failed');
      throw new TemplateError({ code: 'SWAP_FAILED', message, retriable: true, cause });
    }
  }
  throw failure(codeOf(error), `swap ${publishes} (the template before it has its name back)`, name, error);
}

function codeOf(error: unknown): 'NAME_TAKEN' | 'RENAME_FAILED' {
  return isVimError(error, 'VIM_NAME_TAKEN') ? 'NAME_TAKEN' : 'RENAME_FAILED';
}

/** undefined: it is gone, or nobody could tell. One lost answer is nothing: the look is repeated. */
async function nameOf(vcenter: VCenter, ref: MoRef): Promise<string | undefined> {
  for (let attempt = 0; attempt < 2; attempt += 1) {
    try {
      return (await vcenter.vm(ref, bounded()))?.name;
    } catch {
      // Looked at once more, then the next pass looks.
    }
  }
  return undefined;
}

function bounded(): { readonly signal: AbortSignal } {
  return { signal: AbortSignal.timeout(HALF_MS) };
}
