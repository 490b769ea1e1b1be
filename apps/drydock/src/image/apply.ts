import { jsonText, oneLine } from '@drydock/api/text';
import type { CarriedOut, ClusterPlan, ClusterStep } from '@drydock/boot-images';
import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { agreed } from '../crd/question.ts';
import { exitCode, UsageError } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type Leadership, leadershipOf, leadershipText } from '../leadership.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { shell } from '../template/next-command.ts';
import { say, sayError } from '../terminal.ts';
import { type VCenterFlags, vcenterFlags } from '../vcenter-flags.ts';
import { type ImageFlags, type ImagesTold, imageFlags, imagesOf } from './image-flags.ts';
import { type ImagePlan, readImagePlan } from './plan-file.ts';
import { planText } from './plan-text.ts';
import { isRotated } from './rotated-image.ts';

const FORMATS = ['text', 'json'] as const;

interface ApplyFlags extends ClusterFlags, VCenterFlags, ImageFlags {
  readonly output: string;
  readonly yes?: boolean;
}

/** What `image apply` prints as JSON. */
export interface ApplyOutput {
  /** Done: all of the plan is. Moved: something else would be done by now. Stopped: a step failed, or something stands in its way. Refused: nothing was changed. */
  readonly result: 'done' | 'moved' | 'stopped' | 'refused';
  /** A part of the plan was done by this command; what is left is still the plan, or another one where it moved. */
  readonly begun: boolean;
  readonly message: string;
  readonly next?: string;
  readonly leader: Leadership;
}

/** Adds `drydock image apply`: exactly what a plan says, or nothing. */
export function addApply(group: Command): void {
  const command = group
    .command('apply')
    .description('do what a plan says, or nothing where something else would be done by now (exit code 4)')
    .argument('<plan>', 'file that "plan --out" kept')
    .option('-y, --yes', 'do not ask')
    .option('-o, --output <format>', FORMATS.join('|'), 'text')
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
  const format = FORMATS.find((known) => known === flags.output);
  if (format === undefined)
    throw new UsageError(`unknown output format ${flags.output}: use one of ${FORMATS.join(', ')}`);
  const images = await imagesOf(flags);
  const plan = await readImagePlan(path);
  const { planDifference } = await import('@drydock/boot-images');
  const { isDead } = await import('./plan-leader.ts');
  await using client = await connect(flags);
  const led = { role: 'boot-images', namespace: images.leaseNamespace } as const;
  const leader = await leadershipOf(client, led, { signal });
  const end = endOf(format, path, plan, leader);
  if (leader.state === 'led' && !isDead(leader.holder)) return end(ledBy(leader, images.leaseNamespace));
  const left = await leftOf(plan, { client, flags, images, leader, signal });
  const difference = planDifference(plan, left);
  if (difference !== undefined) return end({ kind: 'moved', why: difference, begun: false });
  const steps = left.steps.filter((step) => isPlanned(plan, step));
  if (steps.length === 0) return end({ kind: 'nothing' });
  if (format === 'text') say(planText({ ...left, steps, rest: [] }));
  if (!(await agreed('Do this?', { yes: flags.yes === true, signal })))
    return end({
      ...{ kind: 'refused', code: exitCode.undecided, why: 'nothing was changed: that needs a yes' },
      next: shell`drydock image apply ${path} --yes`,
    });
  const { leadPlan } = await import('./plan-leader.ts');
  const outcome = await leadPlan(plan, { client, flags, images, signal });
  if (outcome !== undefined) return end(outcome);
  const now = await leadershipOf(client, led, { signal });
  return end(now.state === 'led' ? ledBy(now, images.leaseNamespace) : untaken(now));
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

/** Why nothing was tried. */
interface Refused {
  readonly kind: 'refused';
  readonly code: number;
  readonly why: string;
  readonly next?: string;
}

function ledBy(leader: Extract<Leadership, { readonly state: 'led' }>, namespace: string): Refused {
  const why = `${leadershipText(leader, 'boot images', Date.now())}, and does what is to be done itself: nothing was changed`;
  // Another apply ends by itself, and so does who was told to pause.
  const next =
    leader.holder.startsWith('apply/') || leader.paused !== undefined
      ? 'wait until it has ended'
      : `drydock pause --role boot-images${namespace === LEASE_NAMESPACE ? '' : shell` --lease-namespace ${namespace}`}, this again, and then drydock resume`;
  return { kind: 'refused', code: exitCode.blocked, why, next };
}

function untaken(leader: Leadership): Refused {
  const why = `the Lease drydock-boot-images could not be taken, and nothing was changed: ${leadershipText(leader, 'boot images', Date.now())}`;
  return { kind: 'refused', code: exitCode.failed, why, next: 'drydock doctor' };
}

/** How it ended; nothing: all of the plan was done before. */
type Ended = CarriedOut | Refused | { readonly kind: 'nothing' };

/** Tells how it ended: data on stdout, what a person should know on stderr. */
function endOf(
  format: (typeof FORMATS)[number],
  path: string,
  plan: ImagePlan,
  leader: Leadership,
): (outcome: Ended) => number {
  const replan = shell`drydock image plan ${'SETS'} --out ${path}`.replace(
    'SETS',
    plan.sets === undefined ? '' : plan.sets.map((set) => shell`${set}`).join(' '),
  );
  return (outcome) => {
    const { code, ...output } = told(outcome, replan.replace('  ', ' '));
    if (format === 'json') say(`${jsonText({ ...output, leader } satisfies ApplyOutput, 2)}\n`);
    const { message, next } = output;
    if (code !== exitCode.done) sayError(oneLine(`drydock: ${message}${next === undefined ? '' : `. Next: ${next}`}`));
    else if (format === 'text') say(`${oneLine(message)}\n`);
    return code;
  };
}

function told(outcome: Ended, replan: string): Omit<ApplyOutput, 'leader'> & { readonly code: number } {
  switch (outcome.kind) {
    case 'nothing':
      return { code: exitCode.done, result: 'done', begun: false, message: 'Nothing of the plan is left to do.' };
    case 'done':
      return { code: exitCode.done, result: 'done', begun: true, message: 'All of the plan is done.' };
    case 'moved': {
      const { why, begun } = outcome;
      const message = begun
        ? `the world moved while the plan was carried out, and nothing more is done: ${why}`
        : `the plan is not what would be done by now, and nothing was changed: ${why}`;
      return { code: exitCode.moved, result: 'moved', begun, message, next: replan };
    }
    case 'stopped': {
      const { set, why, nextStep, blocked } = outcome;
      return {
        ...{ code: blocked ? exitCode.blocked : exitCode.failed, result: 'stopped', begun: true },
        message: set === undefined ? why : `${set}: ${why}`,
        next: nextStep ?? 'drydock status',
      };
    }
    case 'refused': {
      const { code, why, next } = outcome;
      return { code, result: 'refused', begun: false, message: why, ...(next === undefined ? {} : { next }) };
    }
  }
}
