import { oneLine } from '@drydock/api/text';
import type { MachineImage } from '@drydock/boot-images';
import type { Command } from 'commander';
import { clusterStandings } from '../cluster-standings.ts';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { age, type Column, table } from '../table.ts';
import { sayError } from '../terminal.ts';

interface MachinesFlags extends ClusterFlags {
  readonly output: OutputFormat;
  readonly headers: boolean;
  readonly old?: boolean;
  readonly leaseNamespace: string;
}

/** What `drydock machines` prints as JSON and YAML. */
export interface MachinesOutput {
  readonly machines: readonly MachineImage[];
  /** What could not be read: machines may be missing. */
  readonly unread: readonly string[];
}

/** Adds `drydock machines`: which machine was made from which image. It only reads, and asks no vCenter. */
export function addMachines(program: Command): void {
  const command = program
    .command('machines')
    .description('show which machine was made from which image, and which images are old')
    .argument('[set...]', 'names, also as ms/NAME, cpms/NAME or capi-md/NAME (default: all)')
    .addOption(outputOption({ names: true }))
    .option('--no-headers', 'leave the header out')
    .option('--old', 'only machines whose image is old')
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator', LEASE_NAMESPACE)
    .addHelpText(
      'after',
      `
The image is the one that the object of the machine names. It is old where new machines of its set start from another one, or where the release asks for a newer one.

Example:
  drydock machines --old

Exit codes: 0 shown, 1 failed, 2 usage, 130 and 143 interrupted.`,
    );
  clusterFlags(command).action((names: readonly string[], flags: MachinesFlags) =>
    untilInterrupted((signal) => machines(names, flags, signal), 'nothing was changed'),
  );
}

async function machines(names: readonly string[], flags: MachinesFlags, signal: AbortSignal): Promise<number> {
  await using client = await connect(flags);
  const { machineImages, servedKinds } = await import('@drydock/boot-images');
  const { leaseNamespace, namespace } = flags;
  const [{ images, world, now, unread }, served] = await Promise.all([
    clusterStandings(client, { leaseNamespace }, signal),
    servedKinds(client, { signal }),
  ]);
  const found = await machineImages(client, { world, served, images }, { signal });
  const named = setsNamed(names, [
    ...images.flatMap(({ status }) => status?.set ?? []),
    ...found.machines.flatMap(({ set }) => set ?? []),
  ]);
  const rows = found.machines.filter(
    (one) =>
      (named === undefined || (one.set !== undefined && named.has(one.set))) &&
      (namespace === undefined || one.namespace === namespace) &&
      (flags.old !== true || one.state === 'old'),
  );
  const output: MachinesOutput = { machines: rows, unread: [...new Set([...unread, ...found.unread])] };
  const { people, wide } = flags.output;
  if (people) for (const what of output.unread) sayError(`drydock: machines may be missing: ${oneLine(what)}`);
  const none = flags.old === true ? 'There is no machine whose image is old.' : 'There are no machines.';
  if (people && rows.length === 0) sayError(none);
  else
    print(
      flags.output,
      output,
      () => machinesText(rows, { wide, headers: flags.headers, now: now.getTime() }),
      () => rows.map(resourceText),
    );
  return exitCode.done;
}

/** The sets that are meant by these names; undefined: all. Throws `UsageError` for a name that none has. */
export function setsNamed(names: readonly string[], sets: readonly string[]): ReadonlySet<string> | undefined {
  if (names.length === 0) return undefined;
  const there = [...new Set(sets)];
  return new Set(
    names.flatMap((name) => {
      const found = there.filter((set) => set === name || set.slice(set.indexOf('/') + 1) === name);
      if (found.length > 0) return found;
      throw new UsageError(
        `there is no set ${name}; there ${there.length === 0 ? 'are none' : `are ${there.join(', ')}`}`,
      );
    }),
  );
}

function resourceText({ api, machine }: MachineImage): string {
  return `machine.${api === 'MachineAPI' ? 'machine.openshift.io' : 'cluster.x-k8s.io'}/${machine}`;
}

/** One line for each machine. */
export function machinesText(
  rows: readonly MachineImage[],
  { wide, headers, now }: { readonly wide: boolean; readonly headers: boolean; readonly now: number },
): string {
  const columns: readonly Column<MachineImage>[] = [
    { header: 'MACHINE', cell: ({ machine }) => machine },
    { header: 'SET', cell: ({ set = '' }) => set },
    { header: 'RELEASE', cell: ({ release = '' }) => release },
    { header: 'STATE', cell: ({ state }) => state },
    { header: 'NODE', cell: ({ node = '' }) => node },
    { header: 'AGE', cell: ({ made }) => age(made, now) },
    { header: 'IMAGE', cell: ({ image = '' }) => image },
    { header: 'NAMESPACE', cell: ({ namespace }) => namespace, wide: true },
    { header: 'PHASE', cell: ({ phase = '' }) => phase, wide: true },
    { header: 'WHY', cell: ({ why = '' }) => why, wide: true },
  ];
  return table(columns, rows, { wide, headers });
}
