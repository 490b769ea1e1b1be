import { setTimeout as sleep } from 'node:timers/promises';
import type { Conclusion } from '../explain.ts';
import { idOf, type KeptSet, keptSets, setNow } from '../observe/kept-set.ts';
import { runPass } from '../pass/pass.ts';
import { createPassState, type PassPorts, type PassState } from '../pass/pass-state.ts';
import type { StoryReason } from '../pass/update.ts';
import type { SetOutcome } from '../status/subject.ts';
import { type ClusterPlan, planCluster } from './cluster-plan.ts';
import type { ClusterStep } from './cluster-step.ts';
import { counterpart, planDifference } from './difference.ts';
import { PlanMoved, planBounds } from './plan-bounds.ts';

/** What came of carrying out a plan. */
export type CarriedOut =
  /** Nothing of it is left to do. */
  | { readonly kind: 'done' }
  /** It is not what would be done now; `begun`: a part of it was done before. */
  | { readonly kind: 'moved'; readonly why: string; readonly begun: boolean }
  /** Something failed, or stands in the way. */
  | {
      readonly kind: 'stopped';
      readonly set?: string;
      readonly why: string;
      readonly nextStep?: string;
      readonly blocked: boolean;
    };

/** What is told while a plan is carried out. */
export interface CarryOutHooks {
  /** What became of a set, or how far it is. */
  readonly outcome?: (set: string, outcome: SetOutcome) => void;
  readonly event?: (set: string, reason: StoryReason, note: string) => void;
  /** Nothing can be done for so long (ms). */
  readonly pause?: (ms: number, left: readonly ClusterStep[]) => void;
}

