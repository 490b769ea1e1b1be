import type { BootImage, Event } from '@drydock/api';
import { pinsOf } from '@drydock/boot-images';
import type { TimelineRow } from './page-state.ts';
import type { PageRelease, PageWorld } from './page-world.ts';

/** Most rows, after equal ones are put together. */
const MOST_ROWS = 200;
/** Most objects that a row names. */
const MOST_NAMED = 5;

/** One thing that happened to one object. */
interface Happened extends Pick<TimelineRow, 'kind' | 'what' | 'text'> {
  /** RFC 3339. */
  readonly time: string | undefined;
  readonly warning?: boolean;
  readonly about: string;
}

/** Drydock's Events, images and pins that statuses remember, and releases: the newest first. Equal things of one day (UTC) are one row. */
export function timelineRows({ events, images, releases, now }: PageWorld): readonly TimelineRow[] {
  const sets = setNames(images);
  const all = [
    ...events.filter(isOurs).map((event) => ofEvent(event, sets)),
    ...images.flatMap((image) => [...ofImages(image), ...ofPins(image, now)]),
    ...releases.flatMap(ofRelease),
  ];
  const days = Map.groupBy(
    all.flatMap((one) => {
      const at = Date.parse(one.time ?? '');
      return Number.isNaN(at) ? [] : [{ ...one, at, time: isoTime(at) }];
    }),
    ({ time, kind, warning, what, text }) => JSON.stringify([time.slice(0, 10), kind, warning, what, text]),
  );
  return [...days]
    .map(([id, group]): TimelineRow => {
      const sorted = group.toSorted((a, b) => b.at - a.at);
      const [last, first] = [sorted[0], sorted.at(-1)];
      const about = [...new Set(sorted.map((one) => one.about))].toSorted();
      return {
        ...{ id, time: last?.time ?? '', first: first?.time ?? '', count: group.length },
        ...{ kind: last?.kind ?? 'event', warning: last?.warning ?? false, what: last?.what ?? '' },
        ...{ about: about.slice(0, MOST_NAMED), more: Math.max(0, about.length - MOST_NAMED), text: last?.text ?? '' },
      };
    })
    .toSorted((a, b) => (a.time === b.time ? (a.id < b.id ? -1 : 1) : a.time < b.time ? 1 : -1))
    .slice(0, MOST_ROWS);
}

/** Whole seconds in UTC. */
function isoTime(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+/, '');
}

function isOurs({ reportingController = '' }: Event): boolean {
  return reportingController.startsWith('drydock.dev/');
}

/** The names of machine sets on the page, by what Events are about. */
function setNames(images: readonly BootImage[]): ReadonlyMap<string, string> {
  return new Map(
    images.flatMap(({ metadata, spec, status }) => {
      const { namespace, name } = metadata;
      const { kind, name: set } = spec?.machineSet ?? {};
      return [`${namespace} BootImage ${name}`, `${namespace} ${kind} ${set}`].map((key) => [key, status?.set ?? name]);
    }),
  );
}

function ofEvent(event: Event, sets: ReadonlyMap<string, string>): Happened {
  const { metadata, eventTime, series, regarding, type, reason = '', note = '' } = event;
  const { namespace = metadata.namespace, kind = '', name = '' } = regarding ?? {};
  return {
    time: series?.lastObservedTime ?? eventTime ?? metadata.creationTimestamp,
    ...{ kind: 'event', warning: type === 'Warning', what: reason },
    about: sets.get(`${namespace} ${kind} ${name}`) ?? `${kind} ${name}`.trim(),
    // Without what tells it from the same thing of another machine set.
    text: note.replace(`${kind.toLowerCase()} ${name}: `, '').replace(/ \(operation [0-9a-f]+\)/, ''),
  };
}

const HOW: Readonly<Record<string, string>> = {
  found: 'the machine set had it at the first look',
  release: 'the release asked for it',
  revert: 'a pin asked for it',
};

function ofImages({ metadata, status }: BootImage): readonly Happened[] {
  return (status?.history ?? []).map((entry): Happened => {
    const { release, image, by = 'unknown', pinnedBy, pinReason, since } = entry;
    const how = pinnedBy === undefined ? (HOW[by] ?? `${by} set it`) : `${pinnedBy} pinned it${because(pinReason)}`;
    return {
      ...{ time: since, kind: 'image', about: status?.set ?? metadata.name, what: 'Image in use' },
      text: `${release ?? image ?? 'an image'}: ${how}`,
    };
  });
}

function ofPins(of: BootImage, now: Date): readonly Happened[] {
  return pinsOf(of, now).flatMap((entry): readonly Happened[] => {
    const { release, image = 'an image', by, reason, since, liftedAt, liftedBy, liftedReason } = entry;
    const row = (
      time: string | undefined,
      what: string,
      who: string | undefined,
      why: string | undefined,
    ): Happened => ({
      ...{ time, kind: 'pin', about: of.status?.set ?? of.metadata.name, what },
      text: `${release ?? image}: ${who === undefined || who === 'unknown' ? 'user not recorded' : `by ${who}`}${because(why)}`,
    });
    const pinned = row(since, 'Pinned', by, reason);
    return liftedAt === undefined ? [pinned] : [pinned, row(liftedAt, 'Pin lifted', liftedBy, liftedReason)];
  });
}

function because(reason: string | undefined): string {
  return reason === undefined || reason === '' ? '' : `: ${reason}`;
}

function ofRelease({ name, history }: PageRelease): readonly Happened[] {
  return history.flatMap(({ version = 'a release', state = '', startedTime, completionTime }): readonly Happened[] => {
    const of = { kind: 'release', about: name, text: version } as const;
    const end = `Release ${state === '' ? 'ended' : state.toLowerCase()}`;
    return [
      { ...of, time: startedTime, what: 'Release begun' },
      { ...of, time: completionTime, what: end },
    ];
  });
}
