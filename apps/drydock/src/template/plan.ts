import { resolve } from 'node:path';
import type { Plan, PlanRequest } from '@drydock/templates';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { type AdoptFlags, adoptFlags } from './adopt.ts';
import type { CommonFlags } from './flags.ts';
import { type GcFlags, gcFlags, gcLimits, references } from './gc.ts';
import { byPointer } from './history.ts';
import { type PlanFile, sourceName, writePlan } from './plan-file.ts';
import { openPointer, pointerRecord } from './pointer.ts';
import { type ExitCode, TemplateProblem } from './problem.ts';
import { generationOf, type RevertFlags, revertFlags, stepsText } from './revert.ts';
import { type Run, verb } from './run.ts';
import type { TemplateSession } from './session.ts';
import { openSource } from './source.ts';
import { checkFlags, type PublishFlags, publishFlags, wishOf } from './wish.ts';

interface OutFlags {
  /** Where the plan is kept. */
  readonly out?: string;
}

/** Adds `drydock template plan <verb>`: what a verb would do, call by call. Nothing is changed. Exit code 6: changes are pending. */
export function addPlan(group: Command): void {
  const plan = group.command('plan').description('say what a verb would do, call by call; "apply" does exactly that');
  planPublish(
    out(
      publishFlags(
        plan.command('publish').description('plan a publication').argument('<ova>', 'file, or http(s) address'),
      ),
    ),
  );
  planRevert(out(revertFlags(plan.command('revert').description('plan going back').argument('<name>', 'stable name'))));
  planGc(out(gcFlags(plan.command('gc').description('plan a collection'))));
  planAdopt(
    out(
      adoptFlags(
        plan.command('adopt').description('plan an adoption').argument('<template>', 'name, path or instance UUID'),
      ),
    ),
  );
}

function out(command: Command): Command {
  return command.option('--out <file>', 'keep the plan, for "apply"');
}

function planPublish(command: Command): void {
  verb<PublishFlags & OutFlags>(command, async (run) => {
    const { flags, signal } = run;
    const [argument = ''] = run.args;
    run.about({ subject: flags.name, source: argument });
    checkFlags(flags);
    const file = flags.pointer === undefined ? undefined : await openPointer(flags.pointer, flags.pointerVariable);
    const { cacheDir } = await run.settings();
    const { sha256, release } = flags;
    const source = await openSource(argument, {
      cacheDir,
      out: run.out,
      signal,
      ...(sha256 === undefined ? {} : { sha256 }),
      ...(release === undefined ? {} : { release }),
    });
    const session = await run.session({ ovas: source.ovas });
    const wish = wishOf(flags, session, await run.place(session, 'import'), source);
    const pointer: PendingPointer | undefined =
      file === undefined
        ? undefined
        : {
            ...{ file: resolve(file.path), variable: flags.pointerVariable, now: await file.read() },
            consumer: await pointerRecord(file.path, flags.consumer),
          };
    return show(run, session, { kind: 'publish', wish }, { pointer, source: sourceName(argument) });
  });
}

function planRevert(command: Command): void {
  verb<RevertFlags & OutFlags>(command, async (run) => {
    const [name = ''] = run.args;
    run.about({ subject: name });
    const session = await run.session();
    const placement = await run.place(session, 'folder');
    const { owner } = session.settings;
    const generations = await session.store.history(placement, owner, name, { signal: run.signal });
    if (generations.length > 0 && byPointer(generations)) {
      throw new TemplateProblem({
        code: 'POINTER_NEEDED',
        message: `${name} is published by pointer: going back changes one file and no vCenter, so there is nothing to plan`,
        next: run.command('revert', name, '--pointer', 'FILE'),
      });
    }
    const to = generationOf(generations, run.flags.to, name)?.instanceUuid;
    const wish = { placement, owner, name, holder: session.holder.identity, ...(to === undefined ? {} : { to }) };
    return show(run, session, { kind: 'revert', wish }, {});
  });
}

