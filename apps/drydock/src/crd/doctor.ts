import { createInterface } from 'node:readline/promises';
import type { KubeClient } from '@drydock/kube';
import type { Shadow } from '@drydock/preflight';
import type { Command } from 'commander';
import { type ClusterFlags, clusterFlags, connect } from '../connect.ts';
import { exitCode } from '../exit.ts';
import { age, type Column, table } from '../table.ts';
import { count, formatOf, print } from './formats.ts';

interface DoctorFlags extends ClusterFlags {
  readonly yes?: boolean;
  readonly output: string;
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
    .option('-o, --output <format>', 'table|wide|json|yaml', 'table')
    .action(async (flags: DoctorFlags) => {
      // Loaded here: a comparison of files does without.
      const { processSignals } = await import('@drydock/kube');
      using signals = processSignals();
      process.exitCode = await examine(flags, signals.signal);
    });
}

async function examine(flags: DoctorFlags, signal: AbortSignal): Promise<number> {
  const format = formatOf(flags.output);
  const { leftShadows } = await import('@drydock/preflight');
  await using client = await connect(flags);
  const left = await leftShadows(client, { signal });
  if (left.length === 0) {
    print(format, { left, removed: 0 }, () => 'Nothing was left behind.\n');
    return exitCode.done;
  }
  const swept = await sweep(flags, client, left, signal);
  print(format, { left, removed: swept ?? 0 }, () => {
    const found = table(columns(Date.now()), left);
    if (swept !== undefined) return `${found}\n${count(swept, 'definition')} removed.\n`;
    return `${found}\nThey serve nobody but a probe that runs now. To remove them: drydock crd doctor --yes\n`;
  });
  return swept === undefined ? exitCode.undecided : exitCode.done;
}

/** undefined: nobody said yes. A probe may be running, so age alone decides nothing. */
async function sweep(
  flags: DoctorFlags,
  client: KubeClient,
  left: readonly Shadow[],
  signal: AbortSignal,
): Promise<number | undefined> {
  if (flags.yes !== true) {
    if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) return undefined;
    process.stderr.write(table(columns(Date.now()), left));
    const terminal = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
    try {
      const question = `Remove ${count(left.length, 'definition')} of the group shadow.drydock.dev? A probe that runs now would fail. [y/N] `;
      if (!/^y(es)?$/i.test((await terminal.question(question, { signal })).trim())) return undefined;
    } finally {
      terminal.close();
    }
  }
  const { sweepShadows } = await import('@drydock/preflight');
  return sweepShadows(client, { signal });
}
