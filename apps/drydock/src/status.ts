import { BootImage } from '@drydock/api';
import { oneLine } from '@drydock/api/text';
import type { Read, VCenterHealth } from '@drydock/page';
import type { Command } from 'commander';
import { clusterStandings, isLed } from './cluster-standings.ts';
import { type ClusterFlags, clusterFlags, connect } from './connect.ts';
import { exitCode } from './exit.ts';
import { untilInterrupted } from './interruption.ts';
import { type Leadership, leadershipText, pausedOf } from './leadership.ts';
import { formatted, type OutputFormat, outputOption, sayAs } from './output/format.ts';
import { RESUME } from './pause/pause.ts';
import { LEASE_NAMESPACE, type StatusNotes, statusNotes } from './status-notes.ts';
import { age, type Column, table, terminalWidth } from './table.ts';
import { say, sayError, tell } from './terminal.ts';
import { healthText } from './vcenter-health.ts';
import { type UpgradeVerdicts, upgradeVerdicts, verdictText } from './verdict.ts';

interface StatusFlags extends ClusterFlags {
  readonly output: OutputFormat;
  readonly headers: boolean;
  readonly check?: boolean;
  readonly leaseNamespace: string;
}

const columns = (now: number, notes: StatusNotes | undefined): readonly Column<BootImage>[] => [
  { header: 'NAME', cell: (image) => image.metadata.name },
  { header: 'PLATFORM', cell: (image) => image.status?.platform ?? '' },
  { header: 'SET', cell: (image) => image.status?.set ?? '' },
  { header: 'CURRENT', cell: (image) => image.status?.current ?? '' },
  { header: 'TARGET', cell: (image) => image.status?.target ?? '' },
  { header: 'PHASE', cell: (image) => image.status?.phase ?? '' },
  { header: 'PROGRESS', cell: (image) => image.status?.progress ?? '' },
  { header: 'SINCE', cell: (image) => age(image.status?.since, now) },
  { header: 'REVERT-TO', cell: (image) => image.status?.revertTo ?? '' },
  ...(notes === undefined
    ? []
    : [{ header: 'STATUS-WRITES', cell: (image: BootImage) => writesText(image, notes, now) }]),
  { header: 'TEMPLATE', cell: (image) => image.status?.template?.name ?? '', wide: true },
  { header: 'MESSAGE', cell: (image) => image.status?.message ?? '', wide: true },
  { header: 'NEXT', cell: (image) => image.status?.nextStep ?? '', wide: true },
];

/** The text of `drydock status` in one of its formats. JSON and YAML are a List, also for one object. */
export function printStatus(
  images: readonly BootImage[],
  format: OutputFormat,
  options: {
    readonly headers: boolean;
    readonly now: number;
    readonly notes?: StatusNotes | undefined;
    readonly leader?: Leadership;
    readonly verdicts?: UpgradeVerdicts;
    readonly vcenters?: Read<readonly VCenterHealth[]>;
  },
): string {
  const { wide } = format;
  const text = (): string =>
    table(columns(options.now, options.notes), images, { wide, headers: options.headers, width: terminalWidth() });
  const names = (): readonly string[] => images.map(({ metadata }) => `bootimage.drydock.dev/${metadata.name}`);
  return formatted(format, listOf(images, options), text, names);
}

function listOf(
  images: readonly BootImage[],
  {
    notes,
    leader,
    verdicts,
    vcenters,
  }: {
    readonly notes?: StatusNotes | undefined;
    readonly leader?: Leadership;
    readonly verdicts?: UpgradeVerdicts;
    readonly vcenters?: Read<readonly VCenterHealth[]>;
  },
): unknown {
  return {
    apiVersion: 'v1',
    kind: 'List',
    ...(leader === undefined ? {} : { leader }),
    ...(verdicts?.kind === 'read' ? { upgradeVerdicts: verdicts.verdicts } : {}),
    ...(notes === undefined ? {} : { statusWrites: notes }),
    ...(vcenters?.kind === 'read' && vcenters.value.length > 0 ? { vcenters: vcenters.value } : {}),
    items: images.map((image) => ({ ...image, apiVersion: 'drydock.dev/v1alpha1', kind: 'BootImage' })),
  };
}

const DEFINITION = `${BootImage.plural}.${BootImage.group}`;

/** `degraded 5m`: the row is as old as it says, or lacks something. */
function writesText({ metadata }: BootImage, { noted }: StatusNotes, now: number): string {
  const name = metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
  const note = noted.find(({ definition, object }) => definition === DEFINITION && object === name);
  return note === undefined ? '' : `${note.state} ${age(note.since, now)}`;
}

