import type { TemplateOperation, TemplateProgress } from '@drydock/templates';
import type { ForeseenPublication } from '../platform.ts';
import type { SetOutcome } from '../status/subject.ts';
import { movers } from '../way-back/history.ts';
import { type ActPorts, actRotation, type Write } from './act.ts';
import type { RotationCanaries } from './canary.ts';
import type { WantedImage } from './catalogue.ts';
import { decideRotation } from './decide.ts';
import type { ImageLeaf } from './image-leaf.ts';
import { observeRotation, type RotationReader, type SetName, withSiblings } from './observe.ts';
import type { ImageThere, Rotation, RotationStep, RotationWish } from './rotation.ts';
import { type RotatedSet, setText } from './set.ts';
import { turnReason } from './turn.ts';

/** Images of one platform, as far as rotations ask for them. */
export interface RotationImages {
  /** What is there of the wanted image where machines of the set are made. */
  readonly look: (about: ImageQuestion, call: { readonly signal?: AbortSignal | undefined }) => Promise<ImageThere>;
  /** What `publish` would do now, a publication for each place; the name of the first is that which templates get. Nothing is changed. */
  readonly foresee: (
    about: ImageQuestion,
    call: { readonly signal?: AbortSignal | undefined },
  ) => Promise<readonly ForeseenPublication[]>;
  /** Makes it, idempotently. */
  readonly publish: (about: ImageQuestion, hooks: RotationHooks) => Promise<void>;
}

/** What is asked of an image. */
export interface ImageQuestion {
  readonly rotation: Rotation;
  readonly leaf: ImageLeaf;
  readonly image: WantedImage;
}

