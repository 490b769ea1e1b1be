import { exitCode } from '../exit.ts';
import type { Failure } from './next-command.ts';

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
