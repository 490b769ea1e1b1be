import type { CollectedTemplate, CollectOptions } from '@drydock/templates';
import type { Command } from 'commander';
import { connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { wholeNumber } from '../flag-numbers.ts';
import { type Column, table } from '../table.ts';
import { type CommonFlags, several } from './flags.ts';
import { readNamed } from './pointer.ts';
import { TemplateProblem } from './problem.ts';
import { agreed } from './question.ts';
import { type Run, verb } from './run.ts';

/** Flags that say what a collection keeps. */
export interface GcFlags extends CommonFlags {
  readonly keep?: number;
  readonly grace?: number;
  readonly pointer?: readonly string[];
  readonly pointerVariable: string;
  readonly kubeconfig?: string;
  readonly kubeContext?: string;
}

/** Flags of the verb itself. */
interface CollectionFlags extends GcFlags {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly forget?: readonly string[];
}

/** Adds the flags that say what a collection keeps. */
export function gcFlags(command: Command): Command {
  return command
    .option('--keep <count>', 'generations of each name that stay although nobody uses them (default: 2)', wholeNumber)
    .option(
      '--grace <minutes>',
      'time for which a new or retired template stays in any case (default: 10)',
      wholeNumber,
    )
    .option('--pointer <file>', 'a template that this file names stays as well; may be given several times', several)
    .option('--pointer-variable <name>', 'variable in tfvars files', 'template')
    .option('--kubeconfig <file>', 'for templates of a cluster: asks the cluster of this file what it uses')
    .option('--kube-context <name>', 'the same, by context of the kubeconfig');
}

/** Who refers to a name ('unknown': nobody can tell), and what pins and histories of the cluster count on. */
export type Kept = Required<Pick<CollectOptions, 'referenced'>> & Pick<CollectOptions, 'needed'>;

/** What pointer files keep, and the cluster where it owns the templates. A pointer file that names nothing is refused. */
export async function keptBy(flags: GcFlags, owner: string, signal: AbortSignal): Promise<Kept> {
  const users = new Map<string, string>();
  for (const path of flags.pointer ?? [])
    users.set(await readNamed(path, flags.pointerVariable), `the pointer ${path}`);
  const cluster = await keptByCluster(flags, owner, signal);
  return { ...cluster, referenced: (name) => users.get(name) ?? cluster.referenced(name) };
}

/** Owners that are clusters are named by their UID. */
const CLUSTER_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What a cluster uses, only the cluster knows: unless it is asked, everything of its own stays. */
async function keptByCluster(flags: GcFlags, owner: string, signal: AbortSignal): Promise<Kept> {
  const { kubeconfig, kubeContext: context } = flags;
  if (kubeconfig === undefined && context === undefined)
    return { referenced: () => (CLUSTER_ID.test(owner) ? 'unknown' : undefined) };
  await using client = await connect({
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
  });
  // Loaded here: no other verb asks a cluster.
  const { neededBy, neededTemplate, referenceIndex, worldNow } = await import('@drydock/boot-images');
  const world = await worldNow(client, { signal });
  const id = world.clusterVersion()?.spec?.clusterID;
  if (id !== owner) {
    throw new TemplateProblem({
      code: 'CLUSTER_IS_ANOTHER',
      message: `the cluster that was asked is ${id ?? 'none that has an ID'}, and the templates belong to ${owner}`,
      exit: exitCode.blocked,
      next: "kubectl get clusterversion version -o jsonpath='{.spec.clusterID}'",
    });
  }
  const referenced = referenceIndex({
    ...{ machineSets: world.machineSets(), machines: world.machines() },
    ...{ controlPlaneMachineSets: world.controlPlaneMachineSets(), infrastructure: world.infrastructure() },
  });
  return { referenced, needed: neededTemplate(neededBy(world.bootImages(), Date.now())) };
}

/** What of the flags the store takes. */
export function gcLimits({ keep, grace }: GcFlags): Pick<CollectOptions, 'keep' | 'graceMs'> {
  return { ...(keep === undefined ? {} : { keep }), ...(grace === undefined ? {} : { graceMs: grace * 60_000 }) };
}

/** What a collection did, or would do. */
export function collectedText(collected: readonly CollectedTemplate[], dryRun: boolean): string {
  const went = dryRun ? 'would go' : 'removed';
  const columns: readonly Column<CollectedTemplate>[] = [
    { header: 'NAME', cell: ({ name }) => name },
    { header: 'RESULT', cell: ({ removed }) => (removed ? went : 'stays') },
    { header: 'WHY', cell: ({ reason }) => reason },
  ];
  return table(
    columns,
    collected.toSorted((a, b) => Number(b.removed) - Number(a.removed) || a.name.localeCompare(b.name)),
  );
}

/** Adds `drydock template gc`. */
export function addGc(group: Command): void {
  const command = group
    .command('gc')
    .description('remove old templates that nobody needs, and say why each other one stays')
    .option('--dry-run', 'only say what would go')
    .option('--forget <pointer>', 'a recorded pointer that is gone: it keeps nothing any more', several)
    .option('-y, --yes', 'do not ask');
  verb<CollectionFlags>(gcFlags(command), async (run) => {
    const { flags, out, signal } = run;
    const kept = await keptBy(flags, (await run.settings()).owner, signal);
    const { session, store, placement, owner } = await run.open('folder');
    for (const what of flags.forget ?? []) {
      const freed = await store.release(placement, what, { signal });
      out.note(`${what} points at ${freed.length === 0 ? 'nothing here' : `${freed.join(', ')} no longer`}`);
    }
    const options = { signal, holderIsLive: session.holder.isLive, ...gcLimits(flags), ...kept };
    const dryRun = flags.dryRun === true;
    const seen = await store.collect(placement, owner, { ...options, dryRun: true });
    const doomed = new Set(seen.filter(({ removed }) => removed).map(({ name }) => name));
    if (dryRun || doomed.size === 0) {
      tellCollected(out, seen, dryRun, placement.folder);
      return exitCode.done;
    }
    if (flags.yes !== true) out.note(collectedText(seen, true).trimEnd());
    const question = `Remove ${doomed.size === 1 ? 'this template' : `these ${doomed.size} templates`}?`;
    if (!(await agreed(run, question))) return exitCode.undecided;
    // What was not among those that were asked about stays, for the reason that was told.
    const collected = await store.collect(placement, owner, {
      ...options,
      referenced: (name) => (doomed.has(name) ? kept.referenced(name) : 'unknown'),
    });
    const told = new Map(seen.map((one) => [one.name, one]));
    const rows = collected.map((one) => (doomed.has(one.name) ? one : (told.get(one.name) ?? one)));
    tellCollected(out, rows, false, placement.folder);
    return exitCode.done;
  });
}

/** Says what a collection did. */
export function tellCollected(
  out: Run<CommonFlags>['out'],
  collected: readonly CollectedTemplate[],
  dryRun: boolean,
  folder: string,
): void {
  for (const one of collected) out.event('collected', { ...one, dryRun });
  const removed = collected.filter((one) => one.removed).map(({ name }) => name);
  if (collected.length > 0) out.list(removed, () => collectedText(collected, dryRun));
  const stay = collected.length - removed.length;
  out.note(
    collected.length === 0
      ? `No templates of this owner in ${folder}: nothing to remove`
      : `${removed.length} ${dryRun ? 'would go' : 'removed'}, ${stay} ${stay === 1 ? 'stays' : 'stay'}`,
  );
}
