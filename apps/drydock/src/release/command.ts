import type { Command } from 'commander';
import { addDiff } from './diff.ts';
import { addLoad } from './load.ts';
import { addPlan } from './plan.ts';
import { addVerify } from './verify.ts';

/** Adds `drydock release <verb>`: what a release brings, who signed it, what stands between two, and what it would do to a cluster. */
export function addRelease(program: Command): void {
  const group = program
    .command('release')
    .description('see what a release brings, who signed it, what stands between two, and what it would do to a cluster')
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed (a payload that cannot be read whole), 2 usage, 3 not verified, or refused,\n6 changes pending (plan).',
    );
  for (const add of [addLoad, addVerify, addDiff, addPlan]) add(group);
  for (const verb of group.commands) verb.exitOverride().showHelpAfterError('(use --help to see what there is)');
}
