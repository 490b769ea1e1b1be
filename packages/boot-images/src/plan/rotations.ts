import type { PlannedRotation, PlannedRotationStep } from '../cluster-api/plan.ts';
import { isRotatedId } from '../cluster-api/set.ts';
import type { ForeseenPublication } from '../platform.ts';
import type { ClusterPlan } from './cluster-plan.ts';
import { addFor, type ClusterStep, type StepOf } from './cluster-step.ts';

/** A plan with what would be done about sets of Cluster API: images first, each once, then the machines that try them, then what is done about each set. */
export function withRotations(plan: ClusterPlan, rotations: readonly PlannedRotation[], cluster: string): ClusterPlan {
  const images = new Map<string, StepOf<'image'>>();
  const canaries = new Map<string, StepOf<'canary'>>();
  const steps: ClusterStep[] = [];
  for (const { set, current, target = '', steps: planned } of rotations)
    for (const step of planned) {
      if (step.kind === 'publish') for (const image of step.images) addImage(images, image, step.release, set);
      else if (step.kind === 'canary') addFor(canaries, step.machine, { ...step, sets: [set] });
      else steps.push(stepOf(set, step, { current, target }));
    }
  const rest = rotations.flatMap(({ set, current, rest: why }) => {
    if (why === undefined) return [];
    const { edits: _, ...words } = why;
    return [{ set, ...words, ...(current === undefined ? {} : { current }) }];
  });
  const { sets } = plan;
  return {
    ...plan,
    cluster: plan.cluster === '' ? cluster : plan.cluster,
    ...(sets === undefined ? {} : { sets: [...sets, ...rotations.map(({ set }) => set)] }),
    steps: [...plan.steps, ...images.values(), ...canaries.values(), ...steps],
    rest: [...plan.rest, ...rest],
  };
}

function addImage(
  images: Map<string, StepOf<'image'>>,
  foreseen: ForeseenPublication,
  release: string,
  set: string,
): void {
  const { beside: _, ...image } = foreseen;
  if (image.steps.length === 0) return;
  const key = JSON.stringify([image.server, image.folder, image.name]);
  addFor(images, key, { kind: 'image', ...image, release, sets: [set] });
}

function stepOf(
  set: string,
  step: Exclude<PlannedRotationStep, { readonly kind: 'publish' | 'canary' }>,
  { current, target }: { readonly current: string | undefined; readonly target: string },
): ClusterStep {
  if (step.kind !== 'point') return { ...step, set };
  const { path, from, to } = step;
  return {
    kind: 'point',
    set,
    edits: [{ path, from, to }],
    to: target,
    ...(current === undefined ? {} : { from: current }),
  };
}

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
