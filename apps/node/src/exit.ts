import { debugText, oneLine, printable } from '@drydock/api/text';
import { DurableError } from '@drydock/durable';
import { ApiError } from '@drydock/kube';
import { StaticPodError } from '@drydock/static-pods';
import { CommanderError } from 'commander';

/** The table of exit codes that all of Drydock's commands share, as far as this one needs it. */
export const exitCode = { done: 0, failed: 1, usage: 2, blocked: 3, moved: 4 } as const;

/** Wrong input of the command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Says what happened in one line on stderr, and answers the exit code. `ended` is the signal that ended the process, if one did. */
export function report(error: unknown, ended: string | undefined): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
  if (ended === 'SIGINT') return 130;
  if (ended === 'SIGTERM') return 143;
  console.error(`drydock node: ${oneLine(error instanceof Error ? error.message : String(error))}`);
  if (process.env['DRYDOCK_DEBUG'] !== undefined) console.error(printable(debugText(error)));
  if (error instanceof UsageError) return exitCode.usage;
  if (error instanceof StaticPodError) return codeOf(error);
  if (error instanceof DurableError && error.code === 'INVALID') return exitCode.usage;
  if (error instanceof ApiError && error.code === 'Kubeconfig') return exitCode.usage;
  return exitCode.failed;
}

function codeOf({ code }: StaticPodError): number {
  switch (code) {
    case 'USAGE':
      return exitCode.usage;
    case 'SUPERSEDED':
      return exitCode.moved;
    default:
      return exitCode.failed;
  }
}
