import { isDeepStrictEqual } from 'node:util';
import type { LeafEdit } from '../observe/provider-spec.ts';
import type { ClusterPlan } from './cluster-plan.ts';
import { type ClusterStep, editLines, type StepOf, stepTitle } from './cluster-step.ts';

/**
 * The first thing in which what would be done now is not what is left of a plan, as a sentence; undefined where it is: each step is one of the plan, or the end of one, and what is missing is
 * done. So a plan that was carried out in part, by whomever, is still that plan. What else could be collected by now is no difference: nothing is collected that the plan does not name.
 */
export function planDifference(plan: ClusterPlan, now: ClusterPlan): string | undefined {
  if (plan.cluster !== now.cluster)
    return `the plan was made for cluster ${plan.cluster || '(unknown)'}, and this is ${now.cluster || '(unknown)'}`;
  for (const step of now.steps) {
    if (step.kind === 'collect' || step.kind === 'copy' || isLater(step, plan)) continue;
    const why = notPlanned(step, plan);
    if (why !== undefined) return why;
  }
  for (const [at, step] of plan.steps.entries()) {
    const why = step.kind === 'point' ? notDone(step, now) : undefined;
    if (why !== undefined) return `step ${at + 1} of the plan says ${stepTitle(step)}, and now ${why}`;
  }
  return undefined;
}

/** The step of a plan that is about the same thing. */
export function counterpart<K extends ClusterStep['kind']>(
  { steps }: Pick<ClusterPlan, 'steps'>,
  step: StepOf<K>,
): StepOf<K> | undefined {
  const subject = subjectOf(step);
  return steps.find((one): one is StepOf<K> => one.kind === step.kind && subjectOf(one) === subject);
}

function subjectOf(step: ClusterStep): string {
  switch (step.kind) {
    case 'image':
      return `image ${step.server} ${step.folder} ${step.name}`;
    case 'canary':
      return `canary ${step.machine}`;
    case 'stub':
      return `stub ${step.secret}`;
    case 'point':
      return `point ${step.set}`;
    case 'clone':
    case 'keep':
    case 'variable':
      return `${step.kind} ${step.set}`;
    case 'copy':
      return `copy ${step.template} ${step.does}`;
    case 'collect':
      return `collect ${step.server} ${step.name}`;
  }
}

/** Sets that the plan has waiting are another plan's, once they need not wait any more. */
function isLater(step: ClusterStep, { rest }: ClusterPlan): boolean {
  const waiting = new Set(rest.flatMap((one) => (one.step === 'wait' ? [one.set] : [])));
  const sets = 'set' in step ? [step.set] : 'sets' in step ? step.sets : [];
  return sets.length > 0 && sets.every((set) => waiting.has(set));
}

/** Why a step that would be done is none of the plan's, as a sentence; undefined where it is. */
export function notPlanned(step: ClusterStep, plan: ClusterPlan): string | undefined {
  const said = counterpart(plan, step);
  if (said === undefined) return `the plan has no such step, and now it would be ${stepTitle(step)}`;
  const why = otherwise(said, step);
  return why === undefined ? undefined : `step ${plan.steps.indexOf(said) + 1} of the plan says ${why}`;
}

/** In what a step is another one than the plan's about the same thing: what the plan says, and what it would be. */
function otherwise(said: ClusterStep, now: ClusterStep): string | undefined {
  if (said.kind === 'point' && now.kind === 'point') {
    if (said.to !== now.to) return `${stepTitle(said)}, and it would be ${stepTitle(now)}`;
    const other = otherEdits(said.edits, now.edits);
    if (other !== undefined) return `${stepTitle(said)}, ${other}`;
    return said.from === now.from ? undefined : `${stepTitle(said)}, and it would be ${stepTitle(now)}`;
  }
  if (said.kind === 'image' && now.kind === 'image') {
    const images = [said, now].map(({ release, from }) => `${release}, sha256 ${from?.sha256 ?? 'unknown'}`);
    if (images[0] !== images[1]) return `image ${images[0]}, and it would be ${images[1]}`;
    const call = strangeCall(said, now);
    if (call !== undefined) return `nothing of the call ${call} for image ${now.name}, which it would be`;
  }
  if ((said.kind === 'clone' || said.kind === 'keep') && said.kind === now.kind && said.name !== now.name)
    return `${stepTitle(said)}, and it would be ${now.name}`;
  if (said.kind === 'variable' && now.kind === 'variable') {
    const [was, is] = [said, now].map(({ cluster, variable, to }) => JSON.stringify([cluster, variable, to]));
    if (was !== is) return `${stepTitle(said)}, and it would be ${stepTitle(now)}`;
  }
  if ('sets' in said && 'sets' in now) {
    const more = now.sets.filter((set) => !said.sets.includes(set));
    if (more.length > 0) return `${stepTitle(said)}, and now it would be for ${more.join(', ')}, too`;
  }
  return undefined;
}

/** What is edited otherwise, as a clause. */
export function otherEdits(said: readonly LeafEdit[], now: readonly LeafEdit[]): string | undefined {
  if (isDeepStrictEqual(plain(said), plain(now))) return undefined;
  const [was, is] = [said, now].map((edits) => edits.flatMap(editLines).join(', ') || 'no change of the set');
  return `by ${was}, and it would be ${is}`;
}

/** As it comes back from a file: what is undefined is absent there. */
function plain(edits: readonly LeafEdit[]): unknown {
  return JSON.parse(JSON.stringify(edits));
}

/**
 * The first call that the plan does not have. What is left of a plan is some of its calls in their order; a machine that was born since has an id by now, and what an
 * import that was cut off has left is removed first.
 */
function strangeCall(said: StepOf<'image'>, now: StepOf<'image'>): string | undefined {
  const born = new Set(said.steps.flatMap(({ step, machine }) => (step === 'import' ? (machine ?? []) : [])));
  const left = said.steps.flatMap(({ calls }) => calls);
  for (const { step, machine, calls } of now.steps) {
    if (step === 'destroy' && machine !== undefined && born.has(machine)) continue;
    for (const call of calls) {
      const at = left.findIndex((one) => one === call || one === unnumbered(call));
      if (at < 0) return call;
      left.splice(0, at + 1);
    }
  }
  return undefined;
}

/** A call on a machine as it is said before that has an id. */
function unnumbered(call: string): string {
  return call.replace(/^(\S+) \S+ (?=")/, '$1 ');
}

/** Why a set that the plan points at an image is neither pointed at it yet nor to be, as a clause. */
function notDone(step: StepOf<'point'>, now: ClusterPlan): string | undefined {
  if (counterpart(now, step) !== undefined) return undefined;
  const stands = now.rest.find(({ set }) => set === step.set);
  if (stands === undefined) return `there is no ${step.set}`;
  if (stands.step === 'none' && stands.current === step.to) return undefined;
  return `${step.set} is at ${stands.current ?? 'an unknown image'}: ${stands.why}`;
}
