import type { Command } from 'commander';
import { addPlan } from './plan.ts';
import { addStage } from './stage.ts';

/** Adds `drydock image <verb>`: what becomes of the images that new machines start from. */
export function addImage(program: Command): void {
  const group = program.command('image').description('plan and stage the images that new machines start from');
  for (const add of [addPlan, addStage]) add(group);
  for (const verb of group.commands) verb.exitOverride().showHelpAfterError('(use --help to see what there is)');
}