/** What a publication tells while it runs. */
export interface RotationHooks {
  /** Awaited before an import starts. */
  readonly announce: (operation: TemplateOperation) => Promise<void>;
  readonly onProgress: (progress: TemplateProgress) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Reasons of the Events that tell the story of a rotation. */
export type RotationReason =
  | 'Planned'
  | 'UploadStarted'
  | 'Imported'
  | 'TemplateCloned'
  | 'Switched'
  | 'GarbageCollected'
  | 'PinLapsed'
  | 'PinLapsesSoon'
  | 'Failed';

/** What a rotation may do where it carries out what somebody agreed to beforehand. What a question throws ends it, with nothing more done. */
export interface RotationBounds {
  /** Asked before images are made; these would be. */
  readonly mayPublish: (set: RotatedSet, release: string, foreseen: readonly ForeseenPublication[]) => void;
  /** Asked before this machine tries an image. */
  readonly mayTry: (machine: string) => void;
  /** Asked right before each write. */
  readonly mayWrite: (set: RotatedSet, step: Write) => void;
  /** Whether that is what one of them throws. */
  readonly isOwn: (error: unknown) => boolean;
}

/** What a rotation reads from and writes to. */
export interface RotationPorts extends ActPorts {
  readonly reader: RotationReader;
  readonly images: RotationImages;
  /** What is wanted for the set, by what is known now. */
  readonly wish: (set: RotatedSet) => RotationWish;
  readonly report: (set: RotatedSet, outcome: SetOutcome) => Promise<void>;
  /** Whether something is in the history of the set. Default: it is. */
  readonly remembered?: (set: RotatedSet) => boolean;
  /** One step further with the canary of a set, where one is wanted: undefined where its image has passed, else how it stands. */
  readonly tried: RotationCanaries['tried'];
  readonly event: (set: RotatedSet, reason: RotationReason, note: string) => void;
  /** Throws where this process may not write any more. */
  readonly mayWrite?: () => void;
  /** Default: everything that is decided may be done. */
  readonly bounds?: RotationBounds | undefined;
}

/** Writes of one set before others have their turn: more than a rotation has, fewer than two that fight would make. */
const MOST_STEPS = 8;
/** The world moves under a decision once; where it does so again and again, somebody else is at work. */
const MOVED_MS = 1_000;
/** Nothing that is watched tells of templates, nor of vCenter. */
const LOOK_AGAIN_MS = 3_600_000;
const WAITING_MS = 60_000;
const BLOCKED_MS = 60_000;
const CANARY_MS = 10_000;

/**
 * Brings one set closer to its image: observe, decide, one write, and again, until nothing is left to do now. Correct from any state, its own crash half-way among them. Resolves to when
 * to look again; undefined where the set is gone.
 */
export async function rotate(
  name: SetName,
  ports: RotationPorts,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<{ readonly after: number } | undefined> {
  const { signal } = options;
  const beside = new Set<string>();
  let fresh = false;
  let moved = false;
  for (let steps = 0; steps < MOST_STEPS; ) {
    const seen = await observeRotation(name, ports.reader, { fresh, beside, signal });
    if (seen === undefined) return undefined;
    const wish = ports.wish(seen.set);
    const rotation = withSiblings(seen, wish.classVariable, ports.reader);
    const step = await decided(rotation, wish, ports, { fresh, signal });
    if (step.kind === 'settled') {
      await ports.report(rotation.set, moved ? movedBy(step.outcome) : step.outcome);
      return { after: againAfter(step.outcome) };
    }
    if (step.kind === 'look') throw new TypeError('a look was decided upon after a look');
    if (step.kind === 'clone') beside.add(step.template.metadata.name);
    if (step.kind === 'point') beside.add(step.to);
    if (!fresh) {
      // What was seen last is good enough to find that there is nothing to do, and not to do something.
      fresh = true;
      continue;
    }
    steps += 1;
    signal?.throwIfAborted();
    // What a set comes from when nothing was said of it yet is its first way back.
    if ((step.kind === 'point' || step.kind === 'variable') && ports.remembered?.(rotation.set) === false)
      await ports.report(rotation.set, { kind: 'step', phase: 'Switching', ...step.facts });
    ports.mayWrite?.();
    // Where it is acted upon a try has ended by now.
    if (step.kind === 'try') continue;
    if (step.kind === 'publish') {
      const about = { rotation, leaf: step.leaf, image: step.image };
      if (ports.bounds !== undefined)
        ports.bounds.mayPublish(rotation.set, step.image.release, await ports.images.foresee(about, { signal }));
      await publish(rotation, step, ports, { signal });
      continue;
    }
    ports.bounds?.mayWrite(rotation.set, step);
    const acted = await actRotation(rotation.set, step, ports, { signal });
    if (acted !== 'done') continue;
    moved ||= step.kind === 'point' || step.kind === 'variable';
    tell(rotation.set, step, ports);
  }
  return { after: MOVED_MS };
}

/** What this process has moved is no move of somebody else's. */
function movedBy(outcome: SetOutcome): SetOutcome {
  if (outcome.kind !== 'current') return outcome;
  return { ...outcome, by: outcome.pinned === true ? movers.revert : movers.release };
}

async function decided(
  rotation: Rotation,
  wish: RotationWish,
  { images, tried }: RotationPorts,
  { fresh, ...call }: { readonly fresh: boolean; readonly signal?: AbortSignal | undefined },
): Promise<RotationStep> {
  const step = decideRotation(rotation, wish);
  if (step.kind !== 'look') return step;
  const there = await images.look({ rotation, leaf: step.leaf, image: step.image }, call);
  const next = decideRotation(rotation, wish, there);
  if (next.kind !== 'try' || !fresh) return next;
  const outcome = await tried(rotation, next, call);
  return outcome === undefined
    ? decideRotation(rotation, wish, { ...there, tried: true })
    : { kind: 'settled', outcome };
}

async function publish(
  rotation: Rotation,
  { leaf, image, facts }: Extract<RotationStep, { readonly kind: 'publish' }>,
  ports: RotationPorts,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const { set } = rotation;
  ports.event(set, 'Planned', `${setText(set)}: ${facts.current ?? 'no image'} → ${image.release}`);
  await ports.report(set, { kind: 'step', phase: 'Downloading', ...facts });
  await ports.images.publish(
    { rotation, leaf, image },
    {
      announce: async (operation) => {
        await ports.report(set, { kind: 'step', phase: 'Uploading', operation, ...facts });
        ports.event(set, 'UploadStarted', `template ${operation.name} (operation ${operation.id})`);
      },
      onProgress: () => undefined,
      ...call,
    },
  );
  ports.event(set, 'Imported', `${image.release} is where the machines of ${setText(set)} are made`);
}

function tell(
  set: RotatedSet,
  step: Exclude<RotationStep, { readonly kind: 'settled' | 'look' | 'publish' | 'try' }>,
  { event }: RotationPorts,
): void {
  const text = setText(set);
  switch (step.kind) {
    case 'clone':
      event(
        set,
        'TemplateCloned',
        `${step.template.kind?.toLowerCase()} ${step.template.metadata.name} is made for ${text}`,
      );
      return;
    case 'point':
      event(set, 'Switched', `${text}: ${step.from} → ${step.to}`);
      return;
    case 'variable':
      event(
        set,
        'Switched',
        `${text}: variable ${step.variable} of cluster ${step.cluster.metadata.name} is ${step.value}`,
      );
      return;
    case 'keep':
      return;
  }
}

function againAfter(outcome: SetOutcome): number {
  const { kind } = outcome;
  // Whoever waits for its turn is told of it.
  // Its machine is watched, its node and the clock are not.
  if (kind === 'step') return CANARY_MS;
  if (kind === 'waiting') return outcome.reason === turnReason ? LOOK_AGAIN_MS : WAITING_MS;
  return kind === 'failed' ? BLOCKED_MS : LOOK_AGAIN_MS;
}
