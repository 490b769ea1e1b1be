import type { BootImage, Event } from '@drydock/api';
import { CLUSTER_API, type PinWriters, pinsOf } from '@drydock/boot-images';
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
  /** The OpenShift version that brought the image, or the payload's version; absent where nobody knows it. */
  readonly release?: string;
  /** The version of the image that it is about. */
  readonly imageVersion?: string;
  /** The image as the machine set refers to it. */
  readonly image?: string;
  /** Where it was read: statuses keep what Events forget. */
  readonly from: 'history' | 'release' | 'event' | 'pin' | 'set';
  readonly type?: string;
  /** Of an Event. */
  readonly reason?: string;
}

/** What it is read from. */
export interface HappeningSources {
  readonly images: readonly BootImage[];
  readonly releases: readonly ManagedRelease[];
  readonly events: readonly Event[];
  /** What field managers say of pins whose author the object does not name. */
  readonly pinWriters?: ReadonlyMap<BootImage, PinWriters>;
  readonly now: Date;
}

const MOVED: Readonly<Record<string, string>> = {
  found: 'was found with',
  release: 'was moved by the release to',
  revert: 'was moved by its pin to',
};

/** All that is known to have happened, the newest first. Pure. */
export function happenings(sources: HappeningSources): readonly Happening[] {
  const { images, releases, events, pinWriters, now } = sources;
  const sets = new Map(
    images.map(({ metadata, spec, status }) => [
      `${metadata.namespace} ${spec?.machineSet?.kind} ${spec?.machineSet?.name}`,
      status?.set ?? metadata.name,
    ]),
  );
  const all = [
    ...images.flatMap((image) => [...movesOf(image), ...pinningsOf(image, now, pinWriters?.get(image))]),
    ...releases.flatMap(ofRelease),
    ...events.map((event) => ofEvent(event, sets)),
  ];
  const brought = openshiftVersions(images, releases);
  return all
    .filter(({ when }) => when !== '')
    .map((one) => {
      const release = one.imageVersion === undefined ? one.release : brought.get(one.imageVersion);
      return release === undefined ? one : { ...one, release };
    })
    .toSorted((a, b) => Date.parse(b.when) - Date.parse(a.when));
}

function about({ metadata, status }: BootImage): Pick<Happening, 'subject' | 'namespace'> {
  const { name, namespace } = metadata;
  return { subject: status?.set ?? name, ...(namespace === undefined ? {} : { namespace }) };
}

function movesOf(of: BootImage): readonly Happening[] {
  return (of.status?.history ?? []).map((entry): Happening => {
    const { by = 'unknown', pinnedBy, pinReason, release, image, since = '' } = entry;
    const name = release ?? image ?? 'an image';
    const named = image === undefined || image === name ? name : `${name} (${image})`;
    const moved = MOVED[by] ?? (by === 'unknown' ? 'was moved by somebody to' : `was moved by ${by} to`);
    return {
      ...about(of),
      ...{ when: since, who: pinnedBy ?? by, from: 'history', what: `${moved} ${named}${because(pinReason)}` },
      ...(release === undefined ? {} : { imageVersion: release }),
      ...(image === undefined ? {} : { image }),
    };
  });
}

function pinningsOf(of: BootImage, now: Date, writers: PinWriters | undefined): readonly Happening[] {
  return pinsOf(of, now, writers).flatMap((entry): readonly Happening[] => {
    const { release, image, by, reason, since = '', liftedAt, liftedBy, liftedReason } = entry;
    const name = release ?? image ?? 'an image';
    const row = (when: string, who: string | undefined, what: string): Happening => ({
      ...{ ...about(of), when, who: who === undefined || who === 'unknown' ? 'somebody' : who, what, from: 'pin' },
      ...(release === undefined ? {} : { imageVersion: release }),
    });
    const pinned = row(since, by, `was pinned to ${name}${because(reason)}`);
    if (liftedAt === undefined) return [pinned];
    return [row(liftedAt, liftedBy, `its pin to ${name} was lifted${because(liftedReason)}`), pinned];
  });
}

function because(reason: string | undefined): string {
  return reason === undefined || reason === '' ? '' : `: ${reason}`;
}

/** The OpenShift version that brought each image version: the one that had been applied last when a machine set was first moved to the image. */
function openshiftVersions(
  images: readonly BootImage[],
  releases: readonly ManagedRelease[],
): ReadonlyMap<string, string> {
  const applied = releases
    .filter(({ name }) => name.startsWith('ClusterVersion '))
    .flatMap(({ history }) => history)
    .flatMap(({ version, state, completionTime = '' }) =>
      version === undefined || state !== 'Completed' ? [] : [{ version, time: wholeSeconds(completionTime) }],
    )
    .toSorted((a, b) => b.time - a.time);
  const moves = images
    // Machines of Cluster API may be of another cluster.
    .filter(({ spec }) => spec?.machineSet?.apiGroup?.endsWith(CLUSTER_API) !== true)
    .flatMap(({ status }) => status?.history ?? [])
    .filter(({ by }) => by === 'release')
    .toSorted((a, b) => Date.parse(b.since ?? '') - Date.parse(a.since ?? ''));
  return new Map(
    moves.flatMap(({ release, since = '' }) => {
      const version = applied.find(({ time }) => time <= wholeSeconds(since))?.version;
      return release === undefined || version === undefined ? [] : [[release, version] as const];
    }),
  );
}

/** A status has whole seconds, a ClusterVersion may have parts of them. */
function wholeSeconds(time: string): number {
  return Math.floor(Date.parse(time) / 1000);
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
    ...{ from: 'event', reason },
    ...(type === undefined ? {} : { type }),
  };
}
