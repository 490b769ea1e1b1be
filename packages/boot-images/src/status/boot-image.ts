import type { BootImagePhase, BootImageStatus, BootImageStatusCondition } from '@drydock/api';
import { shortText } from '@drydock/api/text';
import { factsOf, type ImageFacts, type ImageOrigin, type Verified } from '../image-facts.ts';
import { revertTo } from '../way-back/goal.ts';
import { type HistoryEntry, movers, withImage, withReach } from '../way-back/history.ts';
import { pinCell } from '../way-back/pin.ts';
import { rfc3339, transitionTime } from './conditions.ts';
import { pinnedConditions, pinWords } from './pin-words.ts';
import { etaSeconds, progressText } from './progress-text.ts';
import { endsCanary, type SetFacts, type SetOutcome, type StatusSubject } from './subject.ts';

/** Longest texts and names in a status (UTF-16 units): the objects that they come from may have megabytes. */
const LONGEST = 4096;
const LONGEST_NAME = 512;

/** Condition that says whether machines trust the server that they get their configuration from. */
export const stubCondition = 'StubTrusted';

/**
 * The status of one BootImage. `since` moves only with the phase. The announced operation stays until its outcome was observed. What was found out about a template is said for as long as the
 * set points at that template, and no longer; the way back is what the history says.
 */
export function bootImageStatus(
  previous: BootImageStatus | undefined,
  outcome: SetOutcome,
  subject: StatusSubject,
): BootImageStatus {
  const now = rfc3339(subject.now);
  const { pin } = subject.facts;
  const told = underPin(outcome, pin !== undefined);
  const phase = phaseOf(told);
  const reference =
    subject.facts.reference === undefined ? undefined : shortText(subject.facts.reference, LONGEST_NAME);
  const known = reference !== undefined && previous?.template?.name === reference ? previous : undefined;
  const found = outcome.current ?? outcome.template?.name;
  // A step is decided with a look: what was not found then is not there.
  const looked = found !== undefined || outcome.kind === 'step';
  const current = looked ? found : (known?.current ?? reference);
  const target = outcome.target ?? subject.facts.target;
  const template = looked ? templateOf(previous?.template, outcome.template) : known?.template;
  const operation = operationOf(previous, outcome, now);
  const attempts = outcome.attempts ?? previous?.attempts;
  const canary = outcome.canary ?? canaryOf(previous, outcome);
  const history = historyOf(previous, outcome, { ...subject.facts, template, now });
  const back = revertTo({ history });
  const origins = originsOf(previous, outcome, [subject.facts.image, target, ...history.map(({ image }) => image)]);
  const progress = outcome.kind === 'step' ? outcome.progress : undefined;
  const eta = progress === undefined ? undefined : etaSeconds(progress);
  const verified = verifiedOf(previous, outcome, { current, target }, now);
  const stub = stubOf(previous, outcome, now);
  const { reason, ...said } = pinWords(words(told, subject.set, current, target), told.kind, subject);
  const message = shortText(said.message, LONGEST);
  const nextStep = said.nextStep === undefined ? undefined : shortText(said.nextStep, LONGEST);
  return {
    ...(subject.generation === undefined ? {} : { observedGeneration: subject.generation }),
    platform: subject.platform,
    set: subject.set,
    ...(current === undefined ? {} : { current }),
    ...(target === undefined ? {} : { target }),
    ...(subject.facts.policy === undefined ? {} : { policy: subject.facts.policy }),
    phase,
    progress: told.kind === 'current' && pin !== undefined ? pinCell(pin.pin) : cell(told),
    ...(progress?.bytes === undefined
      ? {}
      : {
          progressDetail: {
            bytes: Math.round(progress.bytes),
            ...(progress.total === undefined ? {} : { total: Math.round(progress.total) }),
            ...(progress.rate === undefined ? {} : { rate: Math.round(progress.rate) }),
            ...(eta === undefined ? {} : { etaSeconds: eta }),
          },
        }),
    since: previous?.phase === phase && previous.since !== undefined ? previous.since : now,
    ...(back === undefined ? {} : { revertTo: back }),
    reason,
    message,
    ...(nextStep === undefined ? {} : { nextStep }),
    ...(operation === undefined ? {} : { operation }),
    ...(template === undefined ? {} : { template }),
    ...(canary === undefined ? {} : { canary }),
    ...(attempts === undefined || attempts.count === 0 ? {} : { attempts }),
    ...(history.length === 0 ? {} : { history }),
    ...(previous?.pins === undefined ? {} : { pins: previous.pins }),
    ...(origins.length === 0 ? {} : { origins }),
    conditions: [
      ...conditionsOf(previous, phase, reason, message, now),
      ...(verified === undefined ? [] : [verified]),
      ...(stub === undefined ? [] : [stub]),
      ...pinnedConditions(previous, subject, now),
    ],
  };
}

