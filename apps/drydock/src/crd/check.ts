import type { Command } from 'commander';
import { exitCode, UsageError } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { definitionName } from '../output/names.ts';
import { terminalWidth } from '../table.ts';
import { printCheck } from './check-table.ts';
import { type Check, compare, DIRECTIONS } from './comparison.ts';
import { CRD_ARGUMENT, readSource, type SourceFlags, sourceFlags } from './sources.ts';

interface CheckFlags extends SourceFlags {
  readonly direction: string;
  readonly output: OutputFormat;
}

/** Adds `crd check`: what stands between two sets of definitions, both ways. It only reads. */
export function addCheck(group: Command): void {
  sourceFlags(group.command('check').description('compare the CRDs of two releases, there and back'))
    .argument('<old>', CRD_ARGUMENT)
    .argument('<new>', 'named likewise')
    .option('--direction <way>', DIRECTIONS.join('|'), 'both')
    .addOption(outputOption({ names: true }))
    .action((old: string, now: string, flags: CheckFlags) =>
      untilInterrupted((signal) => check(old, now, flags, signal), 'nothing was changed'),
    );
}

async function check(old: string, now: string, flags: CheckFlags, signal: AbortSignal): Promise<number> {
  const direction = DIRECTIONS.find((known) => known === flags.direction);
  if (direction === undefined)
    throw new UsageError(`unknown direction ${flags.direction}: use one of ${DIRECTIONS.join(', ')}`);
  const [a, b] = await Promise.all([readSource(old, flags, signal), readSource(now, flags, signal)]);
  // The short table has no advice, which takes as long as all the rest.
  const compared = compare(a, b, direction, flags.output.kind !== 'table');
  print(
    flags.output,
    compared,
    () => printCheck(compared, flags.output.wide, terminalWidth()),
    () => [...new Set(compared.ways.flatMap(({ crds }) => crds.map(({ crd }) => definitionName(crd))))],
  );
  return exitOf(compared);
}

function exitOf({ ways }: Check): number {
  const verdicts = new Set(ways.map(({ verdict }) => verdict));
  if (verdicts.has('blocked')) return exitCode.blocked;
  return verdicts.has('undecided') ? exitCode.undecided : exitCode.done;
}
