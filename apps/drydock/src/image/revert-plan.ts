import type { BootImageStatus } from '@drydock/api';
import {
  bootImageOf,
  type Explanation,
  type Goal,
  goalsOf,
  type HistoryEntry,
  IMAGE_GONE,
  idOf,
  type KeptSet,
  keepsName,
  livePin,
  type Pin,
  pinnedName,
  samePin,
  UNPROVEN,
  type World,
} from '@drydock/boot-images';
import { keyOf } from '@drydock/kube';
import { exitCode } from '../exit.ts';
import type { PinQuestions } from '../pin-questions.ts';
import { shell } from '../template/next-command.ts';
import type { AffectedMachines } from './affected-machines.ts';
import type { PinPlace } from './pin-writer.ts';

/** What a revert would do, but for whom it concerns. */
export interface RevertPlan {
  readonly set: string;
  /** What new machines start from now. */
  readonly from: string | undefined;
  readonly pin: Pin;
  /** All sets that get the pin, the one that was asked about first. */
  readonly sets: readonly (PinPlace & { readonly id: string })[];
  /** The pin of the set that this one takes the place of. */
  readonly replaces?: Pin;
  /** What becomes of it at once, as a sentence. */
  readonly how: string;
  /** What may keep new machines from joining, where their user-data stub is in doubt. */
  readonly stub?: string;
}

/** With the machines that it concerns. */
export interface ToldRevert extends RevertPlan {
  readonly machines: AffectedMachines;
}

/** Why nothing is done. */
export interface RevertRefusal {
  readonly code: number;
  readonly message: string;
  readonly next?: string;
  /** What of the message is of the image and its set, as a clause: how it stands beside others in a history. Default: all of it. */
  readonly why?: string;
}

/** What is asked for. */
export interface RevertWish {
  readonly to: string | undefined;
  /** Who, why, since and until when. */
  readonly words: Omit<Pin, keyof Goal>;
  readonly allOnName: boolean;
}

/** What is looked at. */
export type RevertSight = PinQuestions & {
  readonly world: Pick<World, 'bootImage' | 'bootImages'>;
  /** Whether keys of marks could be read, as far as they were asked for: without one some of what the operator can prove is not proven here. Default: they could. */
  readonly hasKeys?: () => boolean;
};

/** Steps after which a pin is worth writing: the operator obeys it now, or as soon as what it waits for is over. */
const OBEYED: ReadonlySet<Explanation['step']> = new Set(['none', 'switch', 'publish', 'wait']);

/** Looks for an image to go back to, and says what a revert to it would do. Nothing is written. */
export async function revertPlan(
  images: RevertSight,
  set: KeptSet,
  said: BootImageStatus | undefined,
  wish: RevertWish,
): Promise<RevertPlan | RevertRefusal> {
  const id = idOf(set);
  const goals = goalsOf(said, wish.to);
  const [goal, ...others] = goals;
  if (goal === undefined) return nowhere(id, said);
  const publication = keepsName(said, goal) ? 'swap' : 'pointer';
  const shared = images.underOneName(set, publication);
  const refusal = await refusedFor(images, set, shared, goal, wish);
  if (refusal !== undefined) return refusal;

  const sets = [set, ...shared];
  const pinned = { sets, publication } as const;
  const found = withoutKeys(await images.ifPinned(set, { ...pinned, pin: goal }), images);
  const entry = said?.history?.find(({ release, image }) => release === goal.release && image === goal.image);
  const word = found.step === 'unknown' ? wordOf(entry) : undefined;
  if (word?.refused !== undefined) return { ...refusalOf(id, word.refused, undefined), code: exitCode.blocked };
  if (!OBEYED.has(found.step) && word === undefined) {
    const there = await firstThere(images, set, others, pinned);
    return refusalOf(id, found, there);
  }
  const places = sets.map((one) => {
    const fresh = bootImageOf(one);
    return { id: idOf(one), fresh, seen: images.world.bootImage(keyOf(fresh)) };
  });
  const replaces = livePin(places[0]?.seen, Date.now());
  const stub = found.answers.find(({ question, answer }) => question === 'stub' && answer === 'unknown');
  return {
    set: id,
    from: found.current ?? said?.current,
    pin: { ...resolved(goal, found), ...wish.words },
    ...(replaces === undefined ? {} : { replaces }),
    sets: places,
    ...(stub === undefined ? {} : { stub: stub.text }),
    how: word === undefined ? found.why : `${found.why}: ${LAST_LOOK} the image is there`,
  };
}

