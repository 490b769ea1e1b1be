import { createInterface } from 'node:readline/promises';
import { exitCode } from '../exit.ts';
import type { CommonFlags } from './flags.ts';
import { TemplateProblem } from './problem.ts';
import type { Run } from './run.ts';

/** Asks once, on a terminal. Without one nobody can answer: the verb is left undecided, and `--yes` decides it. */
export async function confirm(
  question: string,
  options: { readonly yes: boolean; readonly again: string; readonly signal: AbortSignal },
): Promise<boolean> {
  if (options.yes) return true;
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    throw new TemplateProblem({
      code: 'NOT_CONFIRMED',
      message: 'nothing was done: this needs a yes, and there is no terminal to ask on',
      exit: exitCode.undecided,
      next: `${options.again} --yes`,
    });
  }
  // Not in raw mode: Ctrl-C must stay the signal that ends everything in order.
  const terminal = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    const answer = await terminal.question(`${question} [y/N] `, { signal: options.signal });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}

/** Asks in a verb that has `--yes`; says where the answer is no. */
export async function agreed(
  { flags, again, signal, out }: Run<CommonFlags & { readonly yes?: boolean }>,
  question: string,
): Promise<boolean> {
  const yes = await confirm(question, { yes: flags.yes === true, again, signal });
  if (!yes) out.note('Nothing was done');
  return yes;
}
