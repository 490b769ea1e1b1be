import type { BootImage, Event } from '@drydock/api';
import type { ManagedRelease } from '../release/managed.ts';

/** Something that happened to a set or a release. */
export interface Happening {
  /** RFC 3339. */
  readonly when: string;
  /** Who did it: the release, a pin, a field manager, or a controller of ours. */
  readonly who: string;
  /** A set as `status` names it, or a release such as `Payload tools`. */
  readonly subject: string;
  readonly namespace?: string;
  /** In words. */
  readonly what: string;
  /** The release that it is about. */
  readonly release?: string;
  /** Where it was read: statuses keep what Events forget. */
  readonly from: 'history' | 'release' | 'event' | 'pin' | 'set';
  readonly type?: string;
}

/** What it is read from. */
export interface HappeningSources {
  readonly images: readonly BootImage[];
  readonly releases: readonly ManagedRelease[];
  readonly events: readonly Event[];
}

const MOVED: Readonly<Record<string, string>> = {
  found: 'was found with',
  release: 'was moved by the release to',
  revert: 'was moved by its pin to',
};

/** All that is known to have happened, the newest first. Pure. */
export function happenings({ images, releases, events }: HappeningSources): readonly Happening[] {
  const sets = new Map(
    images.map(({ metadata, spec, status }) => [
      `${metadata.namespace} ${spec?.machineSet?.kind} ${spec?.machineSet?.name}`,
      status?.set ?? metadata.name,
    ]),
  );
  const all = [
    ...images.flatMap(ofImage),
    ...releases.flatMap(ofRelease),
    ...events.map((event) => ofEvent(event, sets)),
  ];
  return all.filter(({ when }) => when !== '').toSorted((a, b) => Date.parse(b.when) - Date.parse(a.when));
}

function ofImage({ metadata, spec, status }: BootImage): readonly Happening[] {
  const subject = status?.set ?? metadata.name;
  const about = { subject, ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }) };
  const moves = (status?.history ?? []).map(({ by = 'unknown', release, image, since = '' }): Happening => {
    const name = release ?? image ?? 'an image';
    const named = image === undefined || image === name ? name : `${name} (${image})`;
    return {
      ...about,
      ...{ when: since, who: by, from: 'history' },
      what: `${MOVED[by] ?? (by === 'unknown' ? 'was moved by somebody to' : `was moved by ${by} to`)} ${named}`,
      ...(release === undefined ? {} : { release }),
    };
  });
  const { pin } = spec ?? {};
  if (pin?.since === undefined) return moves;
  const { by = 'somebody', since: when, release, reason } = pin;
  const why = reason === undefined ? '' : `: ${reason}`;
  const what = `was pinned to ${release ?? pin.image ?? 'an image'}${why}`;
  return [...moves, { ...about, when, who: by, what, from: 'pin', ...(release === undefined ? {} : { release }) }];
}

function ofRelease({ name, history }: ManagedRelease): readonly Happening[] {
  return history.flatMap(({ version, image, startedTime, completionTime, state, acceptedRisks }) => {
    const release = version ?? image ?? 'a release';
    const about = { subject: name, who: 'release', release, from: 'release' } as const;
    const risks = acceptedRisks === undefined || acceptedRisks === '' ? '' : `; accepted: ${acceptedRisks}`;
    return [
      ...(startedTime === undefined
        ? []
        : [{ ...about, when: startedTime, what: `began to apply ${release}${risks}` }]),
      ...(completionTime === undefined
        ? []
        : [
            {
              ...about,
              when: completionTime,
              what: state === 'Completed' ? `has applied ${release}` : `gave up ${release}`,
            },
          ]),
    ];
  });
}

function ofEvent(event: Event, sets: ReadonlyMap<string, string>): Happening {
  const { regarding, reason = '', note = '', series, eventTime, reportingController = '', type } = event;
  const { namespace, kind = '', name = '' } = regarding ?? {};
  const times = series === undefined ? '' : ` (${series.count} times)`;
  return {
    when: series?.lastObservedTime ?? eventTime,
    who: reportingController,
    subject: sets.get(`${namespace} ${kind} ${name}`) ?? `${kind} ${name}`,
    ...(namespace === undefined ? {} : { namespace }),
    what: `${reason}: ${note}${times}`,
    from: 'event',
    ...(type === undefined ? {} : { type }),
  };
}
