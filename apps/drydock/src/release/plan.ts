import type { ApplyMode, ApplyPlan, Difference, PlannedObject } from '@drydock/release';
import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { count } from '../count.ts';
import { exitCode, UsageError } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { objectName } from '../output/names.ts';
import { LEASE_NAMESPACE } from '../status-notes.ts';
import { type Column, table } from '../table.ts';
import { shell } from '../template/next-command.ts';
import { say } from '../terminal.ts';
import { type AudienceFlags, audienceFlags, PAYLOAD_ARGUMENT } from './payload-source.ts';
import { type ReleasePlan, toldOf, writeReleasePlan } from './plan-file.ts';
import { plannedNow } from './planned.ts';

const MODES: readonly ApplyMode[] = ['initializing', 'updating', 'reconciling'];

/** Adds `release plan`: what applying a payload would do to a cluster, by the steps that apply takes. It only reads. */
export function addPlan(group: Command): void {
  const verb = group
    .command('plan')
    .description(
      'say what applying a payload would do to a cluster: phases, objects with what changes, deletions, waits; "apply" does exactly that',
    );
  clusterFlags(audienceFlags(verb))
    .argument('<payload>', PAYLOAD_ARGUMENT)
    .option('--mode <name>', MODES.join('|'), 'updating')
    .option('--owner <name>', 'whose inventory counts, as "Payload tools"', 'ClusterVersion version')
    .option('--lease-namespace <name>', 'namespace of the Leases of the operator, and of inventories', LEASE_NAMESPACE)
    .option('--out <file>', 'keep the plan in a file, for "apply"')
    .addOption(outputOption({ names: true }))
    .addHelpText(
      'after',
      `
It only reads. "apply" does exactly what the plan says that --out kept, or -o json printed.
Exit codes: 0 nothing to do, 1 failed, 2 usage, 3 an object belongs to another owner, 6 changes are pending, 130 and 143 interrupted.`,
    )
    .action((name: string, flags: PlanFlags) =>
      untilInterrupted((signal) => plan(name, flags, signal), 'nothing was changed'),
    );
}

interface PlanFlags extends AudienceFlags, ClusterFlags {
  readonly mode: string;
  readonly owner: string;
  readonly leaseNamespace: string;
  readonly out?: string;
  readonly output: OutputFormat;
}

async function plan(name: string, flags: PlanFlags, signal: AbortSignal): Promise<number> {
  const mode = MODES.find((one) => one === flags.mode);
  if (mode === undefined) throw new UsageError(`--mode ${flags.mode}: use one of ${MODES.join(', ')}`);
  const { owner, leaseNamespace } = flags;
  await using client = await connect(flags);
  const now = await plannedNow({ payload: name, mode, owner, leaseNamespace }, client, flags, signal);
  const { idText } = await import('@drydock/release');
  const planned: ReleasePlan = { drydockReleasePlan: 1, told: toldOf(name, flags, now.seen, now), ...now.plan };
  if (flags.out !== undefined) await writeReleasePlan(flags.out, planned);
  print(
    flags.output,
    planned,
    () => planText(planned, flags.output.wide, idText),
    () =>
      planned.phases.flatMap(({ nodes }) => nodes.flatMap(({ objects }) => objects.map(({ id }) => objectName(id)))),
  );
  const { counts, deletedData } = planned;
  const pending = counts.create + counts.update + counts.delete + counts.wait + deletedData.length;
  if (flags.out !== undefined && pending > 0 && counts.refuse === 0 && flags.output.people)
    say(`\nTo do exactly this: ${shell`drydock release apply ${flags.out}`}\n`);
  if (counts.refuse > 0) return exitCode.blocked;
  return pending > 0 ? exitCode.pending : exitCode.done;
}

interface Row {
  readonly phase: string;
  readonly action: string;
  readonly object: string;
  readonly what: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { header: 'PHASE', cell: ({ phase }) => phase },
  { header: 'ACTION', cell: ({ action }) => action },
  { header: 'OBJECT', cell: ({ object }) => object },
  { header: 'WHAT', cell: ({ what }) => what },
];

type IdText = (id: PlannedObject['id']) => string;

/** A plan in words. `wide`: each place that changes, and objects with nothing to do. */
export function planText(planned: ApplyPlan, wide: boolean, idText: IdText): string {
  const { version, owner, phases, counts, deletedData, orphans } = planned;
  const objects = phases.flatMap(({ nodes }) => nodes.flatMap((node) => node.objects));
  const head = `Release ${version} for ${owner}: ${count(objects.length, 'object')} in ${count(phases.length, 'phase')}: ${counts.create} to create, ${counts.update} to update, ${counts.delete} to delete, ${counts.nothing} with nothing to do${counts.wait === 0 ? '' : `, ${counts.wait} to wait for`}${counts.refuse === 0 ? '' : `, ${counts.refuse} refused`}.\n`;
  const steps = phases.flatMap(({ phase, nodes }) =>
    nodes.flatMap((node) =>
      node.objects
        .filter(({ action }) => wide || action !== 'nothing')
        .flatMap((one) => rowsOf(`${phase}`, one, wide, idText)),
    ),
  );
  const waits = phases.flatMap(({ phase, nodes }) =>
    nodes.flatMap((node) =>
      node.objects.flatMap(({ id, wait }) =>
        wait === undefined ? [] : [{ phase: `${phase}`, action: 'waits', object: idText(id), what: wait }],
      ),
    ),
  );
  const lost = deletedData.map(({ id, lost: what }) => ({
    ...{ phase: '', action: 'loses', object: idText(id) },
    what: `${what}, which going back does not bring again`,
  }));
  const left = orphans.map(({ id, releases, made }) => ({
    ...{ phase: '', action: 'leaves', object: idText(id) },
    what: `${made ? 'made' : 'changed'} by ${releases.at(-1) ?? 'an earlier release'}; nobody looks after it any more`,
  }));
  const rows: readonly Row[] = [...steps, ...waits, ...lost, ...left];
  return [head, ...(rows.length === 0 ? [] : [table(COLUMNS, rows)])].join('\n');
}

function rowsOf(
  phase: string,
  { action, id, differences = [], why }: PlannedObject,
  wide: boolean,
  idText: IdText,
): readonly Row[] {
  const row = { phase, action, object: idText(id) };
  if (action !== 'update') return [{ ...row, what: why ?? '' }];
  const [first] = differences;
  if (wide) return differences.map((one) => ({ ...row, what: changeText(one) }));
  const more = differences.length > 1 ? ` and ${count(differences.length - 1, 'other place')}` : '';
  return [{ ...row, what: first === undefined ? '' : `${first.path}${more}` }];
}

function changeText({ path, was, is }: Difference): string {
  return `${path}: ${was ?? 'absent'} → ${is ?? 'absent'}`;
}
