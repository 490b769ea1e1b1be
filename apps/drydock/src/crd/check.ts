import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags } from '../connect.ts';
import { exitCode, UsageError } from '../exit.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { definitionName } from '../output/names.ts';
import { terminalWidth } from '../table.ts';
import { printCheck } from './check-table.ts';
import { type Check, compare, DIRECTIONS } from './comparison.ts';
import { readSource } from './sources.ts';

interface CheckFlags extends ClusterFlags {
  readonly direction: string;
  readonly featureSet: string;
  readonly output: OutputFormat;
}

/** Adds `crd check`: what stands between two sets of definitions, both ways. It only reads. */
export function addCheck(group: Command): void {
  clusterFlags(group.command('check').description('compare definitions of two releases, there and back'))
    .argument('<old>', 'file, folder, cluster: or cluster:CONTEXT')
    .argument('<new>', 'likewise')
    .option('--direction <way>', DIRECTIONS.join('|'), 'both')
    .option('--feature-set <name>', 'which of several definitions of one name', 'Default')
    .addOption(outputOption({ names: true }))
    .action(async (old: string, now: string, flags: CheckFlags) => {
      const direction = DIRECTIONS.find((known) => known === flags.direction);
      if (direction === undefined)
        throw new UsageError(`unknown direction ${flags.direction}: use one of ${DIRECTIONS.join(', ')}`);
      const [a, b] = await Promise.all([readSource(old, flags), readSource(now, flags)]);
      // The short table has no advice, which takes as long as all the rest.
      const check = compare(a, b, direction, flags.output.kind !== 'table');
      print(
        flags.output,
        check,
        () => printCheck(check, flags.output.wide, terminalWidth()),
        () => [...new Set(check.ways.flatMap(({ crds }) => crds.map(({ crd }) => definitionName(crd))))],
      );
      process.exitCode = exitOf(check);
    });
}

function exitOf({ ways }: Check): number {
  const verdicts = new Set(ways.map(({ verdict }) => verdict));
  if (verdicts.has('blocked')) return exitCode.blocked;
  return verdicts.has('undecided') ? exitCode.undecided : exitCode.done;
}
