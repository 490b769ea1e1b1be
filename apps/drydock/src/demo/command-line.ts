import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { program } from '../process/operator-process.ts';

/** What a command said, and how it ended. */
export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

/** Runs `drydock` as a person would, and waits for its end. */
export async function drydock(
  args: readonly string[],
  options: { readonly cwd: string; readonly signal: AbortSignal },
): Promise<Ran> {
  const child = spawn(process.execPath, [program, ...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, out, errors };
}
