import type { Definition, DefinitionState } from './definitions.ts';
import type { RollbackPhase } from './wish.ts';

/** Everything that the next step is decided by. A plain value. */
export interface RollbackStanding {
  readonly definitions: readonly Definition[];
  /** Definitions whose objects this process has gone through since they were marked. */
  readonly sanitised: ReadonlySet<string>;
  /** The target's payload was applied to its end, as this process has seen. */
  readonly applied: boolean;
  /** Definitions that this attempt leaves at the bridge. */
  readonly kept: ReadonlySet<string>;
  /** What only the other release brought, and where things are stored, was seen to after that. */
  readonly tidied: boolean;
}

/** What is to be done next. */
export type RollbackStep =
  /** Nothing: somebody must decide first. */
  | { readonly kind: 'refuse'; readonly phase: 'Preflight'; readonly definition: Definition }
  /** Nobody has begun: what is stored is judged first. */
  | { readonly kind: 'preflight'; readonly phase: 'Preflight'; readonly definitions: readonly Definition[] }
  /** Tell the writers of these kinds to keep within both releases. */
  | { readonly kind: 'freeze'; readonly phase: 'Freeze'; readonly definitions: readonly Definition[] }
  /** Keep what the target cannot hold, and write statuses that it takes. */
  | { readonly kind: 'sanitise'; readonly phase: 'Sanitise'; readonly definitions: readonly Definition[] }
  | { readonly kind: 'bridge'; readonly phase: 'Bridge'; readonly definitions: readonly Definition[] }
  /** Apply the target's payload, with every bridge left alone. */
  | { readonly kind: 'operators'; readonly phase: 'Operators' }
  /** Put back the bridges of definitions that somebody narrowed and did not prove. */
  | { readonly kind: 'restore'; readonly phase: 'Contract'; readonly definitions: readonly Definition[] }
  /** Wait for the writers of the target, and cut what they put back; then all is judged. */
  | { readonly kind: 'contract'; readonly phase: 'Contract'; readonly definitions: readonly Definition[] }
  /** Writers need not keep within another release any more. */
  | { readonly kind: 'unmark'; readonly phase: 'Contract'; readonly definitions: readonly Definition[] }
  | { readonly kind: 'tidy'; readonly phase: 'Orphans' }
  | { readonly kind: 'done'; readonly phase: Extract<RollbackPhase, 'Recorded'> };

/** The next step, by what is observed alone. */
export function nextRollbackStep(standing: RollbackStanding): RollbackStep {
  const { definitions, sanitised, applied, kept, tidied } = standing;
  const of = (...kinds: readonly DefinitionState['kind'][]): readonly Definition[] =>
    definitions.filter(({ state }) => kinds.includes(state.kind));
  const [refused] = of('foreign', 'unreadable', 'unbridgeable');
  if (refused !== undefined) return { kind: 'refuse', phase: 'Preflight', definition: refused };
  // What was narrowed without a proof may refuse somebody at this moment.
  const halfway = of('contracting');
  if (halfway.length > 0) return { kind: 'restore', phase: 'Contract', definitions: halfway };
  const fresh = of('narrows');
  if (fresh.length > 0)
    return of('marked', 'bridged').length === 0 && !sanitised.has(JUDGED)
      ? { kind: 'preflight', phase: 'Preflight', definitions: fresh }
      : { kind: 'freeze', phase: 'Freeze', definitions: fresh };
  const marked = of('marked');
  const dirty = marked.filter(({ name }) => !sanitised.has(name));
  if (dirty.length > 0) return { kind: 'sanitise', phase: 'Sanitise', definitions: dirty };
  if (marked.length > 0) return { kind: 'bridge', phase: 'Bridge', definitions: marked };
  if (!applied) return { kind: 'operators', phase: 'Operators' };
  const bridged = of('bridged').filter(({ name }) => !kept.has(name));
  if (bridged.length > 0) return { kind: 'contract', phase: 'Contract', definitions: bridged };
  const others = of('fits').filter(({ state }) => state.kind === 'fits' && state.marked);
  if (others.length > 0) return { kind: 'unmark', phase: 'Contract', definitions: others };
  return tidied ? { kind: 'done', phase: 'Recorded' } : { kind: 'tidy', phase: 'Orphans' };
}

/** Among the definitions that were gone through: what is stored was judged, and the way accepted. */
export const JUDGED = '';
