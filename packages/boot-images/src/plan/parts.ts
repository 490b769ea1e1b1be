import { isRotatedId } from '../cluster-api/set.ts';
import type { ClusterPlan } from './cluster-plan.ts';
import type { ClusterStep } from './cluster-step.ts';

/** The part of a plan that is about sets of Machine API, or about those of Cluster API: each is carried out by its own. */
export function planPart(plan: ClusterPlan, of: 'MachineAPI' | 'ClusterAPI'): ClusterPlan {
  const ours = (set: string): boolean => isRotatedId(set) === (of === 'ClusterAPI');
  const steps = plan.steps.flatMap((step): readonly ClusterStep[] => {
    if ('set' in step) return ours(step.set) ? [step] : [];
    if ('sets' in step) {
      const sets = step.sets.filter(ours);
      return sets.length === 0 ? [] : [{ ...step, sets }];
    }
    const rotated = step.kind === 'copy' || step.clusterApi === true;
    return rotated === (of === 'ClusterAPI') ? [step] : [];
  });
  const { sets, rest } = plan;
  return {
    ...plan,
    ...(sets === undefined ? {} : { sets: sets.filter(ours) }),
    ...{ steps, rest: rest.filter(({ set }) => ours(set)) },
  };
}
