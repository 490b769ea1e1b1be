import { basename } from 'node:path';
import { Command, CommanderError } from 'commander';
import { addCrd } from './crd/command.ts';
import { addDemo } from './demo/command.ts';
import { exitCode, UsageError } from './exit.ts';
import { addNode } from './node.ts';
import { addOperator } from './operator.ts';
import { addStatus } from './status.ts';
import { addTemplate } from './template/command.ts';
import { addWatch } from './watch/command.ts';

/** Runs the command line: data on stdout, everything else on stderr, exit codes by the one table. */
export async function main(argv: readonly string[]): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCode.done);
    throw error;
  });
  const plugin = basename(argv[1] ?? '').startsWith('kubectl-');
  const program = new Command(plugin ? 'kubectl drydock' : 'drydock')
    .description('Keeps the machine layer of Kubernetes clusters current and crash-safe.')
    .version('0.1.0')
    .showHelpAfterError('(use --help to see what there is)')
    .exitOverride();
  addStatus(program);
  addTemplate(program);
  addWatch(program);
  addCrd(program);
  addNode(program);
  addOperator(program);
  addDemo(program);
  for (const command of program.commands)
    command.exitOverride().showHelpAfterError('(use --help to see what there is)');
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    process.exitCode = report(error);
  }
}

function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
  if (error instanceof UsageError) {
    console.error(`drydock: ${error.message}`);
    return exitCode.usage;
  }
  console.error(`drydock: ${error instanceof Error ? error.message : String(error)}`);
  if (process.env['DRYDOCK_DEBUG'] !== undefined && error instanceof Error)
    console.error(error.stack, error.cause ?? '');
  return exitCode.failed;
}
