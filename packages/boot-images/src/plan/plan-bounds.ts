import { idOf, type KeptSet } from '../observe/kept-set.ts';
import type { LeafEdit } from '../observe/provider-spec.ts';
import type { PassBounds } from '../pass/bounds.ts';
import type { Acting } from '../pass/item.ts';
import type { ClusterPlan } from './cluster-plan.ts';
import type { StepOf } from './cluster-step.ts';
import { counterpart, imageDifference, otherEdits } from './difference.ts';

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
      const strange = await imageOtherwise(set, move, plan, call);
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

/** In what an image would be made otherwise than the plan says. */
async function imageOtherwise(
  set: KeptSet,
  move: Extract<Acting, { readonly kind: 'publish' }>,
  plan: ClusterPlan,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<string | undefined> {
  const { beside: _, ...foreseen } = await move.publication.foresee(call);
  const step: StepOf<'image'> = {
    ...{ kind: 'image', ...foreseen, release: move.target ?? move.hotLoopValue },
    sets: [idOf(set)],
  };
  // Another set's move has made it since.
  return foreseen.steps.length === 0 ? undefined : imageDifference(step, plan);
}
