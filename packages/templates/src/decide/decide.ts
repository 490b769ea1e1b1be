import type { Observed, Step, Wanted } from './machine.ts';
import { bestOf, candidatesOf, complete, stage, sweep } from './staging.ts';
import { decideSwap } from './swap.ts';

/**
 * The next step of a publication, of either strategy, or of a revert.
 *
 * ```
 *  nothing ──import──▶ verified ──markAsTemplate──▶ template ──attachTags──▶ complete
 *     ▲                    (adopted by whoever comes next)                      │
 *     └──destroy── unverified, its upload surely dead                           ├─ pointer: done
 *                                                                               └─ swap: see swap.ts
 * ```
 * Of several verified ones the same wins for every observer.
 */
export function decide(observed: Observed, wanted: Wanted): Step {
  if (wanted.swap !== undefined) return decideSwap(observed, wanted, wanted.swap);
  const best = bestOf(observed, wanted);
  if (best === undefined) return stage(observed, wanted);
  return (
    complete(best, wanted) ??
    sweep(candidatesOf(observed, wanted), best) ?? { kind: 'done', ref: best.ref, name: best.name }
  );
}
