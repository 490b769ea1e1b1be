import { planDifference } from '../apply/agreement.ts';
import type { RollbackPlan, RollbackPlanStep } from './plan.ts';

/**
 * The first thing that would be done now and that a plan of a way does not say, as a sentence; undefined where all of it is in the plan. What was done meanwhile is no difference.
 */
export function rollbackDifference(plan: RollbackPlan, now: RollbackPlan): string | undefined {
  for (const field of ['owner', 'from', 'to'] as const)
    if (plan[field] !== now[field]) return `the plan is for ${field} ${plan[field]}, and now it is ${now[field]}`;
  const applied = planDifference(plan.applied, now.applied);
  if (applied !== undefined) return applied;
  for (const { phase, steps } of now.phases) {
    const said = plan.phases.find((one) => one.phase === phase)?.steps ?? [];
    for (const step of steps) {
      // Of these the plan of the payload has said all.
      if (step.action === 'apply') continue;
      const why = otherwise(said, step);
      if (why !== undefined) return `${phase}: ${why}`;
    }
  }
  return undefined;
}

function otherwise(said: readonly RollbackPlanStep[], { action, object, what }: RollbackPlanStep): string | undefined {
  const same = said.find((one) => one.action === action && one.object === object);
  if (same?.what === what) return undefined;
  const planned = same === undefined ? 'the plan has no such step' : `the plan says ${same.what}`;
  return `${action} ${object} (${what}), and ${planned}`;
}
