import { buildDate, compareReleases } from '@drydock/boot-images';
import { type Reason, rank } from './answer.ts';
import { answerInPlace, type PageView, type PlacedSet, placeReasons, setId } from './answers.ts';
import type { Answer, OperationRow, SetRow, VersionRow } from './page-state.ts';

const MOVING: ReadonlySet<string> = new Set(['Downloading', 'Uploading', 'Publishing', 'Switching']);
const MOST_NAMED = 5;

/** All sets, problems first, then by namespace and name: what `status` says of each. */
export function setRows(placed: readonly PlacedSet[], world: PageView): readonly SetRow[] {
  // A thousand sets are in a few places.
  const byPlace = new Map<string, readonly Reason[]>();
  const reasonsOf = (one: PlacedSet): readonly Reason[] => {
    const key = JSON.stringify([one.kind, one.region, one.failureDomain]);
    const reasons = byPlace.get(key) ?? placeReasons(one, world);
    byPlace.set(key, reasons);
    return reasons;
  };
  return placed
    .map((one) => setRow(one, answerInPlace(one, reasonsOf(one))))
    .toSorted((a, b) => rank(a.answer) - rank(b.answer) || (a.id < b.id ? -1 : 1));
}

function setRow(one: PlacedSet, answer: Answer): SetRow {
  const { set, image, region, failureDomain } = one;
  const { phase = '', progress = '', reason = '', message = '', nextStep = '', since = '', revertTo = '' } = set.status;
  const { current = '', target = '', platform = '' } = image?.status ?? {};
  const { pin } = set;
  return {
    ...{ id: setId(set.namespace, set.set), set: set.set, namespace: set.namespace, platform },
    ...{
      region,
      failureDomain,
      current,
      target,
      phase,
      progress,
      reason,
      message,
      nextStep,
      since,
      revertTo,
      policy: set.policy ?? '',
    },
    pinned: pin === undefined ? '' : (pin.release ?? pin.image ?? 'pinned'),
    answer,
  };
}

/** `vc1 / fd1`. */
function placeText({ region, failureDomain }: PlacedSet): string {
  return [region, failureDomain].filter((part) => part !== '').join(' / ');
}

/** Which releases sets have, and how far that is from what is asked for; the furthest first. */
export function versionRows(placed: readonly PlacedSet[]): readonly VersionRow[] {
  const groups = Map.groupBy(placed, ({ image }) =>
    JSON.stringify([image?.status?.current ?? '', image?.status?.target ?? '']),
  );
  const rows = [...groups.values()].map((group): VersionRow => {
    const { current = '', target = '' } = group[0]?.image?.status ?? {};
    const names = group.map(({ set }) => set.set).toSorted();
    return {
      id: `${current} / ${target}`,
      current,
      target,
      built: buildDate(current) ?? '',
      skew: skewOf(current, target),
      sets: group.length,
      names: names.slice(0, MOST_NAMED),
    };
  });
  const order = ['older', 'unknown', 'newer', 'none'];
  return rows.toSorted((a, b) => order.indexOf(a.skew) - order.indexOf(b.skew) || (a.id < b.id ? -1 : 1));
}

function skewOf(current: string, target: string): VersionRow['skew'] {
  if (current === target && current !== '') return 'none';
  const difference = compareReleases(current, target);
  if (difference === undefined) return 'unknown';
  return difference < 0 ? 'older' : difference > 0 ? 'newer' : 'none';
}

/** What is being made or switched to now. */
export function operationRows(placed: readonly PlacedSet[]): readonly OperationRow[] {
  return placed
    .filter(({ set }) => MOVING.has(set.status.phase ?? ''))
    .map((one): OperationRow => {
      const { set, image } = one;
      const { phase = '', since = '', message, progress = '' } = set.status;
      return {
        ...{ id: setId(set.namespace, set.set), set: set.set, phase, target: image?.status?.target ?? '', since },
        ...{ place: placeText(one), progress: image?.status?.progressDetail ?? {}, text: message ?? progress },
      };
    })
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