/** What only a key proves, whoever has none does not know. */
function withoutKeys(found: Explanation, { hasKeys }: RevertSight): Explanation {
  if (found.because !== UNPROVEN || hasKeys?.() !== false) return found;
  const { whyAlone: _, nextAlone: __, because: ___, ...rest } = found;
  return { ...rest, step: 'unknown', why: `the key of marks could not be read here, and without it ${UNPROVEN}` };
}

const LAST_LOOK = "by the operator's last look";

/** What the operator says of an image where whoever asks cannot look; undefined where it has not looked either. */
export function wordOf(
  entry: HistoryEntry | undefined,
): { readonly refused?: Pick<Explanation, 'step' | 'why' | 'because'> } | undefined {
  if (entry?.revertable === undefined) return undefined;
  if (entry.revertable) return {};
  const because = entry.why ?? IMAGE_GONE;
  return { refused: { step: 'blocked', why: `${LAST_LOOK} ${because}`, because } };
}

/** The pin names the image that was found, so that it means the same tomorrow. */
function resolved(goal: Goal, { edits = [], template }: Explanation): Goal {
  if (goal.image !== undefined) return goal;
  const to = edits.at(-1)?.to;
  const image = typeof to === 'string' ? to : template?.name;
  return image === undefined ? goal : { ...goal, image };
}

async function firstThere(
  images: RevertSight,
  set: KeptSet,
  goals: readonly Goal[],
  pinned: { readonly sets: readonly KeptSet[]; readonly publication: 'swap' | 'pointer' },
): Promise<Goal | undefined> {
  for (const goal of goals) {
    const { step } = await images.ifPinned(set, { ...pinned, pin: goal });
    if (OBEYED.has(step)) return goal;
  }
  return undefined;
}

/** One name has one image: the other sets on it come along, or nothing does. */
async function refusedFor(
  { world }: RevertSight,
  set: KeptSet,
  shared: readonly KeptSet[],
  goal: Goal,
  { allOnName }: RevertWish,
): Promise<RevertRefusal | undefined> {
  if (shared.length === 0) return undefined;
  const names = shared.map(idOf).join(', ');
  const different = shared.flatMap((other) => {
    const image = world.bootImages().find(({ metadata }) => metadata.name === bootImageOf(other).metadata.name);
    const pin = livePin(image, Date.now());
    return pin === undefined || samePin(pin, goal) ? [] : [{ id: idOf(other), pin }];
  });
  const [first] = different;
  if (first !== undefined)
    return {
      code: exitCode.blocked,
      message: `${different.map(({ id, pin }) => `${id} is pinned to ${pinnedName(pin)}`).join(', ')}, and ${idOf(set)} has the same template name: one name has one image`,
      next: shell`drydock image release ${first.id}`,
    };
  if (allOnName) return undefined;
  return {
    code: exitCode.blocked,
    message: `${names} ${shared.length === 1 ? 'has' : 'have'} the same template name as ${idOf(set)}, and would go back with it`,
    next: shell`drydock image revert ${idOf(set)} --all-on-name`,
  };
}

function nowhere(id: string, said: BootImageStatus | undefined): RevertRefusal {
  const known =
    said?.history === undefined
      ? 'the operator has not written a history of it yet'
      : 'its history has no earlier image';
  return {
    code: exitCode.blocked,
    message: `${id} has nothing to go back to: ${known}`,
    next: shell`drydock image revert ${id} --to RELEASE`,
  };
}

function refusalOf(
  id: string,
  found: Pick<Explanation, 'step' | 'why' | 'whyAlone' | 'nextAlone' | 'nextStep' | 'because'>,
  there: Goal | undefined,
): RevertRefusal {
  const { step, why, whyAlone, because } = found;
  // No pin was written, so there is none to lift.
  const nextStep = whyAlone === undefined ? found.nextStep : found.nextAlone;
  const other =
    there &&
    `the newest that is there is ${pinnedName(there)}: ${shell`drydock image revert ${id} --to ${there.image ?? there.release ?? ''}`}`;
  // What is there can be had, by whoever says so.
  const instead =
    because === undefined || because === IMAGE_GONE
      ? (other ?? nextStep)
      : [nextStep, other].filter((one) => one !== undefined).join('; ');
  return {
    code: step === 'unknown' ? exitCode.undecided : exitCode.blocked,
    // Said by whoever would obey the pin, as if it were there.
    message: `nothing was written, because of such a pin the operator would say: ${whyAlone ?? why}`,
    why: because ?? whyAlone ?? why,
    ...(instead === undefined ? {} : { next: instead }),
  };
}
