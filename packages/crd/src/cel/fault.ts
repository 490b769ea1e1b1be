import { EvaluationError } from '@marcbachmann/cel-js';

/** Adds a function or an operator to the language; the signature is the library's. */
export type Add = (signature: string, handler: (...args: never[]) => unknown) => void;

/** The code of what CEL itself calls an error: no server overlooks it. */
export const FAULT = 'invalid_argument';

/** What a server answers with an error, too. The message never has a value. */
export function fault(message: string): EvaluationError {
  return new EvaluationError({ code: FAULT, message });
}

/** The answer, or a doubt where there is none: only the server can tell then. */
export function decided<T>(answer: T | undefined): T {
  if (answer === undefined) throw undecidable('only the server can tell');
  return answer;
}

/** A doubt: makes the rule undecided. */
export function undecidable(why: string): RangeError {
  return new RangeError(why);
}
