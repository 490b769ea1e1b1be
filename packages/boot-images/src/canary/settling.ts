import type { CanaryGroup } from './machine.ts';

/** Why the next canary of a group is not made yet. */
export interface Settling {
  /** Canaries of its line that were made and given up, one after the other. */
  readonly unjudged: number;
  /** How long (ms) a set must want the image without a change. */
  readonly settleMs: number;
}

/**
 * Damps canaries of an image that keeps changing, such as that of a release that is rolled forward and back again and again. What one process knows of it; losing it costs a few machines.
 *
 * ```text
 *  wanted  B     A     B     A     B           A     B                         stays
 *  made    ▲1          ▲2          wait 5 min  …     wait 5 min ▲3             ► verdict: the count begins again
 * ```
 *
 * The wait grows only with machines that were made, and one is made only after the wait: so whoever stays waits at most twice as long as somebody stayed before in vain.
 */
export interface CanarySettling {
  /** A set wants an image to be tried. Undefined: its canary may be made now. `elapsed`: monotonic ms. */
  readonly wants: (set: string, group: CanaryGroup, elapsed: number) => Settling | undefined;
  /** A set wants no image to be tried any more. */
  readonly ended: (set: string) => void;
  /** Forgets all other sets. */
  readonly keep: (sets: ReadonlySet<string>) => void;
  /** A canary was made. */
  readonly made: (group: CanaryGroup) => void;
  /** A canary was judged. */
  readonly judged: (group: CanaryGroup) => void;
}

/** Canaries that are made without a wait: one that was given up once, for a hold or an upgrade, is no sign of anything. */
const FREE = 2;
/** What the first wait lasts; each further one lasts twice as long. */
const SETTLE_MS = 5 * 60_000;

/** See {@link CanarySettling}. */
export function canarySettling(): CanarySettling {
  /** By set. */
  const wanted = new Map<string, { readonly group: string; readonly since: number }>();
  /** Canaries without a verdict, by line. */
  const unjudged = new Map<string, number>();
  return {
    wants(set, group, now) {
      const before = wanted.get(set);
      const since = before?.group === group.id ? before.since : now;
      wanted.set(set, { group: group.id, since });
      const count = unjudged.get(group.line) ?? 0;
      const settleMs = count < FREE ? 0 : SETTLE_MS * 2 ** (count - FREE);
      return now - since >= settleMs ? undefined : { unjudged: count, settleMs };
    },
    ended: (set) => void wanted.delete(set),
    keep(sets) {
      for (const set of wanted.keys()) if (!sets.has(set)) wanted.delete(set);
    },
    made: ({ line }) => void unjudged.set(line, (unjudged.get(line) ?? 0) + 1),
    judged: ({ line }) => void unjudged.delete(line),
  };
}
