import { Payload } from '@drydock/api';
import { oneLine } from '@drydock/api/text';
import type { RollbackPlan } from '@drydock/release';
import type { Command } from 'commander';
import { agreed } from '../confirmation.ts';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { elsewhereOf, type Leadership, leadershipOf, leadershipText } from '../leadership.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { patienceOption } from '../release-role.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { shell } from '../template/next-command.ts';
import { tell } from '../terminal.ts';
import { isAboutServers, objectionOf, surveyFrom } from './api-servers.ts';
import { type RegistryFlags, registryFlags } from './payload-source.ts';
import { wayOfPayload } from './payload-way.ts';
import { rollbackPlanText } from './rollback-text.ts';
import { leadRelease, type WayEnd, wayEnd } from './rollback-wait.ts';

interface RollbackFlags extends ClusterFlags, RegistryFlags {
  readonly to?: string;
  readonly accept: readonly string[];
  readonly dryRun?: true;
  readonly yes?: true;
  readonly leaseNamespace: string;
  readonly writerPatience?: number;
  readonly output: OutputFormat;
}

/** What `release rollback` prints as JSON. */
export interface RollbackOutput {
  /** Done: the older release is there, wholly. Incomplete: definitions are kept where both releases can write. Planned and refused: nothing was begun. Moved: something else would be done by now than the plan says. */
  readonly result: 'done' | 'incomplete' | 'refused' | 'planned' | 'moved';
  readonly from: string;
  readonly to: string;
  readonly message: string;
  readonly leader: Leadership['state'];
  /** Where nothing was begun. */
  readonly plan?: RollbackPlan;
}

/** Adds `release rollback`: a Payload goes back to a release of its history. */
export function addRollback(group: Command): void {
  registryFlags(
    clusterFlags(
      group
        .command('rollback')
        .description('go back to a release of a history: no writer is refused on the way, and nothing is lost'),
    ),
  )
    .argument('<payload>', 'name of a Payload')
    .option('--to <version>', 'a release of its history (default: the one before)')
    .option(
      '--accept <name>',
      'a finding that is accepted, as release preflight names it; may be repeated',
      (one: string, all: readonly string[]) => [...all, one],
      [],
    )
    .option('--dry-run', 'say what would be done, by reads alone')
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator, and of ledgers', LEASE_NAMESPACE)
    .addOption(patienceOption())
    .option('-y, --yes', 'do not ask')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Where an operator leads, the Payload asks it, and this command waits; otherwise it does it itself, under the Lease of the operator,
and asks each API server by itself: where one cannot be reached from here, it says which, and begins nothing unless that is accepted. Killed or interrupted at any point, the same command, or an operator, goes on.
To break it off, ask for the newer release again: until the first definition is narrowed nothing of it is lost.
Exit codes: 0 done, 1 failed, 2 usage, 3 refused, or definitions are kept at the bridge, 4 the world moved since the plan, 5 nobody said yes, 130 and 143 interrupted.`,
    )
    .action((name: string, flags: RollbackFlags) =>
      untilInterrupted(
        (signal) => rollback(name, flags, signal),
        'what is done is done, and drydock release rollback goes on',
      ),
    );
}

async function rollback(name: string, flags: RollbackFlags, signal: AbortSignal): Promise<number> {
  const release = await import('@drydock/release');
  const { systemClock } = await import('@drydock/kube');
  await using client = await connect(flags);
  const way = await wayOfPayload(client, name, flags, signal);
  const { wish } = way;
  const namespace = flags.leaseNamespace;
  const planned = (): Promise<RollbackPlan> =>
    release.planRollback(wish, {
      ...{ client, clock: systemClock, signal },
      inventory: release.configMapInventory({ client, namespace }),
      apply: release.applyPayload,
      kept: release.configMapKept({ client, namespace }),
      // A plan narrows nothing.
      columns: async () => [],
      onProgress: () => undefined,
    });
  const plan = await planned();
  const leader = await leadershipOf(client, { role: 'release', namespace }, { signal });
  const end = (
    result: RollbackOutput['result'],
    message: string,
    code: number,
    more: Partial<RollbackOutput> = {},
  ): number => {
    const output: RollbackOutput = { result, from: plan.from, to: plan.to, message, leader: leader.state, ...more };
    print(
      flags.output,
      output,
      () => `${more.plan === undefined ? '' : `${rollbackPlanText(plan)}\n`}${oneLine(message)}\n`,
    );
    return code;
  };
  const elsewhere = elsewhereOf(leader);
  if (elsewhere !== undefined)
    return end(
      'refused',
      `${plan.owner} stays as it is: ${leadershipText(leader, 'releases', Date.now())}, and both would act on one cluster. Next: ${shell`drydock release rollback ${name} --to ${plan.to} --lease-namespace ${elsewhere}`}`,
      exitCode.blocked,
    );
  const [stop] = plan.stops;
  if (stop !== undefined) {
    const more = plan.stops.length > 1 ? ` and ${plan.stops.length - 1} more` : '';
    const message = `${plan.owner} cannot go back to ${plan.to}: ${stop}${more}. Heal what it names, or accept it: --accept ${stop}`;
    return end('refused', message, exitCode.blocked, { plan });
  }
  // Where an operator leads it is the operator that asks them.
  const alone = leader.state === 'led' ? undefined : await surveyFrom(flags, { client, signal });
  const unheard = alone === undefined ? undefined : objectionOf(alone, flags.accept);
  if (flags.dryRun === true)
    return end(
      'planned',
      unheard === undefined ? 'Nothing was changed.' : `Nothing was changed. ${unheard}`,
      exitCode.done,
      { plan },
    );
  if (unheard !== undefined)
    return end('refused', `${plan.owner} stays as it is. ${unheard}`, exitCode.blocked, { plan });
  if (alone !== undefined && flags.as !== undefined)
    throw new UsageError(
      'nobody leads, so this command would act in the name of accounts: --as cannot be given with it',
    );
  const about = (): string =>
    `${rollbackPlanText(plan)}\n${oneLine(leadershipText(leader, 'releases', Date.now()))}.\n`;
  if (!(await agreed(`Go back to ${plan.to}?`, { yes: flags.yes === true, about, signal })))
    return end(
      'planned',
      `Nothing was changed: that needs a yes (drydock release rollback ${name} --to ${plan.to} --yes).`,
      exitCode.undecided,
      { plan },
    );
  // Whoever said yes has read for a while.
  const difference = release.rollbackDifference(plan, await planned());
  if (difference !== undefined)
    return end('moved', `The world moved since the plan, and nothing was changed: ${difference}`, exitCode.moved);
  const { spec } = await client.get(Payload, { name }, { signal });
  const risks = flags.accept.filter((one) => !isAboutServers(one));
  const acceptedRisks = [...new Set([...(spec.acceptedRisks ?? []), ...risks])];
  const asked = await client.mergePatch(
    Payload,
    { name },
    { spec: { version: plan.to, image: null, ...(acceptedRisks.length === 0 ? {} : { acceptedRisks }) } },
    { signal },
  );
  const generation = asked.metadata.generation ?? 0;
  const waiting = (until: AbortSignal): Promise<WayEnd> =>
    wayEnd(client, { name, to: plan.to, generation }, { tell: (text) => tell(`${oneLine(text)}\n`), signal: until });
  const ended =
    leader.state === 'led' ? await waiting(signal) : await leadRelease(flags, { client, plan, work: waiting, signal });
  const { done, blocked, moved } = exitCode;
  const codes = { done, incomplete: blocked, refused: blocked, moved } as const;
  return end(ended.result, ended.message, codes[ended.result]);
}
