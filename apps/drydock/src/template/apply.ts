import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import type { CommonFlags } from './flags.ts';
import { tellCollected } from './gc.ts';
import { planText } from './plan.ts';
import { type PlanFile, readPlan } from './plan-file.ts';
import { openPointer } from './pointer.ts';
import { type ExitCode, TemplateProblem } from './problem.ts';
import { publish } from './publish.ts';
import { tellReverted } from './revert.ts';
import { type Run, verb } from './run.ts';
import type { TemplateSession } from './session.ts';
import { openSource, type Source } from './source.ts';

/** Adds `drydock template apply`. */
export function addApply(group: Command): void {
  const command = group
    .command('apply')
    .description('do what a plan says, or nothing where the world moved since (exit code 4)')
    .argument('<plan>', 'file that "plan --out" kept');
  verb<CommonFlags>(command, async (run) => {
    const [path = ''] = run.args;
    const file = await readPlan(path);
    const { plan } = file;
    run.about({
      subject: plan.target,
      replan: file.command,
      ...(plan.kind === 'publish' ? { source: plan.wish.image.location } : {}),
    });
    // All that could be wrong here is found before anything is done there.
    const pointer =
      file.pointer === undefined ? undefined : await openPointer(file.pointer.file, file.pointer.variable);
    const settings = await run.settings();
    const source = plan.kind === 'publish' ? await sourceOf(run, plan.wish.image, settings.cacheDir) : undefined;
    const session = await run.session(source === undefined ? {} : { ovas: source.ovas });
    if (session.vcenter.server !== plan.server) {
      throw new TemplateProblem({
        code: 'PLAN_OF_ANOTHER',
        message: `the plan was made for ${plan.server}, and this is ${session.vcenter.server}`,
        next: file.command,
      });
    }
    for (const step of plan.steps) run.out.event('step', step);
    run.out.note(planText(plan, file.pointer?.file).trimEnd());
    return perform(run, session, file, pointer);
  });
}

async function sourceOf(
  run: Run<CommonFlags>,
  image: { readonly location: string; readonly sha256: string; readonly release: string },
  cacheDir: string,
): Promise<Source> {
  const { out, signal } = run;
  const { location, sha256, release } = image;
  const argument = location.startsWith('file:') ? fileURLToPath(location) : location;
  return openSource(argument, { sha256, release, cacheDir, out, signal });
}

async function perform(
  run: Run<CommonFlags>,
  session: TemplateSession,
  { plan }: PlanFile,
  pointer: Awaited<ReturnType<typeof openPointer>> | undefined,
): Promise<ExitCode> {
  const { out, signal } = run;
  const { store, holder } = session;
  const expectWorld = plan.world;
  const by = { holder: holder.identity };
  switch (plan.kind) {
    case 'publish':
      await publish(run, session, { ...plan.wish, ...by }, { pointer, expectWorld });
      break;
    case 'revert': {
      const from = performance.now();
      const reverted = await store.revert({ ...plan.wish, ...by }, { signal, expectWorld });
      tellReverted(run, reverted, performance.now() - from);
      break;
    }
    case 'adopt': {
      const adopted = await store.adopt({ ...plan.wish, ...by }, { signal, expectWorld });
      out.event('adopted', { ...adopted, ref: adopted.ref.value });
      out.note(`Adopted ${adopted.name}`);
      out.data(`${adopted.name}\n`);
      break;
    }
    case 'gc': {
      const { placement, owner, keep, graceMs } = plan.wish;
      const collected = await store.collect(placement, owner, {
        signal,
        expectWorld,
        // What the pointers said then is part of the plan: a template that the plan keeps stays.
        referenced: (name) => (goes(plan.steps, name) ? undefined : 'the plan, which keeps it'),
        holderIsLive: holder.isLive,
        ...(keep === undefined ? {} : { keep }),
        ...(graceMs === undefined ? {} : { graceMs }),
      });
      tellCollected(out, collected, false, placement.folder);
      break;
    }
  }
  return exitCode.done;
}

/** Whether a plan removes a name: its calls quote it. */
function goes(steps: PlanFile['plan']['steps'], name: string): boolean {
  return steps.some(({ calls }) => calls.some((call) => call.includes(`"${name}"`)));
}
