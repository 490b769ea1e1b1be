import type { Command } from 'commander';
import { addBridge } from './bridge.ts';
import { addCheck } from './check.ts';
import { addDoctor } from './doctor.ts';
import { addPreflight } from './preflight.ts';

/** Adds `drydock crd <verb>`: whether a cluster can go to other definitions, and back. */
export function addCrd(program: Command): void {
  const group = program
    .command('crd')
    .description('see what an older or a newer definition would refuse or lose')
    .addHelpText('after', '\nExit codes: 0 clean, 1 failed, 2 usage, 3 blocked, 5 undecided, 130 and 143 interrupted.');
  for (const add of [addCheck, addPreflight, addBridge, addDoctor]) add(group);
  for (const verb of group.commands) verb.exitOverride().showHelpAfterError('(use --help to see what there is)');
}
