import { idOf, type KeptSet } from '../observe/kept-set.ts';
import type { Platform } from '../platform.ts';
import { changedImage } from '../wakes/foreign-writes.ts';
import type { ObjectChange } from '../wakes/triggers.ts';
import type { PassState } from './pass-state.ts';

/**
 * Notes a change of a machine set that the watch has shown. A set that is gone is forgotten, also where another one has its name already: a watch that was interrupted shows only the new one. An
 * image that somebody else has set is remembered until the next pass asks who that was.
 */
export function noteSetChange(
  change: ObjectChange<KeptSet>,
  {
    hotLoop,
    foreign,
    writers,
    moved,
    pointed,
  }: Pick<PassState, 'hotLoop' | 'foreign' | 'writers' | 'moved' | 'pointed'>,
  platform: Pick<Platform, 'imageOf'> | undefined,
): void {
  const { old, now } = change;
  const set = now ?? old;
  if (set === undefined) return;
  const id = idOf(set);
  if (old !== undefined && old.metadata.uid !== now?.metadata.uid) {
    hotLoop.forget(id);
    for (const memory of [foreign, writers, moved]) memory.delete(id);
    return;
  }
  const image = platform === undefined ? undefined : changedImage(change, platform);
  if (image !== undefined && image !== pointed.get(id)) foreign.add(id);
}
