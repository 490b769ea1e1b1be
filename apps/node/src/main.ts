import { processSignals } from '@drydock/kube';
import { Command } from 'commander';
import { addCare } from './care-commands.ts';
import { addCertSync } from './cert-sync-command.ts';
import { report } from './exit.ts';
import { addLogFlags, optionText } from './flags.ts';
import { addInstall } from './install-command.ts';
import { addMonitor } from './monitor-command.ts';
import { addPrune } from './prune-command.ts';

/** All verbs with their flags; `signal` ends what they do. */
export function nodeCommands(signal: AbortSignal): Command {
  const program = new Command('drydock node')
    .description('Static pods and their certificates on one node.')
    .version('0.1.0')
    .showHelpAfterError('(use --help to see what there is)')
    .exitOverride();
  addInstall(program, signal);
  addCertSync(program, signal);
  addPrune(program, signal);
  addMonitor(program, signal);
  for (const command of program.commands) addLogFlags(command);
  addCare(program, signal);
  for (const command of program.commands)
    command
      .exitOverride()
      .showHelpAfterError('(use --help to see what there is)')
      .configureHelp({ optionDescription: optionText });
  return program;
}

/** Runs the command line: results as one line of JSON on stdout, everything else on stderr. */
export async function main(argv: readonly string[]): Promise<void> {
  using signals = processSignals();
  const program = nodeCommands(signals.signal);
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
