import type { Generation } from '@drydock/templates';
import type { Command } from 'commander';
import { exitCode } from '../exit.ts';
import { age, type Column, table } from '../table.ts';
import type { CommonFlags } from './flags.ts';
import { openPointer } from './pointer.ts';
import { type Run, verb } from './run.ts';

/** Flags of the verbs that know a pointer. */
export interface PointerFlags extends CommonFlags {
  readonly pointer?: string;
  readonly pointerVariable: string;
  /** How the pointer is called on the templates that it names. */
  readonly consumer?: string;
}

/** Adds the flags that name a pointer file. */
export function pointerFlags(command: Command): Command {
  return command
    .option('--pointer <file>', 'the file that names the current template, where it is published by pointer')
    .option('--pointer-variable <name>', 'variable in a tfvars file', 'template');
}

/** Whether generations are those of a pointer: nobody of them bears or bore the stable name. */
export function byPointer(generations: readonly Generation[]): boolean {
  return generations.every(
    ({ current, retiredAt, name }) => !current && retiredAt === undefined && !/-retired-[0-9a-f]{8}$/.test(name),
  );
}

/** A generation and how to go back to it. */
export interface HistoryRow extends Generation {
  /** The command, or why there is none. */
  readonly back: string;
}

const columns = (now: number): readonly Column<HistoryRow>[] => [
  { header: 'NAME', cell: ({ name }) => name },
  { header: 'STATE', cell: ({ current, revertible }) => (current ? 'current' : revertible ? 'kept' : 'unusable') },
  { header: 'RELEASE', cell: ({ release }) => release ?? '' },
  { header: 'AGE', cell: ({ createdAt }) => age(createdAt, now) },
  { header: 'RETIRED', cell: ({ retiredAt }) => age(retiredAt, now) },
  { header: 'DIGEST', cell: ({ digest }) => digest?.slice(0, 12) ?? '', wide: true },
  { header: 'INSTANCE-UUID', cell: ({ instanceUuid }) => instanceUuid, wide: true },
  { header: 'GO BACK', cell: ({ back }) => back },
];

/** The history as text. */
export function historyText(
  rows: readonly HistoryRow[],
  options: { readonly wide: boolean; readonly now: number },
): string {
  return table(columns(options.now), rows, { wide: options.wide });
}

/** Adds the way back to each generation. `pointed`: the template that the pointer file names. */
export function historyRows(
  generations: readonly Generation[],
  run: Pick<Run<PointerFlags>, 'command' | 'flags'>,
  pointed: string | undefined,
): readonly HistoryRow[] {
  const pointer = byPointer(generations);
  return generations.map((generation) => {
    const { name, stableName, instanceUuid, revertible, reason } = generation;
    const current = pointer ? name === pointed : generation.current;
    const to = pointer ? ['--to', name, '--pointer', run.flags.pointer ?? 'FILE'] : ['--to', instanceUuid.slice(0, 8)];
    const back = current ? '' : revertible ? run.command('revert', stableName, ...to) : reason;
    return { ...generation, current, back };
  });
}

/** Adds `drydock template history`. */
export function addHistory(group: Command): void {
  const command = group
    .command('history')
    .description('show the generations of a template, and the command that goes back to each')
    .argument('<name>', 'stable name, or what the names of a pointer begin with');
  verb<PointerFlags>(pointerFlags(command), async (run) => {
    const { flags, out, signal } = run;
    const name = run.subject();
    const pointer = flags.pointer === undefined ? undefined : await openPointer(flags.pointer, flags.pointerVariable);
    const pointed = await pointer?.read();
    const { store, placement, owner } = await run.open('folder');
    const rows = historyRows(await store.history(placement, owner, name, { signal }), run, pointed);
    for (const row of rows) out.event('generation', row);
    if (rows.length === 0) {
      out.note(`No template of ${placement.folder} is or was named ${name}.\nnext: ${run.command('list')}`);
      return exitCode.blocked;
    }
    out.list(
      rows.map((row) => row.name),
      (wide) => historyText(rows, { wide, now: Date.now() }),
    );
    return exitCode.done;
  });
}
