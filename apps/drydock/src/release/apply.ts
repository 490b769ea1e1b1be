import { oneLine } from '@drydock/api/text';
import { type KubeClient, systemClock } from '@drydock/kube';
import type { ApplyError, ApplyOutcome, ApplyProgress, ApplyWish } from '@drydock/release';
import type { Command } from 'commander';
import { FOR_MANY_WRITES } from '../account-clients.ts';
import { agreed } from '../confirmation.ts';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { count } from '../count.ts';
import { exitCode } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { elsewhereOf, leadershipOf } from '../leadership.ts';
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
import { isDead, type Led, underLease } from '../plan-lease.ts';
import { shell } from '../template/next-command.ts';
import { say, sayError } from '../terminal.ts';
import { applyProgressLine } from './apply-progress.ts';
import { type RegistryFlags, registryFlags } from './payload-source.ts';
import { planText } from './plan.ts';
import { type ReleasePlan, readReleasePlan } from './plan-file.ts';
import { plannedNow, standsAgainst } from './planned.ts';

interface ApplyFlags extends ClusterFlags, RegistryFlags {
  readonly yes?: true;
  readonly output: OutputFormat;
}

/** Adds `release apply`: exactly what a plan says, or nothing. */
export function addApply(group: Command): void {
  registryFlags(
    clusterFlags(
      group
        .command('apply')
        .description('do what a plan says, or nothing where something else would be done by now (exit code 4)')
        .argument('<plan>', 'file that "plan --out" kept'),
    ),
  )
    .option('-y, --yes', 'do not ask')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
It holds the Lease of the operator while it works, in the namespace that the plan was made with ("plan --lease-namespace"), and writes with the rights of whoever calls it. Interrupted or killed at any point, the same command, or an operator, goes on.
Exit codes: 0 done, 1 failed, 2 usage, 3 an operator leads, or something stops it, 4 the world moved, 5 nobody said yes, 130 and 143 interrupted.`,
    )
    .action((path: string, flags: ApplyFlags) =>
      untilInterrupted((signal) => apply(path, flags, signal), 'nothing was changed'),
    );
}

async function apply(path: string, flags: ApplyFlags, signal: AbortSignal): Promise<number> {
  const plan = await readReleasePlan(path);
  const { told } = plan;
  await using client = await connect(flags, FOR_MANY_WRITES);
  const role: PlannedRole = { role: 'release', what: 'releases', namespace: told.leaseNamespace };
  const leader = await leadershipOf(client, role, { signal });
  const end = (how: PlanEnd): number => tellEnd(flags.output, how, leader);
  if (leader.state === 'led' && !isDead(leader.holder)) return end(ledByOther(leader, role));
  const leaseNamespace = elsewhereOf(leader);
  if (leaseNamespace !== undefined)
    return end(ledInOther(leader, role, replan(path, { ...plan, told: { ...told, leaseNamespace } })));
  const now = await plannedNow({ ...told, mode: plan.mode, owner: plan.owner }, client, { ...flags, ...told }, signal);
  const against = await standsAgainst(plan, { image: now.seen.digest }, client, { signal });
  if (against !== undefined) return end(refused(exitCode.blocked, `nothing was changed: ${against.why}`, against.next));
  const { idText, planDifference } = await import('@drydock/release');
  const difference = elsewhere(plan, now) ?? planDifference(plan, now.plan);
  if (difference !== undefined) return end(moved(difference, false, replan(path, plan)));
  const { counts } = now.plan;
  if (counts.refuse > 0)
    return end(
      refused(
        exitCode.blocked,
        `nothing was changed: ${count(counts.refuse, 'object')} of the plan cannot be touched, as the plan says`,
        replan(path, plan),
      ),
    );
  const steps = counts.create + counts.update + counts.delete + counts.wait;
  if (flags.output.people) say(planText(now.plan, false, idText));
  if (steps > 0 && !(await agreed('Do this?', { yes: flags.yes === true, signal }))) {
    const next = shell`drydock release apply ${path} --yes`;
    return end(refused(exitCode.undecided, 'nothing was changed: that needs a yes', next));
  }
  const done = await underLease((led) => carriedOut(path, { plan, wish: now.wish, client, led, user: signal }), {
    ...{ client, role: 'release', namespace: told.leaseNamespace, signal },
  });
  if (done instanceof Error) throw done;
  if (done !== undefined) return end(done);
  const after = await leadershipOf(client, role, { signal });
  return end(after.state === 'led' ? ledByOther(after, role) : untaken(after, role));
}

/** The payload or the cluster is another one. */
function elsewhere(
  { told }: ReleasePlan,
  now: { readonly cluster: string; readonly manifests: string },
): string | undefined {
  if (told.cluster !== now.cluster)
    return `the plan was made for cluster ${told.cluster || '(unknown)'}, and this is ${now.cluster || '(unknown)'}`;
  if (told.manifests !== now.manifests) return `the payload at ${told.payload} has changed since the plan was made`;
  return undefined;
}

/** What makes another plan of the same. */
function replan(path: string, { mode, owner, told }: ReleasePlan): string {
  const { payload, leaseNamespace, profile, featureSet, gate, capabilities, plain, architecture } = told;
  const flags = [
    ...['--profile', profile, '--feature-set', featureSet, '--mode', mode, '--owner', owner],
    ...['--lease-namespace', leaseNamespace, ...gate.flatMap((one) => ['--gate', one])],
    ...(capabilities === undefined ? [] : ['--capabilities', capabilities]),
    ...(plain === undefined ? [] : ['--plain']),
    ...(architecture === undefined ? [] : ['--architecture', architecture]),
  ];
  return ['drydock release plan', ...[payload, ...flags, '--out', path].map((word) => shell`${word}`)].join(' ');
}

/** Does what the plan says. Rejects where the person interrupts it, with what stands. */
async function carriedOut(
  path: string,
  {
    plan,
    wish,
    client,
    led,
    user,
  }: {
    readonly plan: ReleasePlan;
    readonly wish: ApplyWish;
    readonly client: KubeClient;
    readonly led: Led;
    readonly user: AbortSignal;
  },
): Promise<PlanEnd | Error> {
  const { applyPayload, configMapInventory, idText, keptTo } = await import('@drydock/release');
  const agreedTo = keptTo(plan);
  let begun = false;
  let outcome: ApplyOutcome;
  {
    using line = applyProgressLine(process.stderr, idText);
    outcome = await applyPayload(wish, {
      ...{
        client,
        clock: systemClock,
        signal: led.signal,
        onProgress: (progress: ApplyProgress) => line.show(progress),
      },
      inventory: configMapInventory({ client, namespace: plan.told.leaseNamespace }),
      objection: (step, manifest, live) => {
        const why = agreedTo(step, manifest, live);
        begun ||= why === undefined;
        return why;
      },
    });
  }
  for (const { object, finalizers } of outcome.deletions)
    sayError(
      oneLine(
        `${idText(object)} is being deleted${finalizers.length === 0 ? '' : `, once ${finalizers.join(', ')} lets it go`}`,
      ),
    );
  const far = `${outcome.progress.done} of ${count(outcome.progress.total, 'object')}`;
  const goesOn = shell`drydock release apply ${path}`;
  // Thrown it would keep the Lease until that expires, as if something were still written.
  if (user.aborted)
    return new Error(
      oneLine(`${far} are as release ${plan.version} says, and the others as they were; ${goesOn} goes on`),
    );
  if (outcome.complete)
    return {
      code: exitCode.done,
      result: 'done',
      begun,
      message: `All of the plan is done: ${far} are as they should be.`,
    };
  const other = outcome.errors.find(({ reason }) => reason === 'PlanMoved');
  if (other !== undefined) return moved(sentenceOf(other), begun, replan(path, plan));
  for (const { message, nextStep } of outcome.errors) sayError(oneLine(`${message}. ${nextStep}`));
  const [first] = outcome.errors;
  const why =
    first === undefined
      ? 'the Lease drydock-release was lost'
      : `${count(outcome.errors.length, 'object')} could not be applied, the first is ${idText(first.object)}`;
  return {
    ...{ code: exitCode.failed, result: 'stopped', begun },
    message: `${far} are as they should be: ${why}`,
    next: goesOn,
  };
}

/** The message without the place in the payload: what moved is in the cluster. */
function sentenceOf({ message }: ApplyError): string {
  return message.slice(message.indexOf('): ') + 3);
}