function planGc(command: Command): void {
  verb<GcFlags & OutFlags>(command, async (run) => {
    const { flags, signal } = run;
    const settings = await run.settings();
    const asksCluster = flags.kubeconfig !== undefined || flags.kubeContext !== undefined;
    if (asksCluster && flags.out !== undefined) {
      throw new TemplateProblem({
        code: 'PLAN_OF_A_MOMENT',
        message:
          'what a cluster uses now is no plan for later: run gc itself, which asks the cluster again and then you',
        next: run.command('gc', '--dry-run'),
      });
    }
    const referenced = await references(flags, settings.owner, signal);
    const session = await run.session();
    const placement = await run.place(session, 'folder');
    const wish = { placement, owner: session.settings.owner, ...gcLimits(run.flags) };
    const keeps = (flags.pointer ?? []).map((file) => ({ file: resolve(file), variable: flags.pointerVariable }));
    return show(run, session, { kind: 'gc', wish }, { referenced, keeps });
  });
}

function planAdopt(command: Command): void {
  verb<AdoptFlags & OutFlags>(command, async (run) => {
    const [reference = ''] = run.args;
    const { release } = run.flags;
    run.about({ subject: reference });
    const session = await run.session();
    const placement = await run.place(session, 'folder');
    const wish = {
      placement,
      owner: session.settings.owner,
      reference,
      holder: session.holder.identity,
      ...(release === undefined ? {} : { release }),
    };
    return show(run, session, { kind: 'adopt', wish }, {});
  });
}

/** A pointer file that a publication replaces afterwards, and what it says now. */
interface PendingPointer extends NonNullable<PlanFile['pointer']> {
  readonly consumer: string;
  readonly now: string | undefined;
}

async function show(
  run: Run<CommonFlags & OutFlags>,
  session: TemplateSession,
  request: PlanRequest,
  extra: {
    readonly referenced?: Awaited<ReturnType<typeof references>>;
    readonly pointer?: PendingPointer | undefined;
    readonly keeps?: PlanFile['keeps'];
    readonly source?: string;
  },
): Promise<ExitCode> {
  const { flags, out: output, signal } = run;
  const { referenced, pointer } = extra;
  const needed = referenced?.needed;
  const plan = await session.store.plan(request, {
    signal,
    holderIsLive: session.holder.isLive,
    ...(referenced === undefined ? {} : { referenced }),
    ...(needed === undefined ? {} : { needed }),
  });
  for (const step of plan.steps) output.event('step', step);
  output.event('plan', {
    kind: plan.kind,
    target: plan.target,
    server: plan.server,
    folder: plan.folder,
    steps: plan.steps.length,
  });
  const points = pointer !== undefined && (plan.steps.length > 0 || pointer.now !== plan.target);
  output.data(planText(plan, points ? pointer.file : undefined));
  const pending = plan.steps.length > 0 || points;
  if (!pending) return exitCode.done;
  if (flags.out === undefined) {
    output.note('Not kept: with --out FILE, "apply FILE" does exactly this');
    return exitCode.pending;
  }
  const { keeps, source } = extra;
  await writePlan(flags.out, {
    drydockPlan: 2,
    ...(pointer === undefined
      ? {}
      : { pointer: { file: pointer.file, variable: pointer.variable, consumer: pointer.consumer } }),
    ...(keeps === undefined || keeps.length === 0 ? {} : { keeps }),
    ...(source === undefined ? {} : { source }),
    plan,
  });
  output.note(`Kept in ${flags.out}\nnext: ${run.command('apply', flags.out)}`);
  return exitCode.pending;
}

/** A plan for a person. */
export function planText(plan: Plan, pointer?: string): string {
  const head = `${plan.kind} ${plan.target} in ${plan.folder} on ${plan.server}`;
  const last = pointer === undefined ? '' : `  Point ${pointer} to ${plan.target}.\n`;
  if (plan.steps.length === 0) return last === '' ? `${head}: nothing to change\n` : `${head}:\n${last}`;
  return `${head}:\n${stepsText(plan.steps)}\n${last}`;
}
