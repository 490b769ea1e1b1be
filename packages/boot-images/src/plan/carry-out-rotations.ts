import type { RotationBounds } from '../cluster-api/rotate.ts';
import type { SetOutcome } from '../status/subject.ts';
import { type CarriedOut, type CarryOutHooks, stoppedBy, wait } from './carry-out.ts';
import type { ClusterPlan } from './cluster-plan.ts';
import type { ClusterStep, StepOf } from './cluster-step.ts';
import { counterpart, planDifference } from './difference.ts';
import { PlanMoved, rotationBounds } from './plan-bounds.ts';

/** What steps of sets of Cluster API are carried out with. */
export interface RotationCarryPorts {
  /** What would be done now about these sets, or about all. */
  readonly look: (sets: readonly string[] | undefined, call: Call) => Promise<ClusterPlan>;
  /** Works on one set within bounds. What became of it is told; undefined where it is gone. */
  readonly work: (
    set: string,
    bounds: RotationBounds,
    call: Call,
  ) => Promise<{ readonly outcome: SetOutcome | undefined; readonly after: number } | undefined>;
  /** Removes what the plan says, as far as nothing needs it still. Throws where something could not be looked at. */
  readonly collect: (steps: readonly Collected[], call: Call) => Promise<void>;
  readonly hooks?: CarryOutHooks;
  /** Default: the system's timer. */
  readonly pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

interface Call {
  readonly signal?: AbortSignal | undefined;
}

/** A step that takes something away. */
export type Collected = StepOf<'copy'> | StepOf<'collect'>;

/** Longest pause (ms) between two looks: not everything that ends a wait is watched. */
const LONGEST_MS = 10_000;

/**
 * Does exactly what is left of a plan about sets of Cluster API, by the rotations that an operator makes, within the plan's bounds; it is decided again before each. It may end at any point, also by
 * the signal: what is left is still that plan, for another process or an operator.
 */
export async function carryOutRotations(
  plan: ClusterPlan,
  ports: RotationCarryPorts,
  call: Call = {},
): Promise<CarriedOut> {
  const { hooks = {}, pause = wait } = ports;
  let begun = false;
  const asked = rotationBounds(plan);
  const bounds: RotationBounds = {
    mayPublish: (...about) => {
      asked.mayPublish(...about);
      begun = true;
    },
    ...{ mayTry: asked.mayTry, isOwn: asked.isOwn },
    mayWrite: (...about) => {
      asked.mayWrite(...about);
      begun = true;
    },
  };
  for (;;) {
    const now = await ports.look(plan.sets, call);
    const moved = planDifference(plan, now);
    if (moved !== undefined) {
      const stopped = begun ? stoppedBy(plan, now, ['blocked', 'failed', 'unknown']) : undefined;
      return stopped ?? { kind: 'moved', why: moved, begun };
    }
    const left = now.steps.filter((step) => !isCollected(step) && counterpart(plan, step) !== undefined);
    if (left.length === 0) break;
    let after = LONGEST_MS;
    let further = false;
    for (const set of setsOf(left)) {
      call.signal?.throwIfAborted();
      try {
        const done = await ports.work(set, bounds, call);
        const { outcome } = done ?? {};
        if (outcome !== undefined) hooks.outcome?.(set, outcome);
        if (outcome?.kind === 'failed') {
          const { message: why, nextStep, blocked } = outcome;
          return { kind: 'stopped', set, why, blocked, ...(nextStep === undefined ? {} : { nextStep }) };
        }
        if (outcome?.kind === 'current') further = true;
        else after = Math.min(after, done?.after ?? after);
      } catch (error) {
        if (error instanceof PlanMoved) return { kind: 'moved', why: error.message, begun };
        throw error;
      }
    }
    if (further) continue;
    hooks.pause?.(after, left);
    await pause(after, call.signal);
  }
  const collected = plan.steps.filter(isCollected);
  if (collected.length > 0) await ports.collect(collected, call);
  return { kind: 'done' };
}

function isCollected(step: ClusterStep): step is Collected {
  return step.kind === 'copy' || step.kind === 'collect';
}

function setsOf(steps: readonly ClusterStep[]): readonly string[] {
  return [...new Set(steps.flatMap((step) => ('set' in step ? [step.set] : 'sets' in step ? step.sets : [])))];
}
