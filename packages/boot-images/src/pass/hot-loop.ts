import { BootImageError } from '../errors.ts';
import { type KeptSet, kindOf, setText } from '../observe/kept-set.ts';

/** So often may one set be moved to the same value in a row; the next attempt is refused (boot-images.md §2.7). */
export const hotLoopLimit = 3;

/**
 * Remembers how often each set was moved to the same value, to stop fighting another actor that reverts it. The value is what
 * the update aims at (vSphere: the release, because template names change with every import), so a new release resets it.
 */
export interface HotLoop {
  /** True when one more move of the set to the value must be refused. */
  readonly exhausted: (set: string, value: string) => boolean;
  /** Counts a patch that succeeded; failed patches never count. */
  readonly record: (set: string, value: string) => void;
  /** Forgets a set that was deleted, so that a new one of the same name starts at zero. */
  readonly forget: (set: string) => void;
  /** Forgets sets that are not among these: a person opted them out. */
  readonly keep: (sets: ReadonlySet<string>) => void;
}

/** An empty memory. It lives in the process, as upstream's does. */
export function createHotLoop(): HotLoop {
  const seen = new Map<string, { readonly value: string; readonly count: number }>();
  return {
    exhausted: (set, value) => {
      const last = seen.get(set);
      return last !== undefined && last.value === value && last.count >= hotLoopLimit;
    },
    record: (set, value) => {
      const last = seen.get(set);
      seen.set(set, { value, count: last?.value === value ? last.count + 1 : 1 });
    },
    forget: (set) => void seen.delete(set),
    keep: (sets) => {
      for (const set of seen.keys()) if (!sets.has(set)) seen.delete(set);
    },
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
