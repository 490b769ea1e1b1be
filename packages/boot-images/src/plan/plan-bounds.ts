import type { Write } from '../cluster-api/act.ts';
import type { RotationBounds } from '../cluster-api/rotate.ts';
import { idOfRotated } from '../cluster-api/set.ts';
import { idOf, type KeptSet } from '../observe/kept-set.ts';
import type { LeafEdit } from '../observe/provider-spec.ts';
import type { PassBounds } from '../pass/bounds.ts';
import type { ForeseenPublication } from '../platform.ts';
import type { ClusterPlan } from './cluster-plan.ts';
import type { StepOf } from './cluster-step.ts';
import { counterpart, notPlanned, otherEdits } from './difference.ts';

/** What would be done is no step of the plan any more. */
export class PlanMoved extends Error {
  override readonly name = 'PlanMoved';
}

/** A pass within these does what the plan says and nothing else. `moved` is called with the first thing that it would do otherwise. */
export function planBounds(plan: ClusterPlan, moved: (why: PlanMoved) => void): PassBounds {
  const some = plan.sets === undefined ? undefined : new Set(plan.sets);
  // What waited is another plan's, once it need not wait any more.
  const waiting = new Set(plan.rest.flatMap(({ set, step }) => (step === 'wait' ? [set] : [])));
  const removed = new Set(
    plan.steps.flatMap((step) => (step.kind === 'collect' ? step.name : step.kind === 'canary' ? step.machine : [])),
  );
  const stop = (message: string): never => {
    const why = new PlanMoved(message);
    moved(why);
    throw why;
  };
  const stepFor = (set: KeptSet): StepOf<'point'> => {
    const id = idOf(set);
    const step = plan.steps.find((one): one is StepOf<'point'> => one.kind === 'point' && one.set === id);
    return step ?? stop(`the plan does not move ${id}`);
  };
  const mayPoint = (set: KeptSet, edits: readonly LeafEdit[]): void => {
    const other = otherEdits(stepFor(set).edits, edits);
    if (other !== undefined) stop(`the plan points ${idOf(set)} ${other}`);
  };
  return {
    includes: (set) => some?.has(idOf(set)) !== false && !waiting.has(idOf(set)),
    mayMove: async (set, move, call) => {
      const step = stepFor(set);
      const to = move.target ?? move.hotLoopValue;
      if (to !== step.to) stop(`the plan takes ${idOf(set)} to ${step.to}, and it would go to ${to}`);
      if (move.kind === 'switch') return;
      const strange = imageOtherwise(await move.publication.foresee(call), to, idOf(set), plan);
      if (strange !== undefined) stop(strange);
    },
    mayTry: (machine) => {
      if (!removed.has(machine)) stop(`no machine ${machine} tries an image in the plan`);
    },
    mayConvert: (secret) => {
      if (counterpart(plan, { kind: 'stub', secret, sets: [] }) === undefined)
        stop(`the plan converts no stub in secret ${secret}`);
    },
    mayPoint,
    mayRemove: (name) => removed.has(name),
  };
}

/** In what an image would be made otherwise than the plan says. One that another set's move has made since is not made. */
function imageOtherwise(
  foreseen: ForeseenPublication,
  release: string,
  set: string,
  plan: ClusterPlan,
): string | undefined {
  const { beside: _, ...image } = foreseen;
  if (image.steps.length === 0) return undefined;
  return notPlanned({ kind: 'image', ...image, release, sets: [set] }, plan);
}

/** A rotation within these does what the plan says and nothing else. */
export function rotationBounds(plan: ClusterPlan): RotationBounds {
  const stop = (message: string): never => {
    throw new PlanMoved(message);
  };
  return {
    isOwn: (error) => error instanceof PlanMoved,
    mayPublish: (set, release, foreseen) => {
      for (const image of foreseen) {
        const strange = imageOtherwise(image, release, idOfRotated(set), plan);
        if (strange !== undefined) stop(strange);
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