/** What the operator cannot write into statuses, a line each: what is shown may be old, or not everything. */
export function notesText({ noted, more, asOf }: StatusNotes, now: number): string {
  const lines = noted.map(({ definition, object, state, since, why }) => {
    const what = state === 'blocked' ? 'is not written' : 'is not written whole';
    return `${oneLine(`The status of ${definition} ${object} ${what} since ${age(since, now)}: ${why}`)}\n`;
  });
  if (more > 0) lines.push(`And ${more} more.\n`);
  // Its holder renews a Lease every two seconds.
  const silent = now - Date.parse(asOf);
  if (silent > 60_000) lines.push(`The operator said so ${age(asOf, now)} ago, and nothing since.\n`);
  return lines.join('');
}

/** Where sets are stuck: what says why. */
export function stuckText(images: readonly BootImage[]): string {
  const stuck = images.filter(({ status }) => status?.phase === 'Failed' || status?.phase === 'Blocked');
  const [first] = stuck;
  if (first === undefined) return '';
  const set = first.spec?.machineSet?.name ?? '';
  const [number, verb] = stuck.length === 1 ? ['One set', 'is'] : [`${stuck.length} sets`, 'are'];
  return `${number} ${verb} stuck. Why: drydock status -o wide, or drydock explain${set === '' ? '' : ` ${set}`}\n`;
}

/** Who keeps these images current, and since when; and what to do where nobody does. */
export function leaderWords(leader: Leadership, now: number): { readonly text: string; readonly nextStep?: string } {
  const said = oneLine(leadershipText(leader, 'boot images', now));
  // Not the name of a holder.
  const text = said.replace(/^(?:nobody|who) /, (word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`);
  if (pausedOf(leader) !== undefined) return { text, nextStep: RESUME };
  const vacant = leader.state === 'vacant' || leader.state === 'never';
  return vacant ? { text, nextStep: 'drydock operator' } : { text };
}

/** The first line: {@link leaderWords}. */
export function leaderText(leader: Leadership, now: number): string {
  const { text, nextStep } = leaderWords(leader, now);
  const what = nextStep === RESUME ? 'To go on' : 'Start one';
  return `${text}${nextStep === undefined ? '' : `. ${what}: ${nextStep}`}\n`;
}

/** What stands as the operator said it last, because nobody could look. */
export function unreadText(unread: readonly string[]): string {
  return unread.map((what) => `What could not be read is as the operator said it last: ${oneLine(what)}\n`).join('');
}

/** The exit code of `--check`. */
export function checkCode(images: readonly BootImage[], leader: Leadership): number {
  const stuck = images.some(({ status }) => status?.phase === 'Failed' || status?.phase === 'Blocked');
  if (stuck || leader.state === 'vacant' || leader.state === 'never') return exitCode.blocked;
  return leader.state === 'unread' ? exitCode.undecided : exitCode.done;
}

/** Adds `drydock status`: every machine set's boot image, what is being done about it and why not. It only reads. */
export function addStatus(program: Command): void {
  clusterFlags(program.command('status').description('show the boot image of every machine set'))
    .addOption(outputOption({ names: true }))
    .option('--no-headers', 'leave the first line and the header out')
    .option('--check', 'exit code 3 where a set is Blocked or Failed or nobody leads, 5 where that cannot be read')
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .action((flags: StatusFlags) => untilInterrupted((signal) => status(flags, signal), 'nothing was changed'));
}

async function status(flags: StatusFlags, signal: AbortSignal): Promise<number> {
  const format = flags.output;
  await using client = await connect(flags);
  // With the client of vCenters, which the checks above do without.
  const { loginsText, refusedLogins } = await import('./login-notes.ts');
  const { vcenterHealth } = await import('./vcenter-notes.ts');
  const [all, notes, logins, verdicts, vcenters] = await Promise.all([
    clusterStandings(client, flags, signal),
    statusNotes(client, flags.leaseNamespace),
    refusedLogins(client, flags.leaseNamespace),
    upgradeVerdicts(client, signal),
    vcenterHealth(client, { namespace: flags.leaseNamespace, now: new Date(), signal }),
  ]);
  const { images, leader, now } = all;
  const { people } = format;
  if (people && flags.headers) say(leaderText(leader, now.getTime()));
  else if (leader.state !== 'led') tell(leaderText(leader, now.getTime()));
  tell(unreadText(all.unread));
  tell(loginsText(logins));
  tell(healthText(vcenters, now.getTime()));
  if (notes !== undefined) tell(notesText(notes, now.getTime()));
  if (images.length === 0 && people) sayError('There are no machine sets, and no boot images.');
  else
    sayAs(
      format,
      printStatus(images, format, { headers: flags.headers, now: now.getTime(), notes, leader, verdicts, vcenters }),
    );
  if (format.kind === 'table') tell(stuckText(images));
  tell(verdictText(verdicts, isLed(leader), now.getTime()));
  return flags.check === true ? checkCode(images, leader) : exitCode.done;
}
