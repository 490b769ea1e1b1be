import { ClusterVersion, Payload } from '@drydock/api';
import { oneLine } from '@drydock/api/text';
import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type Leadership, leadershipOf, leadershipText } from '../leadership.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { objectName } from '../output/names.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { type Column, table } from '../table.ts';
import { sayError } from '../terminal.ts';
import { type ManagedRelease, managedReleases, NOT_SEEN, type ReleaseEntry, releaseNamed } from './managed.ts';

interface Flags extends ClusterFlags {
  readonly output: OutputFormat;
}

interface StatusFlags extends Flags {
  readonly check?: boolean;
  readonly leaseNamespace: string;
}

/** Adds `release status`: what the cluster's releases are doing. It only reads. */
export function addStatus(group: Command): void {
  clusterFlags(
    group
      .command('status')
      .description('show the releases that a cluster has, what is being done about them, and what holds them up'),
  )
    .addOption(outputOption({ names: true }))
    .option('--check', 'answer by the exit code whether all releases are complete')
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .addHelpText(
      'after',
      `
With --check: 0 all releases are complete, 3 one fails or is refused, 5 undecided: one is being applied, its newest spec was not seen
yet, or nobody leads.

Exit codes: 0 shown, 1 failed, 2 usage, 3 and 5 of --check, 130 and 143 interrupted.`,
    )
    .action((flags: StatusFlags) => untilInterrupted((signal) => status(flags, signal), 'nothing was changed'));
}

/** Adds `release history`: the releases that were applied, the newest first. It only reads. */
export function addHistory(group: Command): void {
  clusterFlags(
    group
      .command('history')
      .description('show the releases that were applied, the newest first, and what was accepted about each'),
  )
    .argument('[name]', 'a Payload, or version for ClusterVersion; not needed where there is only one')
    .addOption(outputOption())
    .action((name: string | undefined, flags: Flags) =>
      untilInterrupted((signal) => history(name, flags, signal), 'nothing was changed'),
    );
}

async function status(flags: StatusFlags, signal: AbortSignal): Promise<number> {
  await using client = await connect(flags);
  const [{ releases, unread }, leader] = await Promise.all([
    managedReleases(client, signal),
    leadershipOf(client, { role: 'release', namespace: flags.leaseNamespace }, { signal }),
  ]);
  for (const why of unread) sayError(`drydock: ${why}`);
  const value = { leader, releases: releases.map(({ history: _history, ...one }) => one) };
  print(
    flags.output,
    value,
    () => `${oneLine(leadershipText(leader, 'releases', Date.now()))}\n${statusText(releases, flags.output.wide)}`,
    () => releases.map(resourceOf),
  );
  return flags.check === true ? checkCode(releases, leader) : exitCode.done;
}

/** Who is not told of a trouble may be none: with nobody who looks, or a spec that nobody has seen, the conditions are of another time. */
function checkCode(releases: readonly ManagedRelease[], leader: Leadership): number {
  const has = (type: string, is: string): boolean =>
    releases.some((release) => conditionOf(release, type)?.status === is);
  if (TROUBLE.some(([type, when]) => when !== 'Unknown' && has(type, when))) return exitCode.blocked;
  const isOld = leader.state !== 'led' || releases.some(({ progress }) => progress === NOT_SEEN);
  const isUnderWay = has('Progressing', 'True') || has('Failing', 'Unknown');
  return isOld || isUnderWay ? exitCode.undecided : exitCode.done;
}

async function history(name: string | undefined, flags: Flags, signal: AbortSignal): Promise<number> {
  await using client = await connect(flags);
  const { releases } = await managedReleases(client, signal);
  const release = releaseNamed(releases, name);
  const value = { name: release.name, history: release.history };
  print(flags.output, value, () =>
    release.history.length === 0 ? `${release.name}: nothing was applied yet.\n` : table(ENTRIES, release.history),
  );
  return exitCode.done;
}

/** `ClusterVersion version` as kubectl takes it. */
function resourceOf({ name: said }: ManagedRelease): string {
  const [kind = '', name = ''] = said.split(' ');
  return objectName({ group: kind === 'Payload' ? Payload.group : ClusterVersion.group, kind, name });
}

const conditionOf = ({ conditions }: ManagedRelease, type: string): ManagedRelease['conditions'][number] | undefined =>
  conditions.find((one) => one.type === type);
const said = (release: ManagedRelease, type: string): string => {
  const found = conditionOf(release, type);
  if (found === undefined) return '';
  return found.status === 'True' || found.reason === undefined || found.reason === 'AsExpected'
    ? found.status
    : `${found.status} (${found.reason})`;
};

const RELEASES: readonly Column<ManagedRelease>[] = [
  { header: 'NAME', cell: ({ name }) => name },
  { header: 'VERSION', cell: ({ version = '' }) => version },
  {
    header: 'PROGRESS',
    cell: (one) => one.progress ?? (conditionOf(one, 'Progressing')?.status === 'True' ? 'applying' : '-'),
  },
  { header: 'FAILING', cell: (one) => said(one, 'Failing') },
  { header: 'ACCEPTED', cell: (one) => said(one, 'ReleaseAccepted') },
  { header: 'UPGRADEABLE', cell: (one) => said(one, 'Upgradeable') },
  { header: 'ROLLBACKABLE', cell: (one) => said(one, 'Rollbackable') },
];

const ENTRIES: readonly Column<ReleaseEntry>[] = [
  { header: 'VERSION', cell: ({ version = '' }) => version },
  { header: 'STATE', cell: ({ state = '' }) => state },
  { header: 'BEGUN', cell: ({ startedTime = '' }) => startedTime },
  { header: 'ENDED', cell: ({ completionTime = '' }) => completionTime },
  { header: 'VERIFIED', cell: ({ verified = false }) => (verified ? 'yes' : 'no') },
  { header: 'ACCEPTED', cell: ({ acceptedRisks = '' }) => acceptedRisks },
  { header: 'IMAGE', cell: ({ image = '' }) => image },
];

/** What holds a release up, or cannot be followed. */
const TROUBLE: readonly (readonly [type: string, when: string])[] = [
  ['Invalid', 'True'],
  ['ReleaseAccepted', 'False'],
  ['Failing', 'True'],
  ['Failing', 'Unknown'],
];

function statusText(releases: readonly ManagedRelease[], wide: boolean): string {
  if (releases.length === 0) return 'There is neither a Payload nor a ClusterVersion here.\n';
  const notes = releases.flatMap((release) => {
    const troubles = TROUBLE.flatMap(([type, when]) => {
      const found = conditionOf(release, type);
      return found?.status === when ? [`${release.name}: ${oneLine(found.message ?? found.reason ?? type)}`] : [];
    });
    const told = wide
      ? release.conditions.map(
          ({ type, status: is, message = '' }) => `${release.name}: ${type} is ${is}. ${oneLine(message)}`,
        )
      : troubles;
    return [
      ...told,
      ...release.waiting.map(
        ({ object, why = '', since = '' }) =>
          `${release.name} waits for ${oneLine(`${object} (${why}) since ${since}`)}`,
      ),
    ];
  });
  return [table(RELEASES, releases), ...notes.map((line) => `${line}\n`)].join('');
}
