import { compareReleases } from '@drydock/boot-images';
import { type PlacedSet, setId } from './answers.ts';
import type { OperationRow, SetRow, VersionRow } from './page-state.ts';

const MOVING: ReadonlySet<string> = new Set(['Downloading', 'Uploading', 'Publishing', 'Switching']);
const MOST_NAMED = 5;

/** All sets by namespace and name: what `status` says of each. */
export function setRows(placed: readonly PlacedSet[]): readonly SetRow[] {
  return placed.map(setRow).toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function setRow(one: PlacedSet): SetRow {
  const { set, image, answer } = one;
  const { phase = '', progress = '', reason = '', message = '', nextStep = '', since = '', revertTo = '' } = set.status;
  const { current = '', target = '', platform = '' } = image?.status ?? {};
  const { pin } = set;
  return {
    ...{ id: setId(set.namespace, set.set), set: set.set, namespace: set.namespace, platform, place: placeText(one) },
    ...{ current, target, phase, progress, reason, message, nextStep, since, revertTo, policy: set.policy ?? '' },
    pinned: pin === undefined ? '' : (pin.release ?? pin.image ?? 'pinned'),
    answer: answer?.answer ?? 'unknown',
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
