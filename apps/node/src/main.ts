import { processSignals } from '@drydock/kube';
import { Command } from 'commander';
import { addCare } from './care-commands.ts';
import { addCertSync } from './cert-sync-command.ts';
import { report } from './exit.ts';
import { addLogFlags, optionText } from './flags.ts';
import { addInstall } from './install-command.ts';
import { addMonitor } from './monitor-command.ts';
import { addPrune } from './prune-command.ts';

/** Runs the command line: results as one line of JSON on stdout, everything else on stderr. */
export async function main(argv: readonly string[]): Promise<void> {
  using signals = processSignals();
  const program = new Command('drydock node')
    .description('Static pods and their certificates on one node.')
    .version('0.1.0')
    .showHelpAfterError('(use --help to see what there is)')
    .exitOverride();
  addInstall(program, signals.signal);
  addCertSync(program, signals.signal);
  addPrune(program, signals.signal);
  addMonitor(program, signals.signal);
  for (const command of program.commands) addLogFlags(command);
  addCare(program, signals.signal);
  for (const command of program.commands)
    command
      .exitOverride()
      .showHelpAfterError('(use --help to see what there is)')
      .configureHelp({ optionDescription: optionText });
  const ended = (): string | undefined => (signals.signal.aborted ? String(signals.signal.reason.message) : undefined);
  try {
    await program.parseAsync([...argv]);
    const name = ended();
    if (name === 'SIGINT') process.exitCode = 130;
    if (name === 'SIGTERM') process.exitCode = 143;
  } catch (error) {
    process.exitCode = report(error, ended());
  }
}
