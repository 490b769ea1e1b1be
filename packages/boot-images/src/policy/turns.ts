import type { BootImagePolicy } from '@drydock/api';
import { type KeptSet, setText } from '../observe/kept-set.ts';
import type { Waiting } from './held.ts';
import type { SetPolicy } from './set-policy.ts';

/** A set of a policy that has a pace. */
export interface Turn<T> {
  readonly set: KeptSet;
  /** Where its machines are; undefined where they are in several places, or where nobody can tell: those come last. */
  readonly failureDomain: string | undefined;
  /** What is to be done; absent where the set is not done and nothing can be done about it now. */
  readonly work?: T;
}

/** Whether a policy says anything of order and pace. */
export function isPaced({ spec }: Pick<BootImagePolicy, 'spec'>): boolean {
  return spec?.pace?.setsAtATime !== undefined || spec?.pace?.failureDomains === 'InTurn';
}

/** One stretch of the way: what may be done together, so many at a time, before anything of the next stretch is begun. */
export interface Stretch<T> {
  readonly turns: readonly (Turn<T> & { readonly work: T })[];
  readonly atATime: number;
}

/** The order of the sets of one policy, and what stands in the way of its end. */
export interface Way<T> {
  readonly stretches: readonly Stretch<T>[];
  /** The first that is not done and about which nothing can be done now: those behind it wait for it. */
  readonly stuck?: KeptSet;
  readonly behind: readonly (Turn<T> & { readonly work: T })[];
}

/**
 * Puts the sets of one policy in order: by name, where failure domains come in turn first by these. What is stuck keeps all that comes after it from being begun; what is done already is not
 * among `turns`.
 */
export function wayOf<T>(turns: readonly Turn<T>[], { spec: { pace = {} } }: SetPolicy): Way<T> {
  const inTurn = pace.failureDomains === 'InTurn';
  const domainOf = (turn: Turn<T>): string => (inTurn ? (turn.failureDomain ?? LAST) : '');
  const ordered = turns.toSorted(
    (a, b) => order(domainOf(a), domainOf(b)) || order(a.set.metadata.name, b.set.metadata.name),
  );
  const at = ordered.findIndex(({ work }) => work === undefined);
  const ahead = at < 0 ? ordered : ordered.slice(0, at);
  const stuck = ordered[at]?.set;
  return {
    stretches: [...Map.groupBy(ahead.filter(hasWork), domainOf).values()].map((stretch) => ({
      turns: stretch,
      atATime: pace.setsAtATime ?? stretch.length,
    })),
    ...(stuck === undefined ? {} : { stuck }),
    behind: at < 0 ? [] : ordered.slice(at + 1).filter(hasWork),
  };
}

/** Behind every name. */
const LAST = '\uffff';

function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function hasWork<T>(turn: Turn<T>): turn is Turn<T> & { readonly work: T } {
  return turn.work !== undefined;
}

/** The outcome for a set that is not begun because of another one. */
export function waitsForTurn(set: KeptSet, { name }: SetPolicy, before: KeptSet): Waiting {
  const other = setText(before);
  return {
    kind: 'waiting',
    phase: 'Pending',
    reason: 'WaitsForTurn',
    brief: `waits for ${before.metadata.name}`,
    message: `${setText(set)} is not begun before ${other} is done, by the pace of bootimagepolicy ${name}`,
    nextStep: `drydock explain ${before.metadata.name}`,
  };
}
