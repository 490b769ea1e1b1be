import type { Shadow } from '@drydock/preflight';
import type { Command } from 'commander';
import { agreed } from '../confirmation.ts';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { count } from '../count.ts';
import { exitCode } from '../exit.ts';
import { untilInterrupted } from '../interruption.ts';
import { type OutputFormat, outputOption, print } from '../output/format.ts';
import { definitionName } from '../output/names.ts';
import { age, type Column, table } from '../table.ts';

interface DoctorFlags extends ClusterFlags {
  readonly yes?: boolean;
  readonly output: OutputFormat;
}

const columns = (now: number): readonly Column<Shadow>[] => [
  { header: 'DEFINITION', cell: ({ name }) => name },
  { header: 'RUN', cell: ({ run }) => run },
  { header: 'AGE', cell: ({ created }) => age(created, now) },
];

/** Adds `crd doctor`: finds and removes what a killed `--server-probe` left behind. */
export function addDoctor(group: Command): void {
  clusterFlags(group.command('doctor').description('find and remove definitions that a killed probe left behind'))
    .option('--yes', 'remove them without a question')
    .addOption(outputOption({ names: true }))
    .action((flags: DoctorFlags) =>
      untilInterrupted((signal) => examine(flags, signal), 'what was not removed is still there'),
    );
}

async function examine(flags: DoctorFlags, signal: AbortSignal): Promise<number> {
  const { leftShadows, sweepShadows } = await import('@drydock/preflight');
  await using client = await connect(flags);
  const left = await leftShadows(client, { signal });
  if (left.length === 0) {
    print(flags.output, { left, removed: 0 }, () => 'Nothing was left behind.\n');
    return exitCode.done;
  }
  const listed = (): string => table(columns(Date.now()), left);
  const question = `Remove ${count(left.length, 'definition')} of the group shadow.drydock.dev? A probe that runs now would fail.`;
  // A probe may be running, so age alone decides nothing.
  const yes = await agreed(question, { yes: flags.yes === true, about: listed, signal });
  const removed = yes ? await sweepShadows(client, { signal }) : 0;
  const outcome = yes
    ? `${count(removed, 'definition')} removed.\n`
    : 'They serve nobody but a probe that runs now. To remove them: drydock crd doctor --yes\n';
  print(
    flags.output,
    { left, removed },
    () => `${listed()}\n${outcome}`,
    () => left.map(({ name }) => definitionName(name)),
  );
  return yes ? exitCode.done : exitCode.undecided;
}