/** What was done under another pin than there is now, or under none, is not what is wanted now, whatever came of it. */
function underPin(outcome: SetOutcome, pinned: boolean): SetOutcome {
  if (outcome.kind !== 'current' || (outcome.pinned === true) === pinned) return outcome;
  const message = 'its pin has changed since it was looked at: it is decided again';
  return {
    ...factsOf(outcome),
    ...{ kind: 'waiting', phase: 'Pending', reason: 'PinChanged', brief: 'its pin has changed', message },
  };
}

/** What is seen now goes into the history, once it was looked at: who moved the set there is known of our own moves, also of those that another process began. */
function historyOf(
  previous: BootImageStatus | undefined,
  outcome: SetOutcome,
  seen: Pick<SetFacts, 'image' | 'place' | 'pin'> & {
    readonly template: BootImageStatus['template'];
    readonly now: string;
  },
): readonly HistoryEntry[] {
  const before = previous?.history ?? [];
  const image = outcome.movedTo ?? seen.image;
  if (image === undefined || outcome.current === undefined || outcome.stale === true)
    return withReach(before, outcome.there);
  // It has what it was to have, and nobody else is known to have given it that: an answer that was lost, or another process of ours.
  const begun = previous?.target === outcome.current && outcome.changedBy === undefined;
  const own =
    outcome.kind === 'current'
      ? (outcome.by ?? (begun ? movers[seen.pin === undefined ? 'release' : 'revert'] : undefined))
      : undefined;
  const history = withImage(before, {
    ...{ image, release: outcome.current, place: seen.place, now: seen.now },
    digest: seen.template?.name === image ? seen.template.digest : undefined,
    // A pin imports nothing: what was announced before it is of another image.
    operation:
      own === undefined || own === movers.revert || previous?.target !== outcome.current
        ? undefined
        : previous.operation?.id,
    by: own ?? outcome.changedBy ?? 'unknown',
    pin: own === movers.revert ? seen.pin?.pin : undefined,
  });
  return withReach(history, outcome.there);
}

/** What became of a canary stays said; one that is still tried only as long as its machine is waited for. */
function canaryOf(previous: BootImageStatus | undefined, outcome: SetOutcome): BootImageStatus['canary'] {
  const canary = previous?.canary;
  return canary?.verdict === undefined && endsCanary(outcome) ? undefined : canary;
}

const MOVING: ReadonlySet<string> = new Set(['Downloading', 'Uploading', 'Publishing', 'Switching']);

/** Of images that the set has, is to have or had; of others nobody needs to know. */
function originsOf(
  previous: BootImageStatus | undefined,
  { origins = [], movedTo }: ImageFacts,
  images: readonly (string | undefined)[],
): readonly ImageOrigin[] {
  const known = new Map<string, ImageOrigin>();
  for (const { image, owner, product } of [...(previous?.origins ?? []), ...origins])
    if (owner !== undefined && (images.includes(image) || movedTo === image))
      known.set(image, { image, owner: shortText(owner, LONGEST_NAME), ...(product === undefined ? {} : { product }) });
  return [...known.values()];
}

/** What a swap left stays known as long as its template is the one in use. */
function templateOf(previous: BootImageStatus['template'], now: ImageFacts['template']): BootImageStatus['template'] {
  if (now === undefined) return undefined;
  const same = previous?.name === now.name && previous.release === now.release;
  return same ? { ...previous, ...now } : now;
}

function phaseOf(outcome: SetOutcome): BootImagePhase {
  switch (outcome.kind) {
    case 'current':
      return 'Current';
    case 'skip':
      return 'Skipped';
    case 'failed':
      return outcome.blocked ? 'Blocked' : 'Failed';
    case 'waiting':
    case 'step':
      return outcome.phase;
  }
}

const verdicts: Readonly<Record<Verified['status'], string>> = {
  True: '-',
  False: 'its image is no longer good',
  Unknown: 'unverified',
};

