import type { BootImage } from '@drydock/api';
import { oneLine } from '@drydock/api/text';
import type { PinWriters } from '@drydock/boot-images';
import type { KubeClient } from '@drydock/kube';
import type { Command } from 'commander';
import { clusterStandings } from '../cluster-standings.ts';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { eventsOfOurs } from '../events-of-ours.ts';
import { exitCode, UsageError } from '../exit.ts';
import { durationMs } from '../image/hold.ts';
import { untilInterrupted } from '../interruption.ts';
import { setsNamed } from '../machines/command.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { managedReleases } from '../release/managed.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { type Column, table } from '../table.ts';
import { sayError } from '../terminal.ts';
import { groupedMoves } from './grouped-moves.ts';
import { type Happening, happenings } from './happenings.ts';
import { lastWriters } from './last-writers.ts';

interface HistoryFlags extends ClusterFlags {
  readonly output: OutputFormat;
  readonly since?: string;
  readonly events: boolean;
  readonly leaseNamespace: string;
}

/** What `drydock history` prints as JSON and YAML. */
export interface HistoryOutput {
  /** The newest first. */
  readonly history: readonly Happening[];
  /** What could not be read. */
  readonly unread: readonly string[];
}

/** Adds `drydock history`: what happened to all sets and releases. It only reads. */
export function addHistory(program: Command): void {
  const command = program
    .command('history')
    .description('show what happened to sets and releases: who did what, when, for which release')
    .argument('[set...]', 'names, also as ms/NAME, cpms/NAME or capi-md/NAME (default: all, and all releases)')
    .addOption(outputOption())
    .option('--since <duration>', 'only what happened since then, as 30m, 24h or 7d')
    .option('--no-events', 'leave Events out, which the API server forgets after an hour or so')
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .addHelpText(
      'after',
      `
Statuses keep the last 20 images of each set and what each release was, however long ago; Events say more of what was lately. Of a set that is named\nit is also said who wrote its image last, where its status does not know that image.

Example:
  drydock history --since 24h

Exit codes: 0 shown, 1 failed, 2 usage, 130 and 143 interrupted.`,
    );
  clusterFlags(command).action((names: readonly string[], flags: HistoryFlags) =>
    untilInterrupted((signal) => history(names, flags, signal), 'nothing was changed'),
  );
}

async function history(names: readonly string[], flags: HistoryFlags, signal: AbortSignal): Promise<number> {
  const length = flags.since === undefined ? Number.POSITIVE_INFINITY : durationMs(flags.since);
  if (length === undefined)
    throw new UsageError(`--since ${flags.since}: a duration such as 30m, 24h or 7d is expected`);
  await using client = await connect(flags);
  const { leaseNamespace, namespace } = flags;
  const [{ images, now, unread }, releases, events] = await Promise.all([
    clusterStandings(client, { leaseNamespace }, signal),
    managedReleases(client, signal),
    flags.events ? eventsOfOurs(client, signal) : { events: [], unread: [] },
  ]);
  const named = setsNamed(
    names,
    images.flatMap(({ status }) => status?.set ?? []),
  );
  const asked = names.length === 0 ? [] : images.filter(({ status }) => named?.has(status?.set ?? '') === true);
  const [last, pinWriters] = await Promise.all([
    lastWriters(client, asked, signal),
    unnamedPinWriters(client, images, signal),
  ]);
  const all = [
    ...happenings({ images, releases: releases.releases, events: events.events, pinWriters, now }),
    ...last.writers,
  ].toSorted((a, b) => Date.parse(b.when) - Date.parse(a.when));
  const rows = all.filter(
    (one) =>
      (named === undefined || named.has(one.subject)) &&
      (namespace === undefined || one.namespace === namespace) &&
      now.getTime() - Date.parse(one.when) <= length,
  );
  const output: HistoryOutput = {
    history: rows,
    unread: [...unread, ...releases.unread, ...events.unread, ...last.unread],
  };
  const { people, wide } = flags.output;
  if (people) for (const what of output.unread) sayError(`drydock: not all could be read: ${oneLine(what)}`);
  if (people && rows.length === 0) sayError('Nothing is known to have happened.');
  else print(flags.output, output, () => table(COLUMNS, wide ? rows : groupedMoves(rows), { wide }));
  return exitCode.done;
}

/** Field managers of BootImages that do not say themselves who pinned, or who lifted: until the operator has written it down. */
async function unnamedPinWriters(
  client: Pick<KubeClient, 'raw'>,
  images: readonly BootImage[],
  signal: AbortSignal,
): Promise<ReadonlyMap<BootImage, PinWriters>> {
  const { lacksPinWriter, pinWriters } = await import('@drydock/boot-images');
  const read = images.filter(lacksPinWriter).map(async (image) => {
    const found = await pinWriters(client, image, { signal }).catch(() => undefined);
    return found === undefined ? [] : [[image, found] as const];
  });
  return new Map((await Promise.all(read)).flat());
}

const COLUMNS: readonly Column<Happening>[] = [
  { header: 'WHEN', cell: ({ when }) => new Date(when).toISOString().replace(/\.\d+Z$/, 'Z') },
  { header: 'SUBJECT', cell: ({ subject }) => subject },
  { header: 'WHO', cell: ({ who }) => who },
  { header: 'RELEASE', cell: ({ release = '' }) => release },
  { header: 'WHAT', cell: ({ what }) => what },
  { header: 'IMAGE-VERSION', cell: ({ imageVersion = '' }) => imageVersion, wide: true },
  { header: 'NAMESPACE', cell: ({ namespace = '' }) => namespace, wide: true },
  { header: 'FROM', cell: ({ from }) => from, wide: true },
];
