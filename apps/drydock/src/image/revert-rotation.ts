import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Goal, goalsOf, livePin, type PlannedRotation, pinnedName } from '@drydock/boot-images';
import type { KubeClient } from '@drydock/kube';
import { exitCode } from '../exit.ts';
import { MARK_KEY_SECRET } from '../mark-keys.ts';
import { shell } from '../template/next-command.ts';
import type { VCenterFlags } from '../vcenter-flags.ts';
import type { RevertPlan, RevertRefusal, RevertWish } from './revert-plan.ts';
import type { RotatedImage } from './rotated-image.ts';
import { rotationsOf } from './rotations.ts';

/** What is read for it. */
export interface RotationRevertSources {
  readonly client: KubeClient;
  readonly flags: VCenterFlags & { readonly leaseNamespace: string; readonly vsphereProviderNamespace: string };
  readonly warn: (message: string) => void;
  readonly signal: AbortSignal;
}

/** What a revert of a set of Cluster API would do: its template is copied with the earlier image, as for any other. Nothing is written. */
export async function rotationRevert(
  { id, image }: RotatedImage,
  { to, words }: RevertWish,
  { client, flags, warn, signal }: RotationRevertSources,
): Promise<RevertPlan | RevertRefusal> {
  const { status } = image;
  const goals = goalsOf(status, to);
  const goal = goals.find((one) => one.image !== undefined);
  if (goal === undefined) return nowhere(id, goals[0]);
  const { leaseNamespace, vsphereProviderNamespace } = flags;
  await using rotations = await rotationsOf({
    ...{ client, flags, warn, signal, retain: 0 },
    images: {
      ...{ leaseNamespace, vsphereProviderNamespace, markKeySecret: MARK_KEY_SECRET, locate: (location) => location },
      cacheDir: join(homedir(), '.cache', 'drydock', 'images'),
    },
  });
  const pin = { ...goal, ...words };
  const [planned] = (await rotations?.plan([id], { pin })) ?? [];
  if (planned === undefined) return nowhere(id, goal);
  const { rest, current, steps } = planned;
  if (rest !== undefined && rest.step !== 'none' && rest.step !== 'wait')
    return {
      code: rest.step === 'unknown' ? exitCode.undecided : exitCode.blocked,
      message: rest.why,
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