function cell(outcome: SetOutcome): string {
  switch (outcome.kind) {
    case 'current':
      return outcome.verified === undefined ? '-' : verdicts[outcome.verified.status];
    case 'skip':
      return `skipped: ${outcome.brief}`;
    case 'waiting':
      return outcome.brief;
    case 'failed':
      return `${outcome.blocked ? 'blocked' : 'failed'}: ${outcome.reason}`;
    case 'step':
      return outcome.progress === undefined ? (outcome.brief ?? '-') : progressText(outcome.progress);
  }
}

function why({ because }: { readonly because?: string }): string {
  return because === undefined ? '' : `, because ${because}`;
}

function words(
  outcome: SetOutcome,
  set: string,
  current: string | undefined,
  target: string | undefined,
): { readonly reason: string; readonly message: string; readonly nextStep?: string } {
  switch (outcome.kind) {
    case 'current':
      return {
        reason: 'UpToDate',
        message: `new machines of ${set} start from ${current ?? 'the target image'}${doubt(outcome)}`,
      };
    case 'step':
      return {
        reason: outcome.reason ?? outcome.phase,
        message: `${set} moves from ${current ?? 'no image'} to ${target ?? 'a new image'}${why(outcome)}${outcome.note === undefined ? '' : `: ${outcome.note}`}`,
      };
    default: {
      const { reason, message, nextStep } = outcome;
      // A failure says it itself, where it is one of the image.
      const more = outcome.kind === 'failed' ? '' : doubt(outcome);
      return { reason, message: `${message}${more}`, ...(nextStep === undefined ? {} : { nextStep }) };
    }
  }
}

/** What else there is to say of an image that can be seen, and is not simply good. */
function doubt({ verified, stub }: ImageFacts): string {
  const image = verified === undefined || verified.reason === 'Verified' ? '' : `; ${verified.message}`;
  return stub === undefined || stub.reason === 'StubAuthorityTrusted' ? image : `${image}; ${stub.message}`;
}

function operationOf(
  previous: BootImageStatus | undefined,
  outcome: SetOutcome,
  now: string,
): BootImageStatus['operation'] | undefined {
  if (outcome.kind === 'current') return undefined;
  const announced = outcome.kind === 'step' ? outcome.operation : undefined;
  if (announced === undefined) return previous?.operation;
  const same = previous?.operation?.id === announced.id;
  return { ...announced, startedAt: (same ? previous?.operation?.startedAt : undefined) ?? now };
}

/** What was found out last stays said as long as the set moves from the same image to the same target. */
function verifiedOf(
  previous: BootImageStatus | undefined,
  { verified }: ImageFacts,
  { current, target }: Readonly<Record<'current' | 'target', string | undefined>>,
  now: string,
): BootImageStatusCondition | undefined {
  const old = previous?.conditions?.find(({ type }) => type === 'Verified');
  if (verified === undefined) return previous?.current === current && previous?.target === target ? old : undefined;
  const condition = { type: 'Verified', ...verified, message: shortText(verified.message, LONGEST) };
  return { ...condition, lastTransitionTime: transitionTime(previous?.conditions, condition, now) };
}

/** What was found out about its stub stays said where nobody looked again; of a set that is left alone nobody looks. */
function stubOf(
  previous: BootImageStatus | undefined,
  { kind, stub }: SetOutcome,
  now: string,
): BootImageStatusCondition | undefined {
  const old = previous?.conditions?.find(({ type }) => type === stubCondition);
  if (stub === undefined) return kind === 'skip' || kind === 'current' ? undefined : old;
  const { status, reason, message } = stub;
  const condition = { type: stubCondition, status, reason, message: shortText(message, LONGEST) };
  return { ...condition, lastTransitionTime: transitionTime(previous?.conditions, condition, now) };
}

function conditionsOf(
  previous: BootImageStatus | undefined,
  phase: BootImagePhase,
  reason: string,
  message: string,
  now: string,
): readonly BootImageStatusCondition[] {
  const moving = MOVING.has(phase);
  const states: Readonly<Record<string, boolean>> = {
    Blocked: phase === 'Blocked' || phase === 'Failed',
    Progressing: moving,
    UpToDate: phase === 'Current',
  };
  return Object.entries(states).map(([type, on]) => {
    const status = on ? 'True' : 'False';
    const lastTransitionTime = transitionTime(previous?.conditions, { type, status }, now);
    return { type, status, reason, message, lastTransitionTime };
  });
}
