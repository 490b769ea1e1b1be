import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';

/** The repository's root. */
export const root: string = join(import.meta.dirname, '..');

/** Runs a program with the workspace's binaries first in PATH and its output passed through; resolves with its exit code. */
export function run(command: string, args: readonly string[]): Promise<number> {
  return exitOf(start(command, args, 'inherit'));
}

/** As `run`, but keeps what the program prints, on both streams in order. */
export async function capture(
  command: string,
  args: readonly string[],
): Promise<{ readonly code: number; readonly output: string }> {
  const child = start(command, args, ['ignore', 'pipe', 'pipe']);
  const printed: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => printed.push(chunk));
  return { code: await exitOf(child), output: Buffer.concat(printed).toString('utf8') };
}

function start(command: string, args: readonly string[], stdio: StdioOptions): ChildProcess {
  const path = `${join(root, 'node_modules', '.bin')}${delimiter}${process.env['PATH'] ?? ''}`;
  // A program that is captured colours what it prints as if it were on the terminal of this one.
  const color = stdio !== 'inherit' && process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
  return spawn(command, args, { cwd: root, stdio, env: { ...process.env, ...color, PATH: path } });
}

/** Signals to this process go on to the child; several children may run at once. */
function exitOf(child: ChildProcess): Promise<number> {
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on('SIGINT', pass).on('SIGTERM', pass);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      process.off('SIGINT', pass).off('SIGTERM', pass);
      resolve(code ?? (signal === 'SIGINT' ? 130 : 143));
    });
  });
}
