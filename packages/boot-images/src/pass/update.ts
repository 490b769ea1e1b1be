import { type Client, keyOf } from '@drydock/kube';
import type { TemplateOperation, TemplateProgress } from '@drydock/templates';
import { BootImageError, errorText, orUndefined, withFacts } from '../errors.ts';
import { factsOf, type ImageFacts } from '../image-facts.ts';
import { idOf, type KeptSet, kindOf, setText } from '../observe/kept-set.ts';
import { type LeafEdit, leafPatch, leafText } from '../observe/provider-spec.ts';
import type { PlatformPlan, PointedImage, PublishedImage } from '../platform.ts';
import type { SetOutcome } from '../status/subject.ts';
import { type StubSecret, type Stubs, stubSecretOf, userDataSecret, type WayBack } from '../user-data/user-data.ts';
import { movers } from '../way-back/history.ts';
import type { PassBounds } from './bounds.ts';
import { type HotLoop, hotLoopError } from './hot-loop.ts';
import type { Acting, PassSignals } from './item.ts';
import { throttle } from './throttle.ts';

/** Reasons of the Events that tell the story of an update, in its order (users.md §4.3), what becomes of a pin, and `Failed`. */
export type StoryReason =
  | 'Planned'
  | 'DownloadVerified'
  | 'UploadStarted'
  | 'Imported'
  | 'Switched'
  | 'Retained'
  | 'GarbageCollected'
  | 'PinLapsesSoon'
  | 'PinLapsed'
  | 'Failed';

/** What an update of one set needs. */
export interface UpdatePorts {
  readonly client: Client;
  readonly stubSecret: StubSecret | undefined;
  readonly stubs: Stubs;
  /** See `UserDataOptions.wayBack`. */
  readonly wayBack: WayBack | undefined;
  readonly hotLoop: HotLoop;
  readonly report: (set: KeptSet, outcome: SetOutcome) => Promise<void>;
  readonly event: (set: KeptSet, reason: StoryReason, note: string) => void;
  /** Called and awaited before a step that lasts. */
  readonly announceStep: () => Promise<void>;
  /** Called when bytes of the image begin to go to the platform. */
  readonly uploading: () => void;
  /** Called with the template or image that a set points at from now on. */
  readonly pointed: (set: KeptSet, image: string) => void;
  /** The outcome for a set that must be left alone meanwhile, asked right before each write that is about it: an image may have taken long. */
  readonly overtaken: (set: KeptSet) => SetOutcome | undefined;
  /** One step further with the machine that tries an image before the set is pointed at it; undefined where the set may be. */
  readonly tried: (
    set: KeptSet,
    image: PointedImage,
    facts: ImageFacts,
    beforeWrite: () => void,
  ) => Promise<SetOutcome | undefined>;
  /** What was planned for the sets that were left while their images were downloaded. */
  readonly left: Map<string, string>;
  /** The move of a set was refused. */
  readonly refused: (set: KeptSet) => void;
  /** A step ended well. */
  readonly step: (step: string, seconds: number) => void;
  readonly warn: (message: string, error?: unknown) => void;
  readonly now: () => Date;
  readonly progressMs: number;
  readonly bounds: PassBounds | undefined;
}

/**
 * Carries out a plan for one set: everything that can be refused is checked first (hot loop, stub), then the image is made, then
 * the stub converted, then the one guarded patch. Resolves to what became of the set, undefined where it is left to the next pass. The hot loop stands before the platform is touched (BI-W30).
 */
