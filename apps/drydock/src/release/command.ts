import type { Command } from 'commander';
import { addDiff } from './diff.ts';
import { addLoad } from './load.ts';
import { addVerify } from './verify.ts';

/** Adds `drydock release <verb>`: what a release brings, who signed it, and what stands between two. */
export function addRelease(program: Command): void {
  const group = program
    .command('release')
    .description('see what a release brings, who signed it, and what stands between two')
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed (a payload that cannot be read whole), 2 usage, 3 not verified.',
    );
  for (const add of [addLoad, addVerify, addDiff]) add(group);
  for (const verb of group.commands) verb.exitOverride().showHelpAfterError('(use --help to see what there is)');
}
