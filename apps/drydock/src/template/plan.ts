import { resolve } from 'node:path';
import type { Plan, PlanRequest } from '@drydock/templates';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { type AdoptFlags, adoptFlags } from './adopt.ts';
import type { CommonFlags } from './flags.ts';
import { type GcFlags, gcFlags, gcLimits, type Kept, keptBy } from './gc.ts';
import { type PlanFile, sourceName, writePlan } from './plan-file.ts';
import { pointerRecord } from './pointer.ts';
import { type ExitCode, TemplateProblem } from './problem.ts';
import { type RevertFlags, revertFlags, stepsText, swapBack } from './revert.ts';
import { type Run, verb } from './run.ts';
import type { TemplateSession } from './session.ts';
import { type PublishFlags, publicationOf, publishFlags } from './wish.ts';

interface OutFlags {
  /** Where the plan is kept. */
  readonly out?: string;
}

/** Adds `drydock template plan <verb>`: what a verb would do, call by call. Nothing is changed. Exit code 6: changes are pending. */
export function addPlan(group: Command): void {
  const plan = group.command('plan').description('say what a verb would do, call by call; "apply" does exactly that');
  const publish = plan.command('publish').description('plan a publication');
  verb(publishFlags(publish.argument('<ova>', 'file, or http(s) address')), planPublish);
  const revert = plan.command('revert').description('plan going back');
  verb(revertFlags(revert.argument('<name>', 'stable name')), planRevert);
  verb(gcFlags(plan.command('gc').description('plan a collection')), planGc);
  const adopt = plan.command('adopt').description('plan an adoption');
  verb(adoptFlags(adopt.argument('<template>', 'name, path or instance UUID')), planAdopt);
  for (const command of plan.commands) command.option('--out <file>', 'keep the plan, for "apply"');
}

async function planPublish(run: Run<PublishFlags & OutFlags>): Promise<ExitCode> {
  const { session, wish, pointer: file } = await publicationOf(run);
  const pointer = file && {
    ...{ file: resolve(file.path), variable: run.flags.pointerVariable, now: await file.read() },
    consumer: await pointerRecord(file.path, run.flags.consumer),
  };
  return show(run, session, { kind: 'publish', wish }, { pointer, source: sourceName(run.args[0] ?? '') });
}

async function planRevert(run: Run<RevertFlags & OutFlags>): Promise<ExitCode> {
  const because = ': going back changes one file and no vCenter, so there is nothing to plan';
  const { session, wish } = await swapBack(run, run.subject(), because);
  return show(run, session, { kind: 'revert', wish });
}

async function planGc(run: Run<GcFlags & OutFlags>): Promise<ExitCode> {
  const { flags, signal } = run;
  if ((flags.kubeconfig ?? flags.kubeContext) !== undefined && flags.out !== undefined) {
    throw new TemplateProblem({
      code: 'PLAN_OF_A_MOMENT',
      message: 'what a cluster uses now is no plan for later: run gc itself, which asks the cluster again and then you',
      next: run.command('gc', '--dry-run'),
    });
  }
  const kept = await keptBy(flags, (await run.settings()).owner, signal);
  const { session, placement, owner } = await run.open('folder');
  const keeps = (flags.pointer ?? []).map((file) => ({ file: resolve(file), variable: flags.pointerVariable }));
  return show(run, session, { kind: 'gc', wish: { placement, owner, ...gcLimits(flags) } }, { kept, keeps });
}

async function planAdopt(run: Run<AdoptFlags & OutFlags>): Promise<ExitCode> {
  const { release } = run.flags;
  const reference = run.subject();
  const { session, placement, owner } = await run.open('folder');
  const wish = { placement, owner, reference, holder: session.holder.identity };
  return show(run, session, { kind: 'adopt', wish: { ...wish, ...(release === undefined ? {} : { release }) } });
}

/** A pointer file that a publication replaces afterwards, and what it says now. */
interface PendingPointer extends NonNullable<PlanFile['pointer']> {
  readonly consumer: string;
  readonly now: string | undefined;
}

async function show(
  { flags, out, signal, command }: Run<CommonFlags & OutFlags>,
  { store, holder }: TemplateSession,
  request: PlanRequest,
  {
    kept,
    pointer,
    keeps = [],
    source,
  }: Pick<PlanFile, 'keeps' | 'source'> & {
    readonly kept?: Kept;
    readonly pointer?: PendingPointer | undefined;
  } = {},
): Promise<ExitCode> {
  const plan = await store.plan(request, { signal, holderIsLive: holder.isLive, ...kept });
  const { kind, target, server, folder, steps } = plan;
  for (const step of steps) out.event('step', step);
  out.event('plan', { kind, target, server, folder, steps: steps.length });
  const points = pointer !== undefined && (steps.length > 0 || pointer.now !== target);
  out.data(planText(plan, points ? pointer.file : undefined));
  if (steps.length === 0 && !points) return exitCode.done;
  if (flags.out === undefined) {
    out.note('Not kept: with --out FILE, "apply FILE" does exactly this');
    return exitCode.pending;
  }
  await writePlan(flags.out, {
    drydockPlan: 2,
    ...(pointer === undefined
      ? {}
      : { pointer: { file: pointer.file, variable: pointer.variable, consumer: pointer.consumer } }),
    ...(keeps.length === 0 ? {} : { keeps }),
    ...(source === undefined ? {} : { source }),
    plan,
  });
  out.note(`Kept in ${flags.out}\nnext: ${command('apply', flags.out)}`);
  return exitCode.pending;
}

/** A plan for a person. */
export function planText(plan: Plan, pointer?: string): string {
  const head = `${plan.kind} ${plan.target} in ${plan.folder} on ${plan.server}`;
  const last = pointer === undefined ? '' : `  Point ${pointer} to ${plan.target}.\n`;
  if (plan.steps.length === 0) return last === '' ? `${head}: nothing to change\n` : `${head}:\n${last}`;
  return `${head}:\n${stepsText(plan.steps)}\n${last}`;
}
