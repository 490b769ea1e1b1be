import type { Command } from 'commander';
import { addApply } from './apply.ts';
import { addHistory } from './history.ts';
import { addPlan } from './plan.ts';
import { addRelease } from './release.ts';
import { addRevert } from './revert.ts';
import { addStage } from './stage.ts';

/** Adds `drydock image <verb>`: what becomes of the images that new machines start from, and the way back. */
export function addImage(program: Command): void {
  const group = program
    .command('image')
    .description('plan, apply, stage, pin and take back the images that new machines start from');
  for (const add of [addPlan, addApply, addStage, addHistory, addRevert, addRelease]) add(group);
  for (const verb of group.commands) verb.exitOverride().showHelpAfterError('(use --help to see what there is)');
}
