import type { BootImage, Event } from '@drydock/api';
import type { TimelineRow } from './page-state.ts';
import type { PageRelease, PageWorld } from './page-world.ts';

/** So much of what happened is shown. */
const MOST_ROWS = 200;

/** What happened, the newest first: Events of Drydock's, images as their sets remember them, releases as the cluster does. */
export function timelineRows({ events, images, releases }: PageWorld): readonly TimelineRow[] {
  const rows = [...events.filter(isOurs).map(eventRow), ...images.flatMap(imageRows), ...releases.flatMap(releaseRows)];
  const known = rows.filter(({ time }) => !Number.isNaN(Date.parse(time)));
  return known
    .toSorted((a, b) => Date.parse(b.time) - Date.parse(a.time) || (a.id < b.id ? -1 : 1))
    .slice(0, MOST_ROWS);
}

function isOurs({ reportingController = '' }: Event): boolean {
  return reportingController.startsWith('drydock.dev/');
}

function eventRow({ metadata, eventTime, series, regarding, type, reason = '', note = '' }: Event): TimelineRow {
  const { kind = '', name = '' } = regarding ?? {};
  return {
    id: `event ${metadata.namespace ?? ''}/${metadata.name}`,
    time: series?.lastObservedTime ?? eventTime ?? metadata.creationTimestamp ?? '',
    ...{ kind: 'event', warning: type === 'Warning', about: `${kind} ${name}`.trim(), what: reason, text: note },
  };
}

const HOW: Readonly<Record<string, string>> = {
  found: 'it had it when it was first looked at',
  release: 'the release asked for it',
  revert: 'a pin asked for it',
};

function imageRows({ metadata, status }: BootImage): readonly TimelineRow[] {
  const about = status?.set ?? metadata.name;
  return (status?.history ?? []).map((entry): TimelineRow => {
    const { id, release, image, by = 'unknown', pinnedBy, pinReason, since = '' } = entry;
    const pinned =
      pinnedBy === undefined ? undefined : `${pinnedBy} pinned it${pinReason === undefined ? '' : `: ${pinReason}`}`;
    return {
      ...{ id: `image ${metadata.namespace ?? ''}/${metadata.name} ${id}`, time: since, kind: 'image', about },
      ...{ warning: false, what: 'Image in use' },
      text: `${release ?? image ?? 'an image'}: ${pinned ?? HOW[by] ?? `${by} put it there`}`,
    };
  });
}

function releaseRows({ name, history }: PageRelease): readonly TimelineRow[] {
  return history.flatMap(({ version = 'a release', state = '', startedTime, completionTime }) => {
    const row = (what: string, time: string | undefined): readonly TimelineRow[] =>
      time === undefined
        ? []
        : [
            {
              id: `release ${name} ${what} ${time}`,
              time,
              kind: 'release',
              warning: false,
              about: name,
              what,
              text: version,
            },
          ];
    return [
      ...row('Release begun', startedTime),
      ...row(`Release ${state === '' ? 'ended' : state.toLowerCase()}`, completionTime),
    ];
  });
}
