import type { BootImage, BootImageSpecPin } from '@drydock/api';
import { shownText } from '@drydock/api/text';

/** `BootImage.spec.pin`: the image that a set is to have whatever the release asks for. */
export type Pin = BootImageSpecPin;

/** A pin that was found for a set, and the set whose BootImage has it, where it is another one that shares its name. */
export interface FoundPin {
  readonly pin: Pin;
  readonly of?: string;
}

/** Reason of a pinned set that has its image, and of condition Pinned. */
export const pinnedReason = 'Pinned';
/** The same where the pin will lapse soon. */
export const lapsesSoonReason = 'PinLapsesSoon';

/** So long before it lapses a pin says so, in ms; one that holds for less than four times as long says so in its last quarter. */
const WARN_MS = 86_400_000;
/** What stands in no name of an image: control and formatting characters, and halves of others. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
/** Longest reason that a message carries, in UTF-16 units. */
const REASON = 200;

/** The pin that holds now; undefined where there is none, or where it has lapsed. */
export function livePin(image: BootImage | undefined, now: number): Pin | undefined {
  const pin = image?.spec?.pin;
  return pin === undefined || (endOf(pin) ?? Number.POSITIVE_INFINITY) <= now ? undefined : pin;
}

/** Why a pin, which anybody may have written, names no image that could be anywhere, as a clause; undefined where it may. */
export function pinFault({ release, image, digest }: Pin): string | undefined {
  if (!release && !image) return 'names neither a release nor an image';
  const named = { release, image, digest };
  const [odd] = Object.entries(named).find(([, text]) => text !== undefined && UNPRINTABLE.test(text)) ?? [];
  return odd === undefined ? undefined : `names ${odd} with characters that none has`;
}

/** When it lapses, in ms; undefined where only taking it off ends it. */
export function endOf({ until }: Pin): number | undefined {
  const end = until === undefined ? Number.NaN : Date.parse(until);
  return Number.isNaN(end) ? undefined : end;
}

/** From when on a pin says that it will lapse, in ms; undefined where it does not. */
export function warnsFrom(pin: Pin): number | undefined {
  const end = endOf(pin);
  if (end === undefined) return undefined;
  const since = pin.since === undefined ? Number.NaN : Date.parse(pin.since);
  const held = Number.isNaN(since) || since > end ? WARN_MS * 4 : end - since;
  return end - Math.min(WARN_MS, held / 4);
}

/** Whether two pins ask for the same image. */
export function samePin(a: Pin | undefined, b: Pin | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.release === b.release && a.image === b.image && a.digest === b.digest;
}

/** The image as people call it. */
export function pinnedName({ release, image }: Pin): string {
  return shownText(release ?? image ?? '');
}

/** By whom, since when, until when and why, as a clause. */
export function pinText(pin: Pin): string {
  const { by, since, reason } = pin;
  const why = reason === undefined || reason === '' ? '' : `: ${shownText(reason).slice(0, REASON)}`;
  const when = since === undefined ? '' : ` since ${since}`;
  return `pinned to ${pinnedName(pin)}${byText(by)}${when}${untilText(pin)}${why}`;
}

/** A few words for a table cell. */
export function pinCell(pin: Pin): string {
  return `pinned${byText(pin.by)}${untilText(pin)}`;
}

function byText(by: string | undefined): string {
  return by === undefined || by === '' ? '' : ` by ${shownText(by).slice(0, 60)}`;
}

function untilText({ until }: Pin): string {
  return until === undefined ? ' until it is released' : ` until ${shownText(until)}`;
}
