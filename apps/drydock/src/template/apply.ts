import { type Plan, type PlannedStep, type PlanRequest, TemplateError } from '@drydock/templates';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import type { CommonFlags } from './flags.ts';
import { type Kept, keptBy, tellCollected } from './gc.ts';
import { planText } from './plan.ts';
import { type PlanFile, readPlan } from './plan-file.ts';
import { openPointer, type PointerFile } from './pointer.ts';
import { TemplateProblem } from './problem.ts';
import { publish } from './publish.ts';
import { carryOut } from './revert.ts';
import { type Run, verb } from './run.ts';
import type { TemplateSession } from './session.ts';
import { plannedImage } from './source.ts';

interface ApplyFlags extends CommonFlags {
  /** Where the image of the plan is. */
  readonly image?: string;
}

/** Adds `drydock template apply`. */
export function addApply(group: Command): void {
  const command = group
    .command('apply')
    .description('do what a plan says, or nothing where something else would be done by now (exit code 4)')
    .argument('<plan>', 'file that "plan --out" kept')
    .option('--image <ova>', 'where the image of the plan is (default: beside the plan, or in the cache)');
  verb<ApplyFlags>(command, async (run) => {
    const { out, signal } = run;
    const [path = ''] = run.args;
    const file = await readPlan(path);
    const { plan } = file;
    // Of the file nothing but the kind of plan: what a person is told to run is never a stranger's text.
    const replan = run.command('plan', plan.kind, ...SUBJECTS[plan.kind], '--out', path);
    run.about({ replan });
    // All that could be wrong here is found before anything is done there.
    const pointer =
      file.pointer === undefined ? undefined : await openPointer(file.pointer.file, file.pointer.variable);
    const { cacheDir } = await run.settings();
    const next = run.command('apply', path, '--image', 'OVA');
    const source = await plannedImage(file, { path, image: run.flags.image, cacheDir, out, signal, next });
    const session = await run.session(source === undefined ? {} : { ovas: source.ovas });
    if (session.vcenter.server !== plan.server) {
      throw new TemplateProblem({
        code: 'PLAN_OF_ANOTHER',
        message: `the plan was made for ${plan.server}, and this is ${session.vcenter.server}`,
        next: replan,
      });
    }
    const kept = plan.kind === 'gc' ? await stillKept(file, plan.wish.owner, signal) : undefined;
    const { identity: holder } = session.holder;
    const image = plan.kind === 'publish' ? { ...plan.wish.image, location: source?.image.location ?? '' } : undefined;
    const wish = { ...plan.wish, holder, ...(image === undefined ? {} : { image }) };
    const request = { kind: plan.kind, wish } as PlanRequest;
    const again = await session.store.plan(request, {
      ...{ signal, holderIsLive: session.holder.isLive, ...kept },
    });
    const difference = differenceOf(plan, again);
    if (difference !== undefined) throw new TemplateError({ code: 'WORLD_MOVED', message: difference });
    for (const step of again.steps) out.event('step', step);
    out.note(planText(again, file.pointer?.file).trimEnd());
    await perform(run, session, again, { pointer, consumer: file.pointer?.consumer, kept });
    return exitCode.done;
  });
}

/** What stands for the arguments of each kind of plan. */
const SUBJECTS: Readonly<Record<Plan['kind'], readonly string[]>> = {
  publish: ['OVA', '--name', 'NAME'],
  revert: ['NAME'],
  adopt: ['TEMPLATE'],
  gc: [],
};

/** What the same pointers keep now. */
async function stillKept({ keeps = [] }: PlanFile, owner: string, signal: AbortSignal): Promise<Kept> {
  const flags = [
    ...keeps.map(({ file, variable }) => ({ pointer: [file], pointerVariable: variable })),
    { pointerVariable: '' },
  ];
  const all = await Promise.all(flags.map((one) => keptBy(one, owner, signal)));
  return { referenced: (name) => all.map(({ referenced }) => referenced(name)).find((user) => user !== undefined) };
}

/** Why a plan is not what would be done now; undefined: it is, call by call, and in the same world. */
function differenceOf(plan: Plan, now: Plan): string | undefined {
  const steps = Array.from({ length: Math.max(plan.steps.length, now.steps.length) }, (_, at) => [
    plan.steps[at],
    now.steps[at],
  ]);
  const at = steps.findIndex(([said, would]) => callsOf(said) !== callsOf(would));
  if (at >= 0) {
    const [said, would] = (steps[at] ?? []).map((step) => step?.calls.join(', ') ?? 'nothing more');
    return `the plan is not what would be done by now: its step ${at + 1} says ${said}, and it would be ${would}`;
  }
  if (plan.target !== now.target || plan.folder !== now.folder)
    return `the plan is about ${plan.target} in ${plan.folder}, and what it wishes for is ${now.target} in ${now.folder}`;
  return plan.world === now.world ? undefined : `what the plan for ${now.target} was made for has changed since`;
}

function callsOf(step: PlannedStep | undefined): string | undefined {
  return step && JSON.stringify([step.step, step.text, step.calls]);
}

async function perform(
  run: Run<CommonFlags>,
  session: TemplateSession,
  plan: Plan,
  {
    pointer,
    consumer,
    kept = { referenced: () => 'unknown' },
  }: {
    readonly pointer: PointerFile | undefined;
    readonly consumer: string | undefined;
    readonly kept: Kept | undefined;
  },
): Promise<void> {
  const { out, signal } = run;
  const { store, holder } = session;
  const expectWorld = plan.world;
  switch (plan.kind) {
    case 'publish':
      return publish(run, session, plan.wish, { pointer, consumer, expectWorld });
    case 'revert':
      return carryOut(run, store, plan);
    case 'adopt': {
      const adopted = await store.adopt(plan.wish, { signal, expectWorld });
      out.event('adopted', { ...adopted, ref: adopted.ref.value });
      out.note(`Adopted ${adopted.name}`);
      return out.data(`${adopted.name}\n`);
    }
    case 'gc': {
      const { placement, owner, keep, graceMs } = plan.wish;
      const collected = await store.collect(placement, owner, {
        ...{ signal, expectWorld, holderIsLive: holder.isLive, ...kept },
        ...(keep === undefined ? {} : { keep }),
        ...(graceMs === undefined ? {} : { graceMs }),
      });
      return tellCollected(out, collected, false, placement.folder);
    }
  }
}
