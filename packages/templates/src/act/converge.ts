import type { CallOptions } from '@drydock/vsphere';
import { decide } from '../decide/decide.ts';
import type { Act, Observed, Step, Wanted } from '../decide/machine.ts';
import { worldOf } from '../decide/world.ts';
import { isTemplateError, TemplateError, type TemplateErrorCode } from '../errors.ts';
import { failure, readFailure } from '../failure.ts';
import { type Liveness, observe } from '../observe/observe.ts';
import { type ActContext, act, type Effect } from './act.ts';

/** What one convergence needs. */
export interface Convergence {
  readonly context: ActContext;
  readonly wanted: Wanted;
  readonly liveness: Liveness;
  readonly expectWorld?: string | undefined;
  /** Asked before a template takes over a name that another one bears, and again right before the first rename: it is cheap by then. What it throws ends the convergence. */
  readonly beforeSwap?: ((name: string) => Promise<void>) | undefined;
  /** How long to wait for another holder's import or a task; default one minute. */
  readonly waitMs?: number | undefined;
  /** Called with the name of the VM when waiting begins. */
  readonly onWait?: ((name: string) => void) | undefined;
}

/** More steps than any history needs; beyond it two writers undo each other's work. */
const MAX_STEPS = 30;
const POLL_MS = 2000;
/** Imports that may end with their session and are begun anew at once. */
const MAX_LOST = 2;

/**
 * Observe, decide, act, until the wish is met. A step that fails is looked at before it is reported: where the folder shows that it took effect (the answer
 * was lost) or that somebody else did it, the loop goes on; the same step again means that it failed.
 */
export async function converge(
  { context, wanted, liveness, expectWorld, waitMs, onWait, beforeSwap }: Convergence,
  call: CallOptions,
): Promise<Extract<Step, { kind: 'done' }> & Effect> {
  const { vcenter, clock } = context.ports;
  let patience = waitMs ?? 60_000;
  let waitedFor: string | undefined;
  let failed: { readonly step: Act; readonly error: unknown } | undefined;
  let effect: Effect = {};
  let first = true;
  let lost = 0;
  const refused = new Set<string>();
  let stopped: { readonly error: unknown } | undefined;
  const ask = async (name: string): Promise<void> => {
    try {
      await beforeSwap?.(name);
    } catch (error) {
      stopped = { error };
      throw error;
    }
  };

  for (let count = 0; count < MAX_STEPS; ) {
    call.signal?.throwIfAborted();
    let observed: Observed;
    try {
      observed = await observe(vcenter, context, wanted, liveness, call);
    } catch (error) {
      if (failed !== undefined) throw asTemplateError(failed.step, failed.error);
      call.signal?.throwIfAborted();
      throw readFailure('look at the folder', nameOf(wanted), error);
    }
    if (first) expectSame(observed, wanted, expectWorld);
    first = false;
    const step = decide(observed, { ...wanted, refused });
    if (failed !== undefined && same(failed.step, step)) {
      if (step.kind !== 'import' || !isTemplateError(failed.error, 'NAME_TAKEN'))
        throw asTemplateError(failed.step, failed.error);
      // Nothing in the folder shows who has it: a machine that was renamed keeps its files where they are.
      refused.add(step.attempt.name);
      failed = undefined;
      continue;
    }
    failed = undefined;
    if (step.kind === 'done') return { ...step, ...effect };
    if (step.kind === 'blocked') {
      const { code, reason: message, retriable = false } = step;
      throw new TemplateError({ code, message, retriable });
    }
    if (step.kind === 'wait') {
      // Counted, not read from the clock, which may be set back.
      if (patience <= 0) throw new TemplateError({ code: step.code, message: step.reason, retriable: true });
      if (waitedFor !== step.name) onWait?.(step.name);
      waitedFor = step.name;
      await clock.sleep(POLL_MS, call);
      patience -= POLL_MS;
      continue;
    }
    // It may last, and what it allows is asked once more right before the first rename.
    if (step.kind === 'swap') await ask(step.name);
    count += 1;
    try {
      effect = { ...effect, ...(await act({ ...context, beforeRename: ask }, step, call)) };
    } catch (error) {
      if (stopped !== undefined) throw stopped.error;
      // A pair that was undone, or half undone, is not tried again in this pass.
      if (step.kind === 'swap') throw asTemplateError(step, error);
      // Another session, another lease: there is nothing to wait for.
      if (isTemplateError(error, 'LEASE_LOST') && lost < MAX_LOST) {
        lost += 1;
        context.importing.onProgress?.({ step: 'Publishing', note: 'the session ended; the upload starts again' });
      } else failed = { step, error };
    }
  }
  throw new TemplateError({
    code: 'NOT_CONVERGED',
    message: `the template ${nameOf(wanted)} is not in place after ${MAX_STEPS} steps`,
    retriable: true,
  });
}

function expectSame(observed: Observed, wanted: Wanted, expected: string | undefined): void {
  if (expected === undefined || worldOf(observed, wanted) === expected) return;
  const message = `what the plan for ${nameOf(wanted)} was made for has changed since`;
  throw new TemplateError({ code: 'WORLD_MOVED', message });
}

function nameOf({ swap, content }: Wanted): string {
  return swap?.name ?? (content.kind === 'image' ? (content.attempts[0]?.name ?? '') : content.instanceUuid);
}

function same(a: Step, b: Step): boolean {
  if (a.kind === 'import' && b.kind === 'import') return a.attempt.name === b.attempt.name;
  return a.kind === b.kind && 'ref' in a && 'ref' in b && a.ref.value === b.ref.value;
}

const FAILURES: Readonly<Record<Act['kind'], readonly [TemplateErrorCode, string]>> = {
  import: ['IMPORT_FAILED', 'import the template'],
  finish: ['IMPORT_FAILED', 'call the import finished'],
  markAsTemplate: ['IMPORT_FAILED', 'mark the machine as template'],
  record: ['VCENTER_FAILED', 'record what the template consists of'],
  attachTags: ['TAG_FAILED', 'attach tag: unable to attach tag'],
  intend: ['VCENTER_FAILED', 'note what the template replaces'],
  retire: ['VCENTER_FAILED', 'mark the template as retired'],
  rename: ['RENAME_FAILED', 'rename the template'],
  swap: ['RENAME_FAILED', 'swap the templates'],
  destroy: ['VCENTER_FAILED', 'remove what is stale'],
};

function asTemplateError(step: Act, error: unknown): unknown {
  const [code, doing] = FAILURES[step.kind];
  const unknownTag = step.kind === 'attachTags' && isUnknown(error);
  return failure(
    unknownTag ? 'TAG_NOT_FOUND' : code,
    doing,
    step.kind === 'import' ? step.attempt.name : step.name,
    error,
  );
}

function isUnknown(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'VIM_NOT_FOUND';
}
