import { BootImage } from '@drydock/api';
import { type Client, isNotFound } from '@drydock/kube';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { type ClusterFlags, clusterFlags, connect } from './connect.ts';
import { exitCode, UsageError } from './exit.ts';
import { LEASE_NAMESPACE, type StatusNotes, statusNotes } from './status-notes.ts';
import { age, type Column, table } from './table.ts';

const formats = ['table', 'wide', 'name', 'json', 'yaml'] as const;
type Format = (typeof formats)[number];

interface StatusFlags extends ClusterFlags {
  readonly output: string;
  readonly headers: boolean;
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
  format: Format,
  options: { readonly headers: boolean; readonly now: number; readonly notes?: StatusNotes | undefined },
): string {
  switch (format) {
    case 'json':
      return `${JSON.stringify(listOf(images, options.notes), undefined, 2)}\n`;
    case 'yaml':
      return stringify(listOf(images, options.notes));
    case 'name':
      return images.map((image) => `bootimage.drydock.dev/${image.metadata.name}\n`).join('');
    case 'table':
    case 'wide':
      return table(columns(options.now, options.notes), images, { wide: format === 'wide', headers: options.headers });
  }
}

function listOf(images: readonly BootImage[], notes: StatusNotes | undefined): unknown {
  return {
    apiVersion: 'v1',
    kind: 'List',
    ...(notes === undefined ? {} : { statusWrites: notes }),
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
    return `The status of ${definition} ${object} ${what} since ${age(since, now)}: ${why}\n`;
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

/** Adds `drydock status`: every machine set's boot image, what is being done about it and why not. It only reads. */
export function addStatus(program: Command): void {
  clusterFlags(program.command('status').description('show the boot image of every machine set'))
    .option('-o, --output <format>', formats.join('|'), 'table')
    .option('--no-headers', 'leave the header line out')
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .action(async (flags: StatusFlags) => {
      const format = formats.find((name) => name === flags.output);
      if (format === undefined)
        throw new UsageError(`unknown output format ${flags.output}: use one of ${formats.join(', ')}`);
      // With the client of vCenters, which the checks above do without.
      const { loginsText, refusedLogins } = await import('./login-notes.ts');
      await using client = await connect(flags);
      const [images, notes, logins] = await Promise.all([
        bootImages(client, flags.namespace),
        statusNotes(client, flags.leaseNamespace),
        refusedLogins(client, flags.leaseNamespace),
      ]);
      process.stderr.write(loginsText(logins));
      if (notes !== undefined) process.stderr.write(notesText(notes, Date.now()));
      if (images.length === 0 && (format === 'table' || format === 'wide')) {
        console.error('No boot images found. They appear when "drydock operator" runs and has seen a machine set.');
        return;
      }
      process.stdout.write(printStatus(images, format, { headers: flags.headers, now: Date.now(), notes }));
      if (format === 'table') process.stderr.write(stuckText(images));
      process.exitCode = exitCode.done;
    });
}

async function bootImages(client: Client, namespace: string | undefined): Promise<readonly BootImage[]> {
  try {
    const found = await Array.fromAsync(client.list(BootImage, namespace === undefined ? {} : { namespace }));
    return found.toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name));
  } catch (error) {
    if (isNotFound(error)) {
      throw new Error(
        'this cluster has no BootImage CRD (bootimages.drydock.dev). Install it: kubectl apply -f api/crds',
        { cause: error },
      );
    }
    throw error;
  }
}