/** What a plan is carried out with. */
export interface CarryOutOptions {
  readonly ports: PassPorts;
  /** Done before each look: what is loaded and asked for passes. */
  readonly before?: () => Promise<void>;
  readonly hooks?: CarryOutHooks;
  readonly signal?: AbortSignal | undefined;
  /** Default: the system's timer. */
  readonly pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** Longest pause (ms) between two passes: not everything that ends a wait is watched. */
const LONGEST_MS = 10_000;
/** How long (ms) the watch may take to show what was written here. */
const SHOWN_MS = 30_000;
const SHOWN_LOOK_MS = 50;

/**
 * Does exactly what is left of a plan, by the passes that an operator makes, within the plan's bounds; it is decided again before each, and once more at the end. Refuses, with nothing done, where
 * something else would be done by now. It may end at any point, also by the signal, with whose reason it rejects: what is left is still that plan, for another process or an operator. Conditions
 * of MachineConfiguration are the operator's and stay as they are.
 */
export async function carryOut(plan: ClusterPlan, options: CarryOutOptions): Promise<CarriedOut> {
  const { hooks = {}, signal, pause = wait } = options;
  const look = async (): Promise<ClusterPlan> => {
    await options.before?.();
    return planCluster(setsOf(plan, options.ports), options.ports, {
      signal,
      some: plan.sets !== undefined,
    });
  };
  const end = new AbortController();
  let troubled: string | undefined;
  const failed = new Map<string, Extract<SetOutcome, { readonly kind: 'failed' }>>();
  const state = createPassState(options.ports.now());
  const ports: PassPorts = {
    ...options.ports,
    bounds: planBounds(plan, (why) => end.abort(why)),
    writeConditions: async () => undefined,
    report: async (set, outcome) => {
      const id = idOf(set);
      if (outcome.kind === 'failed') failed.set(id, outcome);
      else failed.delete(id);
      hooks.outcome?.(id, outcome);
      await options.ports.report(set, outcome);
    },
    event: (set, reason, note) => {
      hooks.event?.(idOf(set), reason, note);
      options.ports.event(set, reason, note);
    },
    warn: (message, error) => {
      troubled = message;
      options.ports.warn(message, error);
    },
  };
  let now = await look();
  for (let passes = 0; ; passes += 1) {
    const difference = planDifference(plan, now);
    const stuck = difference === undefined ? undefined : stoppedBy(plan, now);
    if (stuck !== undefined && passes > 0) return stuck;
    if (difference !== undefined) return { kind: 'moved', why: difference, begun: passes > 0 };
    const left = now.steps.filter((step) => counterpart(plan, step) !== undefined);
    if (left.length === 0) return { kind: 'done' };
    troubled = undefined;
    let after: number | undefined;
    try {
      const signals = { signal: signal === undefined ? end.signal : AbortSignal.any([signal, end.signal]) };
      after = (await runPass(ports, state, { reason: 'Plan', touched: 'all' }, signals))?.after;
    } catch (error) {
      const moved: unknown = end.signal.reason;
      if (moved instanceof PlanMoved) return { kind: 'moved', why: moved.message, begun: true };
      throw error;
    }
    await shown(plan, state, ports, signal);
    const again = await look();
    const moved = planDifference(plan, again);
    for (const [set, { message, nextStep, blocked }] of failed) {
      if (!isOf(plan, set)) continue;
      // What fails because somebody else was faster is told as that.
      if (moved !== undefined && stoppedBy(plan, again) === undefined)
        return { kind: 'moved', why: moved, begun: true };
      return { kind: 'stopped', set, why: message, ...(nextStep === undefined ? {} : { nextStep }), blocked };
    }
    if (troubled !== undefined && left.every(({ kind }) => kind === 'collect'))
      return { kind: 'stopped', why: troubled, blocked: false };
    const still = again.steps.filter((step) => counterpart(plan, step) !== undefined);
    now = again;
    if (still.length === 0 || moved !== undefined) continue;
    const ms = Math.min(after ?? LONGEST_MS, LONGEST_MS);
    hooks.pause?.(ms, still);
    await pause(ms, signal);
    now = await look();
  }
}

/** Why a step of the plan cannot be done now, where that is said of its set. */
export function stoppedBy(
  plan: ClusterPlan,
  now: ClusterPlan,
  steps: readonly Conclusion['step'][] = ['blocked', 'failed', 'wait', 'unknown'],
): CarriedOut | undefined {
  const stopped = now.rest.find(({ set, step }) => isOf(plan, set) && steps.includes(step));
  if (stopped === undefined) return undefined;
  const { set, step, why, nextStep } = stopped;
  return {
    ...{ kind: 'stopped', set, why, blocked: step === 'blocked' || step === 'wait' },
    ...(nextStep === undefined ? {} : { nextStep }),
  };
}

function isOf({ steps }: ClusterPlan, set: string): boolean {
  return steps.some((step) => step.kind === 'point' && step.set === set);
}

/** The sets that a plan is about, as they are now. One that is gone is told by its absence. */
function setsOf({ sets }: ClusterPlan, { world }: Pick<PassPorts, 'world'>): readonly KeptSet[] {
  const there = keptSets(world);
  if (sets === undefined) return there;
  const byId = new Map(there.map((set) => [idOf(set), set]));
  return sets.flatMap((id) => byId.get(id) ?? []);
}

/** Waits until the watch shows what was written to the sets: what is decided from before would be decided twice. */
async function shown(
  plan: ClusterPlan,
  state: PassState,
  { world }: PassPorts,
  signal: AbortSignal | undefined,
): Promise<void> {
  const until = performance.now() + SHOWN_MS;
  const stale = (set: KeptSet): boolean => {
    const id = idOf(set);
    const edited = plan.steps.some((step) => step.kind === 'point' && step.set === id && step.edits.length > 0);
    return edited && state.moved.get(id) === (setNow(world, set)?.metadata.resourceVersion ?? '');
  };
  while (performance.now() < until && setsOf(plan, { world }).some(stale)) await wait(SHOWN_LOOK_MS, signal);
}

/** The default pause. */
export async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, signal === undefined ? {} : { signal });
}
