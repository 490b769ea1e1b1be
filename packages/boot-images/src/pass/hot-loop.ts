import { shortText } from '@drydock/api/text';
import { BootImageError } from '../errors.ts';
import { idOf, type KeptSet, kindOf, setText } from '../observe/kept-set.ts';

/** So often may one set be moved to the same target in a row; the next attempt is refused (boot-images.md §2.7). */
export const hotLoopLimit = 3;

/** Moves of one set to one target, as its BootImage keeps them. */
export interface Attempts {
  /** What the moves aim at (vSphere: the release, because template names change with every import). */
  readonly target: string;
  /** The one that was refused is counted, so that more than {@link hotLoopLimit} tells of a refusal. */
  readonly count: number;
  /** The field manager that takes the image back, where it is known. */
  readonly by?: string;
}

/**
 * Remembers how often each set was moved to the same target, to stop fighting another actor that reverts it. What a process does not remember it takes from
 * what was recorded, so that a restart starts no other round.
 */
export interface HotLoop {
  /** What is counted of a set; undefined where nothing is. */
  readonly of: (set: KeptSet) => Attempts | undefined;
  /** What the set is to have now: what was counted of another target, and who was blamed for it, does not outlive that target. */
  readonly aim: (set: KeptSet, target: string) => void;
  /** True when one more move of the set to the target must be refused; that is counted. Another target than before starts at zero. */
  readonly refuses: (set: KeptSet, target: string) => boolean;
  /** Counts a patch that succeeded; failed patches never count. */
  readonly record: (set: KeptSet, target: string) => void;
  /** Who took the image back. */
  readonly blame: (set: KeptSet, by: string) => void;
  /** The set has its target. After a refusal somebody else has moved it there: then nobody fights any more. */
  readonly agreed: (set: KeptSet) => void;
  /** Nothing is to be done about a set, because it is left alone: starts at zero. */
  readonly clear: (set: KeptSet) => void;
  /** Forgets a set that was deleted, so that a new one of the same name starts at zero. */
  readonly forget: (id: string) => void;
}

/** Longest target that is kept, in UTF-16 units. */
const LONGEST = 512;

/** An empty memory. `recorded` is what an earlier process left of a set. */
export function createHotLoop(recorded: (set: KeptSet) => Attempts | undefined = () => undefined): HotLoop {
  const seen = new Map<string, Attempts | undefined>();
  const of = (set: KeptSet): Attempts | undefined => {
    return seen.getOrInsertComputed(idOf(set), () => recorded(set));
  };
  const countOf = (set: KeptSet, target: string): number => {
    const last = of(set);
    return last !== undefined && last.target === shortText(target, LONGEST) ? last.count : 0;
  };
  const put = (set: KeptSet, target: string, count: number): void => {
    const { by } = of(set) ?? {};
    seen.set(idOf(set), { target: shortText(target, LONGEST), count, ...(by === undefined ? {} : { by }) });
  };
  const clear = (set: KeptSet): void => void seen.set(idOf(set), undefined);
  const aim = (set: KeptSet, target: string): void => {
    if (of(set) !== undefined && of(set)?.target !== shortText(target, LONGEST)) clear(set);
  };
  return {
    of,
    aim,
    refuses: (set, target) => {
      aim(set, target);
      const refused = countOf(set, target) >= hotLoopLimit;
      if (refused) put(set, target, hotLoopLimit + 1);
      return refused;
    },
    record: (set, target) => put(set, target, countOf(set, target) + 1),
    blame: (set, by) => {
      const last = of(set);
      if (last !== undefined) seen.set(idOf(set), { ...last, by: shortText(by, LONGEST) });
    },
    agreed: (set) => {
      if ((of(set)?.count ?? 0) > hotLoopLimit) clear(set);
    },
    clear,
    forget: (id) => void seen.delete(id),
  };
}

/** The refusal, in upstream's words. `by` is the field manager that reverts the image, where it is known. */
export function hotLoopError(set: KeptSet, by?: string): BootImageError {
  const text = setText(set);
  return new BootImageError(
    'HotLoop',
    `refusing to reconcile ${kindOf(set).inTexts} ${set.metadata.name}, hot loop detected. Please opt-out of boot image updates, adjust your machine provisioning workflow to prevent hot loops and opt back in to resume boot image updates`,
    {
      retriable: false,
      nextStep:
        by === undefined
          ? `find who reverts the image: kubectl -n openshift-machine-api get ${text} -o yaml --show-managed-fields`
          : `stop ${by} from setting the image of ${text}, or take the set out of the selection`,
    },
  );
}
