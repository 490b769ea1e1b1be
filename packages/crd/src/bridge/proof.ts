import { diff } from '../diff/diff.ts';
import type { RuleId } from '../diff/step.ts';
import type { Crd } from '../schema/schema.ts';
import type { Unbridged } from './bridge-node.ts';
import type { Stores } from './storage-version.ts';

/** What speaks against a bridge. */
export interface Objections {
  /** Something is refused or lost. */
  readonly stops: readonly Unbridged[];
  /** Nobody can tell here. */
  readonly doubts: readonly Unbridged[];
}

/** For these a server refuses a definition, whatever is stored. */
const REFUSED: readonly RuleId[] = ['N23', 'N25', 'N31'];

/** Holds a definition between two others against both: from either nothing is refused or lost on the way to it, and from it a server takes either. What `crd check` would say, before anybody has to ask. `stores`: it is for the way to this one alone. */
export function objections(old: Crd, now: Crd, between: Crd, stores?: Stores): Objections {
  const stops: Unbridged[] = [];
  const doubts: Unbridged[] = [];
  for (const side of [old, now]) {
    for (const { effect, path, rule, version, what } of diff(side, between).steps) {
      if (effect === 'narrows') stops.push({ rule, version, path, why: what });
      if (effect === 'undecided') doubts.push({ rule, version, path, why: what });
    }
    const isOpen = stores === undefined || side === (stores === 'older' ? old : now);
    for (const { effect, path, rule, version, what } of isOpen ? diff(between, side).steps : [])
      if (effect === 'narrows' && REFUSED.includes(rule)) stops.push({ rule, version, path, why: what });
  }
  return { stops, doubts };
}
