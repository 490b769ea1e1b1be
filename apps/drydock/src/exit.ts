/** The one table of exit codes, the same for every verb. 130 and 143 (interrupted) come from signals. */
export const exitCode = {
  done: 0,
  failed: 1,
  usage: 2,
  blocked: 3,
  moved: 4,
  undecided: 5,
  pending: 6,
} as const;

/** A failure with a command to run next, which is printed on a line of its own. */
export class NextStepError extends Error {
  override readonly name = 'NextStepError';
  readonly next: string;

  constructor(message: string, next: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.next = next;
  }
}

/** Wrong input of the command line: printed without a stack, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
