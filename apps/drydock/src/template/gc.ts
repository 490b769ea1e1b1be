import type { CollectedTemplate, CollectOptions, Placement } from '@drydock/templates';
import type { Command } from 'commander';
import { connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { type Column, table } from '../table.ts';
import { type CommonFlags, several, whole } from './flags.ts';
import { readNamed } from './pointer.ts';
import { TemplateProblem } from './problem.ts';
import { confirm } from './question.ts';
import { type Run, verb } from './run.ts';
import type { TemplateSession } from './session.ts';

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
    .option('--keep <count>', 'generations of each name that stay although nobody uses them (default: 2)', whole)
    .option('--grace <minutes>', 'time for which a new or retired template stays in any case (default: 10)', whole)
    .option('--pointer <file>', 'a template that this file names stays as well; may be given several times', several)
    .option('--pointer-variable <name>', 'variable in tfvars files', 'template')
    .option('--kubeconfig <file>', 'for templates of a cluster: asks the cluster of this file what it uses')
    .option('--kube-context <name>', 'the same, by context of the kubeconfig');
}

/** Who refers to a name; 'unknown' is that nobody can tell. `needed` is what pins and histories of the cluster count on. */
type References = ((name: string) => string | undefined) & Pick<CollectOptions, 'needed'>;

/** Who refers to what: by the pointer files, and by the cluster where it owns the templates. A pointer file that names nothing is refused. */
export async function references(flags: GcFlags, owner: string, signal: AbortSignal): Promise<References> {
  const users = new Map<string, string>();
  for (const path of flags.pointer ?? [])
    users.set(await readNamed(path, flags.pointerVariable), `the pointer ${path}`);
  const cluster = await clusterReferences(flags, owner, signal);
  return Object.assign((name: string) => users.get(name) ?? cluster(name), {
    ...(cluster.needed === undefined ? {} : { needed: cluster.needed }),
  });
}

/** Owners that are clusters are named by their UID. */
const CLUSTER_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What a cluster uses, only the cluster knows: unless it is asked, everything of its own stays. */
async function clusterReferences(flags: GcFlags, owner: string, signal: AbortSignal): Promise<References> {
  const { kubeconfig, kubeContext: context } = flags;
  if (kubeconfig === undefined && context === undefined)
    return CLUSTER_ID.test(owner) ? () => 'unknown' : () => undefined;
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
  const index = referenceIndex({
    ...{ machineSets: world.machineSets(), machines: world.machines() },
    ...{ controlPlaneMachineSets: world.controlPlaneMachineSets(), infrastructure: world.infrastructure() },
  });
  return Object.assign(index, { needed: neededTemplate(neededBy(world.bootImages(), Date.now())) });
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
    const settings = await run.settings();
    const referenced = await references(flags, settings.owner, signal);
    const session = await run.session();
    const placement = await run.place(session, 'folder');
    for (const what of flags.forget ?? []) {
      const freed = await session.store.release(placement, what, { signal });
      out.note(`${what} points at ${freed.length === 0 ? 'nothing here' : `${freed.join(', ')} no longer`}`);
    }
    const { needed } = referenced;
    const counted = needed === undefined ? {} : { needed };
    const seen = await collect(session, placement, {
      ...{ signal, referenced, dryRun: true, ...counted },
      ...gcLimits(flags),
    });
    const doomed = new Set(seen.filter(({ removed }) => removed).map(({ name }) => name));
    if (flags.dryRun === true || doomed.size === 0) {
      tellCollected(out, seen, flags.dryRun === true, placement.folder);
      return exitCode.done;
    }
    if (!(await agreed(run, seen, doomed.size))) return exitCode.undecided;
    // What was not among those that were asked about stays, for the reason that was told.
    const collected = await collect(session, placement, {
      ...{ signal, ...counted, ...gcLimits(flags) },
      referenced: (name) => (doomed.has(name) ? referenced(name) : 'unknown'),
    });
    const told = new Map(seen.map((one) => [one.name, one]));
    tellCollected(
      out,
      collected.map((one) => (doomed.has(one.name) ? one : (told.get(one.name) ?? one))),
      false,
      placement.folder,
    );
    return exitCode.done;
  });
}

function collect(
  { store, settings, holder }: TemplateSession,
  placement: Placement,
  options: Omit<CollectOptions, 'holderIsLive'>,
): Promise<readonly CollectedTemplate[]> {
  return store.collect(placement, settings.owner, { ...options, holderIsLive: holder.isLive });
}

async function agreed(run: Run<CollectionFlags>, seen: readonly CollectedTemplate[], count: number): Promise<boolean> {
  const { flags, out, again, signal } = run;
  if (flags.yes !== true) out.note(collectedText(seen, true).trimEnd());
  const question = `Remove ${count === 1 ? 'this template' : `these ${count} templates`}?`;
  const yes = await confirm(question, { yes: flags.yes === true, again, signal });
  if (!yes) out.note('Nothing was done');
  return yes;
}

/** Says what a collection did. */
export function tellCollected(
  out: Run<CommonFlags>['out'],
  collected: readonly CollectedTemplate[],
  dryRun: boolean,
  folder: string,
): void {
  for (const one of collected) out.event('collected', { ...one, dryRun });
  if (out.format.kind === 'name')
    out.data(
      collected
        .filter(({ removed }) => removed)
        .map(({ name }) => `${name}\n`)
        .join(''),
    );
  else if (collected.length > 0) out.data(collectedText(collected, dryRun));
  const went = collected.filter(({ removed }) => removed).length;
  out.note(
    collected.length === 0
      ? `No templates of this owner in ${folder}: nothing to remove`
      : `${went} ${dryRun ? 'would go' : 'removed'}, ${collected.length - went} ${collected.length - went === 1 ? 'stays' : 'stay'}`,
  );
}