export async function updateSet(
  set: KeptSet,
  plan: Acting,
  ports: UpdatePorts,
  signals: PassSignals,
): Promise<SetOutcome | undefined> {
  const { signal } = signals;
  if (ports.hotLoop.refuses(set, plan.hotLoopValue)) {
    ports.refused(set);
    throw hotLoopError(set, ports.hotLoop.of(set)?.by);
  }
  const secret = userDataSecret(set);
  const stubSecret = stubSecretOf(set, ports.stubSecret);
  const { wayBack } = ports;
  if (secret !== undefined) await ports.stubs.check({ secret, stubSecret, wayBack, now: ports.now(), signal });

  const before = factsOf(plan);
  // Every call takes its time, and somebody else may act from any moment on.
  const beforeWrite = (): void => {
    signal?.throwIfAborted();
    const outcome = ports.overtaken(set);
    if (outcome !== undefined) throw new Overtaken(outcome);
  };
  const beforeUse = async (to: PointedImage): Promise<void> => {
    beforeWrite();
    // Unless it has passed, it goes on there once it has.
    if (plan.kind === 'publish') ports.left.set(idOf(set), storyText(set, plan));
    const outcome = await ports.tried(set, to, before, beforeWrite).catch((error: unknown) => {
      // Nothing was moved yet: what was found before is so.
      throw withFacts(error, before);
    });
    if (outcome !== undefined) throw new Overtaken(outcome);
    // What was tried was told of, and its machine removed, before it could be used: a swap renames next.
    beforeWrite();
    ports.left.delete(idOf(set));
  };
  const time = stopwatch(ports);
  let image: PointedImage | undefined;
  try {
    image = plan.kind === 'publish' ? await publish(set, plan, before, ports, signals, beforeUse) : plan.image;
    if (image === undefined) return undefined;
    // Before anything else can fail: collection must count the reference even if this process never hears of the switch.
    if (image.reference !== undefined) ports.pointed(set, image.reference);
    if (image.edits.length > 0) await beforeUse(image);
    time('Switching');
    beforeWrite();
    await ports.report(set, { kind: 'step', phase: 'Switching', ...before });
    const beforeConversion = (converts: string): void => {
      beforeWrite();
      ports.bounds?.mayConvert(converts);
    };
    const stub = { stubSecret, wayBack, now: ports.now(), beforeWrite: beforeConversion, signal };
    const more = secret === undefined ? [] : await ports.stubs.upgrade({ secret, ...stub });
    beforeWrite();
    const edits = [...image.edits, ...more];
    ports.bounds?.mayPoint(set, edits);
    if (edits.length > 0) await patch(set, edits, ports, { signal });
  } catch (error) {
    if (error instanceof Overtaken) return error.outcome;
    throw error;
  }
  time(undefined);
  ports.hotLoop.record(set, plan.hotLoopValue);

  ports.event(set, 'Switched', `${setText(set)}: ${switched(plan, image)}`);
  const kept = image.template?.retired ?? plan.template?.name;
  if (plan.kind === 'publish' && kept !== undefined)
    ports.event(set, 'Retained', `template ${kept} stays until nothing needs it`);
  const moved = image.reference ?? image.template?.name;
  return {
    ...{ kind: 'current', by: plan.pinned === true ? movers.revert : movers.release },
    current: image.template?.release ?? plan.target ?? plan.hotLoopValue,
    ...(moved === undefined ? {} : { movedTo: moved }),
    ...(plan.target === undefined ? {} : { target: plan.target }),
    ...(image.template === undefined ? {} : { template: image.template }),
    ...(plan.verified === undefined ? {} : { verified: plan.verified }),
    ...(plan.stub === undefined ? {} : { stub: plan.stub }),
    ...(plan.marketplaceVersion === undefined ? {} : { marketplaceVersion: plan.marketplaceVersion }),
    ...(plan.pinned === undefined ? {} : { pinned: plan.pinned }),
  };
}

/** The set must be left alone from now on. */
class Overtaken extends Error {
  readonly outcome: SetOutcome;

  constructor(outcome: SetOutcome) {
    super('overtaken');
    this.outcome = outcome;
  }
}

/** What changed, for an Event. */
function switched(plan: Acting, { edits, template }: PointedImage): string {
  if (edits.length === 0 && template !== undefined) {
    const { name, release, absentMilliseconds } = template;
    const absent = absentMilliseconds === undefined ? '' : `; the name was absent for ${absentMilliseconds} ms`;
    return `${name}: ${plan.current ?? 'no image'} → ${release}${absent}`;
  }
  const from = plan.template?.name ?? edits.map((edit) => leafText(edit.from ?? '')).join(', ');
  return `${from || 'no image'} → ${edits.map((edit) => leafText(edit.to)).join(', ')}`;
}

