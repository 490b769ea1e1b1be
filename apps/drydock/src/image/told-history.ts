import type { HistoryEntry } from '@drydock/boot-images';
import { exitCode } from '../exit.ts';
import { shell } from '../template/next-command.ts';
import type { RevertPlan, RevertRefusal } from './revert-plan.ts';

/** An image that a set had, and whether `image revert` goes back to it now. */
export type ToldEntry = HistoryEntry & {
  /** The command that goes back to it; absent for the one in use, and where it would be refused. */
  readonly revert?: string;
  /** Where it would be refused, or Drydock could not look: what a person can do, if that is known. */
  readonly next?: string;
};

/** What `image revert --to` comes to for an entry of the history, before anything is asked. */
export type RevertTo = (to: string) => Promise<RevertPlan | RevertRefusal>;

/**
 * The history as a revert sees it: `revertable` and `why` are what `image revert` would say now, by the operator's last look where none can be made from here, and absent where nobody looked; then `why` says what was in
 * the way. An image that the set had twice is asked about once.
 */
export function toldHistory(
  set: string,
  history: readonly HistoryEntry[],
  revertTo: RevertTo,
): Promise<readonly ToldEntry[]> {
  const asked = new Map<string, Promise<RevertPlan | RevertRefusal>>();
  return Promise.all(
    history.map(async (entry) => {
      if (entry.until === undefined) return entry;
      const key = JSON.stringify([entry.image, entry.release, entry.digest]);
      const answer = asked.get(key) ?? revertTo(entry.id);
      asked.set(key, answer);
      return toldEntry(set, entry, await answer);
    }),
  );
}

function toldEntry(set: string, entry: HistoryEntry, plan: RevertPlan | RevertRefusal): ToldEntry {
  const { revertable: _, why: __, ...rest } = entry;
  if (!('code' in plan)) {
    const others = plan.sets.length > 1 ? ' --all-on-name' : '';
    return { ...rest, revertable: true, revert: `${shell`drydock image revert ${set} --to ${entry.id}`}${others}` };
  }
  const why = plan.why ?? plan.message;
  if (plan.code !== exitCode.undecided)
    return { ...rest, revertable: false, why, ...(plan.next === undefined ? {} : { next: plan.next }) };
  return { ...rest, why, next: plan.next ?? shell`drydock explain ${set}` };
}
