import { createHash } from 'node:crypto';
import type { BootImage, BootImageSpecLifted, BootImageStatusPin } from '@drydock/api';
import { shortText } from '@drydock/api/text';
import { historyLimit } from '../way-back/history.ts';
import { endOf, livePin, type Pin } from '../way-back/pin.ts';
import { rfc3339 } from './conditions.ts';
import type { PinWriters } from './pin-writers.ts';

/** One pin that a machine set has or had. */
export type PinEntry = BootImageStatusPin;

/** Longest text of an entry, in UTF-16 units. */
const LONGEST = 1024;

/** Kubernetes names the client of a write, and no user. */
const NO_USER = 'only the audit log of the API server has the user';

/** The pins that a machine set has and had, the newest first: what its status keeps, and what its spec says since. The same list where nothing changed. `writers` counts where the spec names nobody. */
export function pinsOf(image: BootImage, now: Date, writers: PinWriters = {}): readonly PinEntry[] {
  const entries = image.status?.pins ?? [];
  const pin = livePin(image, now.getTime());
  const [first, ...others] = entries;
  const open = first?.liftedAt === undefined ? first : undefined;
  const before = open === undefined ? entries : others;
  const id = pin === undefined ? undefined : idOf(pin, before);
  const same = open !== undefined && open.id === id;
  const author = pin?.by ?? writers.owner?.manager ?? open?.by;
  const by = author === undefined ? undefined : shortText(author, LONGEST);
  if (open?.id === id && open?.until === pin?.until && (!same || open.by === by)) return entries;
  const lifted = open === undefined || same ? [] : [{ ...open, ...liftingOf(open, image, { now, writers }) }];
  const held =
    pin === undefined || id === undefined ? [] : [entryOf(id, pin, { now, writers, known: same ? open : undefined })];
  return [...held, ...lifted, ...before].slice(0, historyLimit);
}

function entryOf(
  id: string,
  pin: Pin,
  { now, writers: { owner }, known }: PinSight & { readonly known: PinEntry | undefined },
): PinEntry {
  const { release, image, by = owner?.manager ?? known?.by, reason, until } = pin;
  const texts = Object.entries({ release, image, by, reason }).flatMap(([key, text]) =>
    text === undefined || text === '' ? [] : [[key, shortText(text, LONGEST)]],
  );
  return {
    ...{ id, ...Object.fromEntries(texts), since: pin.since ?? known?.since ?? owner?.time ?? rfc3339(now) },
    ...(until === undefined ? {} : { until }),
  };
}

interface PinSight {
  readonly now: Date;
  readonly writers: PinWriters;
}

/** Who ended a pin, when and why. What the spec says of a lifting may be of an earlier pin. */
function liftingOf(
  entry: PinEntry,
  { spec }: BootImage,
  { now, writers }: PinSight,
): Pick<PinEntry, 'liftedAt' | 'liftedBy' | 'liftedReason'> {
  const { lifted, pin } = spec ?? {};
  if (isLiftingOf(entry, lifted)) return lifting(lifted.since, lifted.by, lifted.reason);
  const end = endOf(entry);
  if (end !== undefined && end <= now.getTime()) return lifting(entry.until, 'drydock', 'the pin lapsed');
  if (pin !== undefined) return lifting(pin.since ?? rfc3339(now), pin.by, 'another pin replaced it');
  return removalOf(entry, { now, writers });
}

/** The last client that wrote the object after Drydock saw the pin: mostly the one that removed it. A client that only removes a field leaves no name and no time, and another one may have written since. */
function removalOf(
  { since = '' }: PinEntry,
  { now, writers: { last, seen } }: PinSight,
): Pick<PinEntry, 'liftedAt' | 'liftedBy' | 'liftedReason'> {
  const until = rfc3339(now);
  const after = Math.max(Date.parse(seen ?? since), Date.parse(since));
  if (last !== undefined && Date.parse(last.time) >= after)
    return lifting(last.time, last.manager, `spec.pin was removed with or before a write of this client; ${NO_USER}`);
  const between = Number.isNaN(after) ? '' : ` between ${rfc3339(new Date(after))} and ${until}`;
  return lifting(
    until,
    undefined,
    `spec.pin was removed${between} by a client that left no name, such as kubectl edit; ${NO_USER}`,
  );
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
