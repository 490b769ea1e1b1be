import { readFile } from 'node:fs/promises';
import { exitCode } from '../exit.ts';
import { type Failure, shell } from './next-command.ts';

/** One of the table of exit codes; 130 and 143 come from signals. */
export type ExitCode = (typeof exitCode)[keyof typeof exitCode] | 130 | 143;

/** Something that the command line itself found: wrong input, a choice that is missing, a finding that stops the verb. No secret in any field. */
export class TemplateProblem extends Error {
  override readonly name = 'TemplateProblem';
  /** Stable word for `-o json`. */
  readonly code: string;
  readonly exit: ExitCode;
  /** Command to run next; undefined: the help. */
  readonly next?: string | ((failure: Failure) => string);

  constructor(init: {
    readonly code: string;
    /** A clause without a final full stop. */
    readonly message: string;
    /** Default usage. */
    readonly exit?: ExitCode;
    readonly next?: string | ((failure: Failure) => string);
    readonly cause?: unknown;
  }) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = init.code;
    this.exit = init.exit ?? exitCode.usage;
    if (init.next !== undefined) this.next = init.next;
  }
}

/** The text of a file that a setting names; `what` names its kind, with a space behind it. */
export function readNamedFile(path: string, what = ''): Promise<string> {
  return readFile(path, 'utf8').catch((cause: Error) => {
    throw new TemplateProblem({
      code: 'FILE_UNREADABLE',
      message: `${what}${path} cannot be read: ${cause.message}`,
      next: shell`ls -l ${path}`,
      cause,
    });
  });
}
