import { noAttempts } from '../image-facts.ts';
import { idOf, type KeptSet } from '../observe/kept-set.ts';
import type { SetOutcome } from '../status/subject.ts';
import type { PassState } from './pass-state.ts';

/** The outcome with what this process knows besides: the way back, how often the set was moved, who else moved it, and whether the set was read before it was moved. */
export function told(
  set: KeptSet,
  outcome: SetOutcome,
  { waysBack, hotLoop, writers, moved }: Pick<PassState, 'waysBack' | 'hotLoop' | 'writers' | 'moved'>,
): SetOutcome {
  const id = idOf(set);
  const changedBy = writers.get(id);
  const version = moved.get(id);
  const stale = version !== undefined && version === set.metadata.resourceVersion && outcome.movedTo === undefined;
  return {
    ...waysBack.told(id, outcome),
    attempts: hotLoop.of(set) ?? noAttempts,
    ...(changedBy === undefined ? {} : { changedBy }),
    ...(stale ? { stale } : {}),
  };
}
