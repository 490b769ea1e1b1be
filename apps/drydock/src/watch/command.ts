import type { Command } from 'commander';
import { addWatchStatus } from './status.ts';
import { addWatchVms } from './vms.ts';

/** Adds `drydock watch <verb>`: changes of machines as they happen. */
export function addWatch(program: Command): void {
  const group = program
    .command('watch')
    .description('see changes of vSphere machines as they happen')
    .configureHelp({ showGlobalOptions: true });
  addWatchVms(group);
  addWatchStatus(group);
}
