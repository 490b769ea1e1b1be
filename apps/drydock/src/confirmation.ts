import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';

/** Where a person is asked; `isTTY` where there may be one. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

/**
 * Whether somebody says yes: by `--yes`, or on a terminal. Where there is none nobody did, and what needed it is left undone. `about` is shown on the terminal first.
 */
export async function agreed(
  question: string,
  options: { readonly yes: boolean; readonly about?: () => string; readonly signal: AbortSignal },
  { stdin, stderr }: Terminal = process,
): Promise<boolean> {
  if (options.yes) return true;
  if (stdin.isTTY !== true || stderr.isTTY !== true) return false;
  stderr.write(options.about?.() ?? '');
  // Not in raw mode: Ctrl-C must stay the signal that ends everything in order.
  const terminal = createInterface({ input: stdin, output: stderr, terminal: false });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `, { signal: options.signal })).trim());
  } finally {
    terminal.close();
  }
}
