import type { KeptSet } from '../observe/kept-set.ts';
import type { Waiting } from '../policy/held.ts';
import type { SetPolicy } from '../policy/set-policy.ts';
import { type Turn, waitsForTurn, wayOf } from '../policy/turns.ts';
import { eachOf } from '../pool.ts';

/** What {@link inTurn} does its work with. */
export interface InTurnPorts<T> {
  /** True where the set is done, or needs nothing any more: then the next one may be begun. */
  readonly act: (work: T) => Promise<boolean>;
  /** Tells why a set was not begun. */
  readonly wait: (work: T, outcome: Waiting) => Promise<void>;
}

/** Does the work on the sets of one policy in its order and at its pace. After one that is not done nothing more is begun. */
export async function inTurn<T>(policy: SetPolicy, turns: readonly Turn<T>[], ports: InTurnPorts<T>): Promise<void> {
  const way = wayOf(turns, policy);
  let ahead: KeptSet | undefined;
  const waits = (set: KeptSet, work: T, before: KeptSet): Promise<void> =>
    ports.wait(work, waitsForTurn(set, policy, before));
  for (const { turns: stretch, atATime } of way.stretches) {
    await eachOf(stretch, atATime, async ({ set, work }) => {
      if (ahead !== undefined) return waits(set, work, ahead);
      if (!(await ports.act(work))) ahead ??= set;
    });
  }
  for (const { set, work } of way.behind) await waits(set, work, ahead ?? way.stuck ?? set);
}
