import type { CarriedOut, ClusterPlan, ClusterStep } from '@drydock/boot-images';
import type { Command } from 'commander';
import { agreed } from '../confirmation.ts';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { elsewhereOf, type Leadership, leadershipOf } from '../leadership.ts';
import { type OutputFormat, outputOption } from '../output/format.ts';
import {
  ledByOther,
  ledInOther,
  moved,
  type PlanEnd,
  type PlannedRole,
  refused,
  tellEnd,
  untaken,
} from '../plan-end.ts';
import { shell } from '../template/next-command.ts';
import { say, sayError } from '../terminal.ts';
import { type VCenterFlags, vcenterFlags } from '../vcenter-flags.ts';
import { type ImageFlags, type ImagesTold, imageFlags, imagesOf } from './image-flags.ts';
import { type ImagePlan, readImagePlan } from './plan-file.ts';
import { planText } from './plan-text.ts';
import { isRotated } from './rotated-image.ts';

interface ApplyFlags extends ClusterFlags, VCenterFlags, ImageFlags {
  readonly output: OutputFormat;
  readonly yes?: boolean;
}

/** Adds `drydock image apply`: exactly what a plan says, or nothing. */
export function addApply(group: Command): void {
  const command = group
    .command('apply')
    .description('do what a plan says, or nothing where something else would be done by now (exit code 4)')
    .argument('<plan>', 'file that "plan --out" kept')
    .option('-y, --yes', 'do not ask')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
It holds the Lease of the operator while it works, and needs the rights of the operator. Interrupted or killed at any point, the same command, or an operator, completes it.
Exit codes: 0 done, 1 failed, 2 usage, 3 an operator leads, or something stops a set, 4 the world moved, 5 nobody said yes, 130 and 143 interrupted.`,
    );
  imageFlags(vcenterFlags(clusterFlags(command))).action((path: string, flags: ApplyFlags) =>
    untilInterrupted(
      (signal) => apply(path, flags, signal),
      shell`what is done is done, and drydock image apply ${path} goes on`,
    ),
  );
}

async function apply(path: string, flags: ApplyFlags, signal: AbortSignal): Promise<number> {
  const images = await imagesOf(flags);
  const plan = await readImagePlan(path);
  const { planDifference } = await import('@drydock/boot-images');
  const { isDead } = await import('../plan-lease.ts');
  await using client = await connect(flags);
  const led: PlannedRole = { role: 'boot-images', what: 'boot images', namespace: images.leaseNamespace };
  const leader = await leadershipOf(client, led, { signal });
  const end = (how: PlanEnd): number => tellEnd(flags.output, how, leader);
  if (leader.state === 'led' && !isDead(leader.holder)) return end(ledByOther(leader, led));
  const elsewhere = elsewhereOf(leader);
  if (elsewhere !== undefined)
    return end(ledInOther(leader, led, shell`drydock image apply ${path} --lease-namespace ${elsewhere}`));
  const left = await leftOf(plan, { client, flags, images, leader, signal });
  const difference = planDifference(plan, left);
  if (difference !== undefined) return end(moved(difference, false, replan(path, plan)));
  const steps = left.steps.filter((step) => isPlanned(plan, step));
  if (steps.length === 0) return end(NOTHING_LEFT);
  if (flags.output.people) say(planText({ ...left, steps, rest: [] }));
  if (!(await agreed('Do this?', { yes: flags.yes === true, signal })))
    return end(
      refused(exitCode.undecided, 'nothing was changed: that needs a yes', shell`drydock image apply ${path} --yes`),
    );
  const { leadPlan } = await import('./plan-leader.ts');
  const outcome = await leadPlan(plan, { client, flags, images, signal });
  if (outcome !== undefined) return end(told(outcome, replan(path, plan)));
  const now = await leadershipOf(client, led, { signal });
  return end(now.state === 'led' ? ledByOther(now, led) : untaken(now, led));
}

/** What would be done now, of what the plan was made for. */
async function leftOf(
  plan: ImagePlan,
  {
    client,
    flags,
    images,
    leader,
    signal,
  }: {
    readonly client: Awaited<ReturnType<typeof connect>>;
    readonly flags: ApplyFlags;
    readonly images: ImagesTold;
    readonly leader: Leadership;
    readonly signal: AbortSignal;
  },
): Promise<ClusterPlan> {
  const { idOf, keptSets } = await import('@drydock/boot-images');
  const { clusterImages } = await import('../cluster-images.ts');
  const { downgrade, stubSecret, templates: publication, keep: retain } = plan.told;
  const warn = (message: string): void => sayError(`warning: ${message}`);
  // Whoever leads is dead, or nobody does.
  const vacant: Leadership = leader.state === 'led' ? { ...leader, state: 'vacant' } : leader;
  await using cluster = await clusterImages({
    ...{ client, flags, downgrade, stubSecret, publication, retain, leader: vacant, warn, signal },
    ...images,
  });
  const sets = keptSets(cluster.world).filter((set) => plan.sets?.includes(idOf(set)) !== false);
  const some = plan.sets !== undefined;
  const ours = await cluster.plan(sets, { some });
  const rotated = plan.sets?.filter(isRotated) ?? [];
  if (some && rotated.length === 0) return ours;
  const { withClusterApi } = await import('./rotated-plan.ts');
  return withClusterApi(ours, rotated, {
    ...{ client, cluster, flags, images, warn, signal, retain, namespace: undefined },
  });
}

/** Whether a step is one of the plan: what else could be taken away by now stays. */
function isPlanned({ steps }: ClusterPlan, step: ClusterStep): boolean {
  if (step.kind === 'collect') return steps.some((one) => one.kind === 'collect' && one.name === step.name);
  if (step.kind !== 'copy') return true;
  return steps.some((one) => one.kind === 'copy' && one.template === step.template && one.does === step.does);
}

const NOTHING_LEFT: PlanEnd = {
  ...{ code: exitCode.done, result: 'done', begun: false, message: 'Nothing of the plan is left to do.' },
};

/** What makes another plan for the same sets. */
function replan(path: string, { sets = [] }: ImagePlan): string {
  return ['drydock image plan', ...sets.map((set) => shell`${set}`), shell`--out ${path}`].join(' ');
}

function told(outcome: CarriedOut, next: string): PlanEnd {
  switch (outcome.kind) {
    case 'done':
      return { code: exitCode.done, result: 'done', begun: true, message: 'All of the plan is done.' };
    case 'moved':
      return moved(outcome.why, outcome.begun, next);
    case 'stopped': {
      const { set, why, nextStep, blocked } = outcome;
      return {
        ...{ code: blocked ? exitCode.blocked : exitCode.failed, result: 'stopped', begun: true },
        message: set === undefined ? why : `${set}: ${why}`,
        next: nextStep ?? 'drydock status',
      };
    }
  }
}
