import type { BootImage, BootImagePolicySpec } from '@drydock/api';
import { imageLeafOf } from './image-leaf.ts';
import type { RotationWish } from './rotation.ts';
import { type RotatedSet, setText } from './set.ts';

/** What of a set decides when its turn is. */
export type TurnOf = Pick<RotatedSet, 'kind' | 'namespace' | 'name' | 'id' | 'failureDomains'>;

/**
 * The sets of one policy that are not done, in the order of their names, where failure domains come in turn first by these. What is asked costs the same however many there are; a set that comes or
 * goes costs a search.
 */
export class Line {
  readonly #atATime: number;
  readonly #inTurn: boolean;
  readonly #undone: { readonly key: string; readonly set: TurnOf }[] = [];

  constructor({ setsAtATime = Number.POSITIVE_INFINITY, failureDomains }: NonNullable<BootImagePolicySpec['pace']>) {
    this.#atATime = setsAtATime;
    this.#inTurn = failureDomains === 'InTurn';
  }

  /** A set has something to be done about it. */
  add(set: TurnOf): void {
    const key = this.#keyOf(set);
    const at = this.#at(key);
    if (this.#undone[at]?.key !== key) this.#undone.splice(at, 0, { key, set });
  }

  /** A set is done, or gone. Those whose turn has come by that. */
  remove(set: TurnOf): readonly TurnOf[] {
    const key = this.#keyOf(set);
    const at = this.#at(key);
    if (this.#undone[at]?.key !== key) return [];
    this.#undone.splice(at, 1);
    const [head] = this.#undone;
    if (head === undefined) return [];
    const domain = this.#domainOf(head.set);
    if (at === 0 && domain !== this.#domainOf(set)) {
      const turn = this.#undone.findIndex((one, index) => index >= this.#atATime || this.#domainOf(one.set) !== domain);
      return this.#undone.slice(0, turn < 0 ? undefined : turn).map((one) => one.set);
    }
    const next = at < this.#atATime ? this.#undone[this.#atATime - 1] : undefined;
    return next !== undefined && this.#domainOf(next.set) === domain ? [next.set] : [];
  }

  /** The set for which this one waits; undefined where it is its turn. */
  before(set: TurnOf): TurnOf | undefined {
    const [head] = this.#undone;
    if (head === undefined) return undefined;
    const key = this.#keyOf(set);
    const ahead = (at: number): boolean => (this.#undone[at]?.key ?? key) < key;
    const other = ahead(0) && this.#domainOf(head.set) !== this.#domainOf(set);
    return other || ahead(this.#atATime - 1) ? head.set : undefined;
  }

  #keyOf(set: TurnOf): string {
    return `${this.#domainOf(set)}\n${set.name}\n${set.namespace}\n${set.id}`;
  }

  #domainOf({ failureDomains }: TurnOf): string {
    if (!this.#inTurn) return '';
    return failureDomains.length === 1 ? (failureDomains[0] ?? LAST) : LAST;
  }

  /** Where a key stands, or would. */
  #at(key: string): number {
    let [low, high] = [0, this.#undone.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#undone[middle]?.key ?? '') < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Behind every name: a set that is in several places, or in none that is named. */
const LAST = '\uffff';

/** What is said of a set that is not begun before another one. */
export function waitsForTurn(set: TurnOf, before: TurnOf, policy: string): NonNullable<RotationWish['waits']> {
  return {
    ...{ reason: turnReason, brief: `waits for ${before.name}` },
    message: `${setText(set)} is not begun before ${setText(before)} is done, by the pace of ${policy}`,
  };
}

/** Reason of a set that waits for another one of its policy. */
export const turnReason = 'WaitsForTurn';

/**
 * Whether a BootImage need not say that its set waits for its turn: it says that the set is up to date with what was wanted before, which is so. Whoever reads it works out the turn: a fleet of which
 * one set after the other moves would be written to once more for each, and be wrong again with each that is done.
 */
export function isSilentTurn({ metadata, status }: BootImage): boolean {
  return status?.reason === 'UpToDate' && status.observedGeneration === metadata.generation;
}

/** Whether a set is where its wish wants it, and nothing goes on with it. What nothing can or may be done about is in nobody's way, once that was said of what is wanted now. */
export function isDone(set: RotatedSet, wish: RotationWish, image: BootImage | undefined): boolean {
  const leaf = set.reference === undefined ? undefined : imageLeafOf(set.reference, wish.imagePaths);
  if (wish.leftAlone !== undefined || typeof leaf !== 'object') return true;
  const wanted = wish.image(leaf);
  if (wanted.kind === 'none') return !wanted.blocked;
  const { phase, current, target } = image?.status ?? {};
  if (phase === 'Skipped') return target === wanted.release;
  return phase === 'Current' && current === wanted.release && set.busy === undefined;
}
