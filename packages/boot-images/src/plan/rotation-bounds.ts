import type { Write } from '../cluster-api/act.ts';
import type { RotationBounds } from '../cluster-api/rotate.ts';
import { idOfRotated } from '../cluster-api/set.ts';
import type { ClusterPlan } from './cluster-plan.ts';
import { counterpart, imageDifference } from './difference.ts';
import { PlanMoved } from './plan-bounds.ts';

/** A rotation within these does what the plan says and nothing else. */
export function rotationBounds(plan: ClusterPlan): RotationBounds {
  const stop = (message: string): never => {
    throw new PlanMoved(message);
  };
  return {
    isOwn: (error) => error instanceof PlanMoved,
    mayPublish: (set, release, foreseen) => {
      for (const { beside: _, ...image } of foreseen) {
        if (image.steps.length === 0) continue;
        const why = imageDifference({ kind: 'image', ...image, release, sets: [idOfRotated(set)] }, plan);
        if (why !== undefined) stop(why);
      }
    },
    mayTry: (machine) => {
      const said = plan.steps.some((step) => step.kind === 'canary' && step.machine === machine);
      if (!said) stop(`no machine ${machine} tries an image in the plan`);
    },
    mayWrite: (set, step) => {
      if (!isSaid(idOfRotated(set), step, plan))
        stop(`the plan says nothing of this for ${idOfRotated(set)}: ${textOf(step)}`);
    },
  };
}

function isSaid(set: string, step: Write, plan: ClusterPlan): boolean {
  switch (step.kind) {
    case 'clone':
    case 'keep': {
      const { name } = step.template.metadata;
      return plan.steps.some((one) => one.kind === step.kind && one.set === set && one.name === name);
    }
    case 'point': {
      const said = counterpart(plan, { kind: 'point', set, edits: [], to: '' });
      return said?.edits.some(({ from, to }) => from === step.from && to === step.to) === true;
    }
    case 'variable': {
      const cluster = `${step.cluster.metadata.namespace ?? ''}/${step.cluster.metadata.name}`;
      const said = counterpart(plan, { kind: 'variable', set, cluster, variable: '', to: '' });
      return said?.cluster === cluster && said.variable === step.variable && said.to === step.value;
    }
  }
}

function textOf(step: Write): string {
  switch (step.kind) {
    case 'clone':
    case 'keep':
      return `${step.kind} ${step.template.metadata.name}`;
    case 'point':
      return `from ${step.from} to ${step.to}`;
    case 'variable':
      return `variable ${step.variable} is ${step.value}`;
  }
}
