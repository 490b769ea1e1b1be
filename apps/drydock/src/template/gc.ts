import type { CollectedTemplate, CollectOptions } from '@drydock/templates';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { type Column, table } from '../table.ts';
import { type CommonFlags, several, whole } from './flags.ts';
import { openPointer } from './pointer.ts';
import { verb } from './run.ts';

/** Flags of a collection. */
export interface GcFlags extends CommonFlags {
  readonly dryRun?: boolean;
  readonly keep?: number;
  readonly grace?: number;
  readonly pointer?: readonly string[];
  readonly pointerVariable: string;
}

/** Adds the flags that say what a collection keeps. */
export function gcFlags(command: Command): Command {
  return command
    .option('--keep <count>', 'generations of each name that stay although nobody uses them (default: 2)', whole)
    .option('--grace <minutes>', 'time for which a new or retired template stays in any case (default: 10)', whole)
    .option('--pointer <file>', 'a template that this file names stays; may be given several times', several)
    .option('--pointer-variable <name>', 'variable in tfvars files', 'template');
}

/** Who refers to what, by the pointer files. */
export async function references(flags: GcFlags): Promise<(name: string) => string | undefined> {
  const users = new Map<string, string>();
  for (const path of flags.pointer ?? []) {
    const template = await (await openPointer(path, flags.pointerVariable)).read();
    if (template !== undefined) users.set(template, `the pointer ${path}`);
  }
  return (name) => users.get(name);
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
    .option('--dry-run', 'only say what would go');
  verb<GcFlags>(gcFlags(command), async (run) => {
    const { flags, out, signal } = run;
    const referenced = await references(flags);
    const session = await run.session();
    const placement = await run.place(session, 'folder');
    const dryRun = flags.dryRun === true;
    const collected = await session.store.collect(placement, session.settings.owner, {
      signal,
      referenced,
      holderIsLive: session.holder.isLive,
      dryRun,
      ...gcLimits(flags),
    });
    tellCollected(out, collected, dryRun, placement.folder);
    return exitCode.done;
  });
}

/** Says what a collection did. */
export function tellCollected(
  out: Parameters<Parameters<typeof verb>[1]>[0]['out'],
  collected: readonly CollectedTemplate[],
  dryRun: boolean,
  folder: string,
): void {
  for (const one of collected) out.event('collected', { ...one, dryRun });
  if (out.format === 'name')
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
