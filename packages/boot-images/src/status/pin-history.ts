import { createHash } from 'node:crypto';
import type { BootImage, BootImageSpecLifted, BootImageStatusPin } from '@drydock/api';
import { shortText } from '@drydock/api/text';
import { historyLimit } from '../way-back/history.ts';
import { endOf, livePin, type Pin } from '../way-back/pin.ts';
import { rfc3339 } from './conditions.ts';

/** One pin that a machine set has or had. */
export type PinEntry = BootImageStatusPin;

/** Longest text of an entry, in UTF-16 units. */
const LONGEST = 1024;

/** The pins that a machine set has and had, the newest first: what its status keeps, and what its spec says since. The same list where nothing changed. */
export function pinsOf(image: BootImage, now: Date): readonly PinEntry[] {
  const entries = image.status?.pins ?? [];
  const pin = livePin(image, now.getTime());
  const [first, ...others] = entries;
  const open = first?.liftedAt === undefined ? first : undefined;
  const before = open === undefined ? entries : others;
  const id = pin === undefined ? undefined : idOf(pin, before);
  if (open?.id === id && open?.until === pin?.until) return entries;
  const lifted = open === undefined || open.id === id ? [] : [{ ...open, ...liftingOf(open, image, now) }];
  const held =
    pin === undefined || id === undefined ? [] : [entryOf(id, pin, open?.id === id ? open.since : undefined, now)];
  return [...held, ...lifted, ...before].slice(0, historyLimit);
}

function entryOf(id: string, pin: Pin, since: string | undefined, now: Date): PinEntry {
  const { release, image, by, reason, until } = pin;
  const texts = Object.entries({ release, image, by, reason }).flatMap(([key, text]) =>
    text === undefined || text === '' ? [] : [[key, shortText(text, LONGEST)]],
  );
  return {
    ...{ id, ...Object.fromEntries(texts), since: pin.since ?? since ?? rfc3339(now) },
    ...(until === undefined ? {} : { until }),
  };
}

/** Who ended a pin, when and why. What the spec says of a lifting may be of an earlier pin. */
function liftingOf(
  entry: PinEntry,
  { spec }: BootImage,
  now: Date,
): Pick<PinEntry, 'liftedAt' | 'liftedBy' | 'liftedReason'> {
  const { lifted, pin } = spec ?? {};
  if (isLiftingOf(entry, lifted)) return lifting(lifted.since, lifted.by, lifted.reason);
  const end = endOf(entry);
  if (end !== undefined && end <= now.getTime()) return lifting(entry.until, 'drydock', 'the pin lapsed');
  if (pin !== undefined) return lifting(pin.since ?? rfc3339(now), pin.by, 'another pin replaced it');
  return lifting(rfc3339(now), undefined, undefined);
}

function lifting(
  liftedAt: string | undefined,
  by: string | undefined,
  reason: string | undefined,
): Pick<PinEntry, 'liftedAt' | 'liftedBy' | 'liftedReason'> {
  return {
    ...(liftedAt === undefined ? {} : { liftedAt }),
    liftedBy: by === undefined || by === '' ? 'unknown' : shortText(by, LONGEST),
    ...(reason === undefined || reason === '' ? {} : { liftedReason: shortText(reason, LONGEST) }),
  };
}

function isLiftingOf(
  { since = '' }: PinEntry,
  lifted: BootImageSpecLifted | undefined,
): lifted is BootImageSpecLifted & { readonly since: string } {
  return lifted?.since !== undefined && !(Date.parse(lifted.since) < Date.parse(since));
}

/** The same for the same pin, whoever computes it; another one where that pin was lifted and came again. */
function idOf({ release, image, digest, by, reason, since }: Pin, before: readonly PinEntry[]): string {
  const taken = new Set(before.map(({ id }) => id));
  for (let round = 0; ; round += 1) {
    const id = createHash('sha256')
      .update(JSON.stringify([release, image, digest, by, reason, since, round]))
      .digest('hex')
      .slice(0, 16);
    if (!taken.has(id)) return id;
  }
}
