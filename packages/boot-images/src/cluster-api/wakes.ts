import type { BootImage } from '@drydock/api';
import { type Cache, type Key, type KubeObject, type Source, whenever } from '@drydock/kube';
import { canonical, object } from '../observe/json.ts';
import type { ClusterApiObject } from './kinds.ts';
import type { Lines } from './lines.ts';
import { idOfRotated, isPaused, isRevision, ROTATED_KINDS, type RotatedKind, rotatedSet } from './set.ts';
import { policySubjectOf } from './wish.ts';

/** The set that a BootImage is of, where it is one of this kind. */
export function setNamedBy(
  { metadata: { namespace = '' }, spec }: BootImage,
  group: string,
  kind: string,
): readonly Required<Key>[] {
  const { apiGroup, kind: of, name } = spec?.machineSet ?? {};
  return apiGroup === group && of === kind && name !== undefined ? [{ namespace, name }] : [];
}

/** Of a set that changes, policies look at a few words. */
export function isAnotherSubject(
  kind: RotatedKind,
): (change: { readonly old?: ClusterApiObject; readonly now?: ClusterApiObject }) => boolean {
  const read = (one: ClusterApiObject | undefined): string => {
    const set = one === undefined ? undefined : rotatedSet(kind, one);
    return set === undefined || isRevision(set) ? '' : canonical(policySubjectOf(set));
  };
  return ({ old, now }) => read(old) !== read(now);
}

/** A status is written here, and is no work; what somebody deleted is made again. */
export function specChanged({ old, now }: { readonly old?: KubeObject; readonly now?: KubeObject }): boolean {
  return now === undefined || old?.metadata.generation !== now.metadata.generation;
}

/** Its status changes with every rollout of one of its sets, and of that only the failure domains are read. */
export function isAnotherCluster(change: {
  readonly old?: ClusterApiObject;
  readonly now?: ClusterApiObject;
}): boolean {
  const { old, now } = change;
  if (old === undefined || specChanged(change)) return true;
  const read = (one: ClusterApiObject | undefined): string =>
    canonical([isPaused(one), one?.metadata.deletionTimestamp ?? '', object(one?.status)['failureDomains'] ?? {}]);
  return read(old) !== read(now);
}

/** Sets that wait until another one is done are looked at when it is. */
export function whoseTurn(lines: Lines, kind: RotatedKind): Source {
  return whenever(lines.onTurn, (set) => (set.kind === kind ? [{ namespace: set.namespace, name: set.name }] : []));
}

/** The set that a BootImage is of, where it exists. */
export function setOfImage(
  image: BootImage,
  cacheOf: (group: string, kind: string) => Pick<Cache<ClusterApiObject>, 'get'> | undefined,
): string | undefined {
  for (const { group, kind } of ROTATED_KINDS)
    for (const key of setNamedBy(image, group, kind)) {
      const live = cacheOf(group, kind)?.get(key);
      if (live !== undefined) return idOfRotated(rotatedSet(kind, live));
    }
  return undefined;
}
