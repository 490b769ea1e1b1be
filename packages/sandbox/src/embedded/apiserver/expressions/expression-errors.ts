/** An expression that does not parse or does not type-check. The message is the server's. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  /** Offset in the expression. */
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

/** The evaluation of an expression failed; logical operators may absorb the error. */
export class EvaluationError extends Error {
  override readonly name = 'EvaluationError';
}

/** An evaluation took too many steps. No operator absorbs it. */
export class CostLimitError extends EvaluationError {}

export function conversionError(from: string, to: string): EvaluationError {
  return new EvaluationError(`type conversion error from '${from}' to '${to}'`);
}

/** The message of an error with the line and the column it points to, as the server prints it. */
export function messageWithSource(text: string, { at, message }: ExpressionError): string {
  const before = text.slice(0, at).split('\n');
  const column = before.at(-1)?.length ?? 0;
  const line = text.split('\n')[before.length - 1] ?? '';
  return `ERROR: <input>:${before.length}:${column + 1}: ${message}\n | ${line}\n | ${'.'.repeat(column)}^`;
}