async function publish(
  set: KeptSet,
  plan: Extract<PlatformPlan, { readonly kind: 'publish' }>,
  before: ImageFacts,
  ports: UpdatePorts,
  signals: PassSignals,
  beforeSwap: (image: PointedImage) => Promise<void>,
): Promise<PublishedImage | undefined> {
  let operation: TemplateOperation | undefined;
  let last: TemplateProgress['step'] | undefined;
  let note: string | undefined;
  const time = stopwatch(ports);
  const story = storyText(set, plan);
  // It goes on where it was left.
  const goesOn = ports.left.get(idOf(set)) === story;
  if (!goesOn) ports.event(set, 'Planned', story);
  ports.left.delete(idOf(set));
  // Most publications only find what another set's made: what is over at once is not worth a status write.
  let announced: Promise<void> | undefined;
  const lasts = (): Promise<void> => {
    announced ??= ports.announceStep();
    announced.catch(() => undefined);
    return announced;
  };
  await using written = throttle<SetOutcome>(
    (outcome) => ports.report(set, outcome),
    ports.progressMs,
    (error) => ports.warn('progress could not be written', error),
  );
  const step = (progress: TemplateProgress): SetOutcome => ({
    kind: 'step',
    phase: progress.step === 'Verifying' ? 'Downloading' : progress.step,
    progress,
    ...(note === undefined ? {} : { note }),
    ...(operation === undefined ? {} : { operation }),
    ...before,
  });
  const leave = new AbortController();
  // A pin that came meanwhile holds the name that this is about to take. What cannot be decided now stops the next write, not what is under way.
  const overtaken = (): boolean => orUndefined(() => ports.overtaken(set))?.kind === 'waiting';
  using _ = whenNews(signals, () => (operation === undefined && last === 'Downloading') || overtaken(), leave);
  const run = plan.publication.run({
    beforeSwap,
    announce: async (started) => {
      leave.signal.throwIfAborted();
      operation = started;
      await lasts();
      await ports.report(set, { kind: 'step', phase: 'Uploading', operation, ...before });
    },
    onProgress: (progress) => {
      time(progress.step);
      void lasts();
      if (progress.step === 'Uploading') ports.uploading();
      if (progress.step !== last) storyOf(set, last, progress.step, operation, ports);
      last = progress.step;
      // It holds for what comes after it, too.
      note = progress.note ?? note;
      written.push(step(progress));
    },
    signal: signals.signal === undefined ? leave.signal : AbortSignal.any([signals.signal, leave.signal]),
  });
  const published = await run.catch((error: unknown) => {
    signals.signal?.throwIfAborted();
    if (!leave.signal.aborted) throw error;
    ports.left.set(idOf(set), story);
    return undefined;
  });
  if (published === undefined) return undefined;
  time(undefined);
  await announced;
  const how = published.adopted ? 'found complete' : 'imported';
  if (!goesOn || !published.adopted)
    ports.event(set, 'Imported', `template ${published.template.name} ${how}${operationText(operation)}`);
  return published;
}

function storyText(set: KeptSet, plan: Acting): string {
  return `${setText(set)}: ${plan.current ?? 'no image'} → ${plan.target ?? plan.hotLoopValue}${plan.because === undefined ? '' : ` (${plan.because})`}`;
}

/** An image is downloaded for at least so long (ms) before its set is left to the next pass. */
const AT_LEAST_MS = 1_000;

/** Ends `leave` when the process is to stop, or a while after something changed, as soon as `may`. */
function whenNews({ stopping, news }: PassSignals, may: () => boolean, leave: AbortController): Disposable {
  const began = performance.now();
  const look = (): void => {
    const old = performance.now() - began >= AT_LEAST_MS;
    if ((stopping?.aborted === true || (news?.aborted === true && old)) && may()) leave.abort();
  };
  stopping?.addEventListener('abort', look, { once: true });
  const timer = setInterval(look, AT_LEAST_MS / 4).unref();
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      stopping?.removeEventListener('abort', look);
    },
  };
}

function storyOf(
  set: KeptSet,
  last: TemplateProgress['step'] | undefined,
  next: TemplateProgress['step'],
  operation: TemplateOperation | undefined,
  ports: UpdatePorts,
): void {
  const moved = next === 'Uploading' || next === 'Publishing';
  if ((last === 'Downloading' || last === 'Verifying') && moved) {
    ports.event(set, 'DownloadVerified', `the image has the expected digest${operationText(operation)}`);
  }
  if (next === 'Uploading')
    ports.event(set, 'UploadStarted', `template ${operation?.name ?? ''}${operationText(operation)}`);
}

async function patch(
  set: KeptSet,
  edits: readonly LeafEdit[],
  ports: UpdatePorts,
  call: { readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const { resource, specPath, inTexts } = kindOf(set);
  try {
    await ports.client.patch(resource, keyOf(set), leafPatch(specPath, edits), call);
  } catch (error) {
    throw new BootImageError('PatchFailed', `unable to patch new ${inTexts}: ${errorText(error)}`, {
      cause: error,
      nextStep: 'it is decided again from what the set says now',
    });
  }
}

/** Measures each step from when it is named until the next one is, or none. */
function stopwatch({ now, step: done }: Pick<UpdatePorts, 'now' | 'step'>): (step: string | undefined) => void {
  let running: { readonly step: string; readonly since: number } | undefined;
  return (step) => {
    if (running?.step === step) return;
    const time = now().getTime();
    if (running !== undefined) done(running.step, (time - running.since) / 1000);
    running = step === undefined ? undefined : { step, since: time };
  };
}

function operationText(operation: TemplateOperation | undefined): string {
  return operation === undefined ? '' : ` (operation ${operation.id})`;
}
