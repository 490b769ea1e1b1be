import type { Command } from 'commander';
import { addApply } from './apply.ts';
import { addDiff } from './diff.ts';
import { addLoad } from './load.ts';
import { addPlan } from './plan.ts';
import { addPreflight } from './preflight.ts';
import { addRehearse } from './rehearse.ts';
import { addRescue } from './rescue.ts';
import { addRollback } from './rollback.ts';
import { addHistory, addStatus } from './status.ts';
import { addVerify } from './verify.ts';

/** Adds `drydock release <verb>`: what a release brings, who signed it, what stands between two, what it would do to a cluster, and a way out where the way back has stuck. */
export function addRelease(program: Command): void {
  const group = program
    .command('release')
    .description(
      'see what a release brings, who signed it and what it would do; apply it, go back to an older one, and free what a way back has stuck',
    )
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed (a payload that cannot be read whole), 2 usage, 3 not verified, refused, kept at a bridge or not to be freed,\n4 the world moved since the plan (apply, rollback), 5 nobody agreed to the plan (apply, rescue, rollback), or undecided (preflight), 6 changes pending (plan).',
    );
  for (const add of [addLoad, addVerify, addDiff, addPlan, addApply, addPreflight, addRollback, addRehearse])
    add(group);
  for (const add of [addStatus, addHistory, addRescue]) add(group);
  for (const verb of group.commands) verb.exitOverride().showHelpAfterError('(use --help to see what there is)');
}
