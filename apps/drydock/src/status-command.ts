import type { KubeClient } from '@drydock/kube';
import type { Command } from 'commander';
import { clusterStandings, isLed, type StandingsFlags } from './cluster-standings.ts';
import { type ClusterFlags, clusterFlags, connect } from './connect.ts';
import { exitCode, UsageError } from './exit.ts';
import { untilInterrupted } from './interruption.ts';
import { setsNamed } from './machines/command.ts';
import { type OutputFormat, outputOption, sayAs } from './output/format.ts';
import {
  checkCode,
  checkText,
  leaderText,
  NO_SETS,
  printStatus,
  type Shown,
  type StatusNow,
  stuckText,
  troublesText,
} from './status.ts';
import { LEASE_NAMESPACE, statusNotes } from './status-notes.ts';
import { say, sayError, tell } from './terminal.ts';
import { clusterTreeNow } from './tree/cluster-tree.ts';
import { upgradeVerdicts, verdictText } from './verdict.ts';

interface StatusFlags extends ClusterFlags {
  readonly output: OutputFormat;
  readonly headers: boolean;
  readonly check?: boolean;
  readonly watch?: boolean;
  readonly allNamespaces?: boolean;
  readonly leaseNamespace: string;
}

/** Adds `drydock status`: every machine set's boot image, what is being done about it and why not. It only reads. */
export function addStatus(program: Command): void {
  const command = program
    .command('status')
    .description('show the boot image of every machine set')
    .argument('[set...]', 'names, also as ms/NAME, cpms/NAME or capi-md/NAME (default: all)')
    .addOption(outputOption({ names: true }))
    .option('-w, --watch', 'go on and show what changes: on a terminal the whole again, elsewhere a line each')
    .option('-A, --all-namespaces', 'sets of all namespaces, with a column for these (default where -n names none)')
    .option('--no-headers', 'leave the first line and the header out')
    .option('--check', 'answer "can I scale now?" as the page does, also by the exit code')
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .addHelpText(
      'after',
      `
Example:
  drydock status worker-a --watch

With --check: 0 each managed machine set is ready, 3 one of them is not, 5 undecided: an image is on its way, or nobody can tell. Machine sets
that Drydock skips on purpose are counted, and change no exit code.

Exit codes: 0 shown, 1 failed, 2 usage, 3 and 5 of --check, 130 and 143 interrupted, which is how --watch ends.`,
    );
  clusterFlags(command).action((names: readonly string[], flags: StatusFlags) =>
    untilInterrupted((signal) => status(names, flags, signal), 'nothing was changed'),
  );
}

async function status(
  names: readonly string[],
  { allNamespaces, ...flags }: StatusFlags,
  signal: AbortSignal,
): Promise<number> {
  if (flags.watch === true && flags.check === true)
    throw new UsageError('--check answers once, and --watch goes on: use one of them');
  await using client = await connect(flags);
  const { namespace: _, ...everywhere } = flags;
  const where = allNamespaces === true ? everywhere : flags;
  const look = async (): Promise<StatusNow> => statusNow(client, { names, flags: where, signal });
  if (flags.watch === true) {
    const { watchStatus } = await import('./status-watch.ts');
    const shown = { format: flags.output, headers: flags.headers, namespaces: allNamespaces === true };
    return await watchStatus({ client, look, shown, leaseNamespace: flags.leaseNamespace, signal });
  }
  const now = await look();
  show(now, { format: flags.output, headers: flags.headers, namespaces: allNamespaces === true });
  if (now.scale === undefined) return exitCode.done;
  tell(checkText(now.scale));
  return checkCode(now.scale);
}

async function statusNow(
  client: KubeClient,
  {
    names,
    flags,
    signal,
  }: {
    readonly names: readonly string[];
    readonly flags: StandingsFlags & Pick<StatusFlags, 'check'>;
    readonly signal: AbortSignal;
  },
): Promise<StatusNow> {
  // With the client of vCenters, which the checks above do without.
  const { loginsText, refusedLogins } = await import('./login-notes.ts');
  const { vcenterHealth } = await import('./vcenter-notes.ts');
  const tree = flags.check === true ? clusterTreeNow(client, flags, signal) : undefined;
  const [all, checked, notes, logins, verdicts, vcenters] = await Promise.all([
    tree ?? clusterStandings(client, flags, signal),
    tree,
    statusNotes(client, flags.leaseNamespace),
    refusedLogins(client, flags.leaseNamespace),
    upgradeVerdicts(client, signal),
    vcenterHealth(client, { namespace: flags.leaseNamespace, now: new Date(), signal }),
  ]);
  const named = setsNamed(
    names,
    all.images.flatMap(({ status: said }) => said?.set ?? []),
  );
  const isAsked = (set: string): boolean => named === undefined || named.has(set);
  const images = all.images.filter(({ status: said }) => isAsked(said?.set ?? ''));
  const found = { ...all, images, notes, logins: loginsText(logins), verdicts, vcenters };
  if (checked === undefined) return found;
  const [{ scaleAnswer }, { scaleWorld }] = await Promise.all([
    import('@drydock/page'),
    import('./page/scale-world.ts'),
  ]);
  return { ...found, scale: scaleAnswer(scaleWorld(checked, logins, vcenters), isAsked) };
}

/** Data on stdout; what is so of the whole cluster, and what is wrong, on stderr, but for the first line that people read. */
function show(found: StatusNow, { format, headers, namespaces }: Shown): void {
  const { images, leader, notes, vcenters, verdicts } = found;
  const now = found.now.getTime();
  if (format.people && headers) say(leaderText(leader, now));
  else if (leader.state !== 'led') tell(leaderText(leader, now));
  tell(troublesText(found));
  if (images.length === 0 && format.people) sayError(NO_SETS);
  else sayAs(format, printStatus(images, format, { headers, now, notes, leader, verdicts, vcenters, namespaces }));
  if (format.kind === 'table') tell(stuckText(images));
  tell(verdictText(verdicts, isLed(leader), now));
}
