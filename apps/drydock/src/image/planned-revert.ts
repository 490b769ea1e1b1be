import { type Goal, goalsOf, livePin, type Pin, type PlannedRotation, pinnedName } from '@drydock/boot-images';
import { exitCode } from '../exit.ts';
import { shell } from '../template/next-command.ts';
import { type RevertPlan, type RevertRefusal, type RevertWish, wordOf } from './revert-plan.ts';
import type { RotatedImage } from './rotated-image.ts';

/** What a revert of a set of Cluster API would do: its template is copied with the earlier image, as for any other. `plan` says what would be done under a pin; undefined where the set is gone. */
export async function plannedRevert(
  { id, image }: RotatedImage,
  { to, words }: RevertWish,
  plan: (pin: Pin) => Promise<PlannedRotation | undefined>,
): Promise<RevertPlan | RevertRefusal> {
  const { status } = image;
  const goals = goalsOf(status, to);
  const goal = goals.find((one) => one.image !== undefined);
  if (goal === undefined) return nowhere(id, goals[0]);
  const pin = { ...goal, ...words };
  const planned = await plan(pin);
  if (planned === undefined) return nowhere(id, goal);
  const { rest, current, steps, because } = planned;
  const entry = status?.history?.find(({ release, image: of }) => release === goal.release && of === goal.image);
  const word = rest?.step === 'unknown' ? wordOf(entry) : undefined;
  if (word?.refused !== undefined)
    return { code: exitCode.blocked, message: word.refused.why, why: word.refused.because ?? word.refused.why };
  if (rest !== undefined && rest.step !== 'none' && rest.step !== 'wait' && word === undefined)
    return {
      code: rest.step === 'unknown' ? exitCode.undecided : exitCode.blocked,
      message: rest.why,
      ...(because === undefined ? {} : { why: because }),
      ...(rest.nextStep === undefined ? {} : { next: rest.nextStep }),
    };
  const replaces = livePin(image, Date.now());
  const from = current ?? status?.current;
  return {
    ...{ set: id, pin, how: howText(planned) },
    from: steps.length === 0 && rest?.step === 'none' ? pinnedName(pin) : from,
    sets: [{ id, fresh: image, seen: image }],
    ...(replaces === undefined ? {} : { replaces }),
  };
}

function howText({ steps, rest }: PlannedRotation): string {
  if (rest !== undefined) return rest.why;
  const parts = steps.map((step) => {
    if (step.kind === 'clone') return `${step.of} is copied as ${step.name} with ${step.image.to}`;
    if (step.kind === 'keep') return `${step.name}, a copy of ${step.of}, is kept`;
    if (step.kind === 'canary') return `machine ${step.machine} tries ${step.image}`;
    if (step.kind === 'variable') return `variable ${step.variable} of cluster ${step.cluster} is ${step.to}`;
    return step.kind === 'point' ? `the set is pointed from ${step.from} at ${step.to}` : `${step.release} is made`;
  });
  return parts.join(', ');
}

function nowhere(id: string, goal: Goal | undefined): RevertRefusal {
  const why =
    goal === undefined
      ? 'its history has no earlier image'
      : `its history has no image ${pinnedName(goal)}, and a pin of a set of Cluster API names an image`;
  return {
    code: exitCode.blocked,
    message: `${id} has nothing to go back to: ${why}`,
    next: shell`drydock image history ${id}`,
  };
}
