import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';

/** The repository's root. */
export const root: string = join(import.meta.dirname, '..');

/** Runs a program with the workspace's binaries first in PATH and its output passed through; resolves with its exit code. */
export function run(command: string, args: readonly string[]): Promise<number> {
  const path = `${join(root, 'node_modules', '.bin')}${delimiter}${process.env['PATH'] ?? ''}`;
  const child = spawn(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, PATH: path } });
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on('SIGINT', pass).on('SIGTERM', pass);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      process.off('SIGINT', pass).off('SIGTERM', pass);
      resolve(code ?? (signal === 'SIGINT' ? 130 : 143));
    });
  });
}
