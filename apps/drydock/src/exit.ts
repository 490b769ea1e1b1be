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

/** Wrong input of the command line: printed without a stack, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
