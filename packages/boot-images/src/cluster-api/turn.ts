import type { BootImage, BootImagePolicySpec } from '@drydock/api';
import type { RotationWish } from './decide.ts';
import { imageLeafOf } from './image-leaf.ts';
import { type RotatedSet, setText } from './set.ts';

/** A set of the same policy, and whether nothing has to be done about it any more. */
export interface TurnOfSet {
  readonly set: RotatedSet;
  readonly done: boolean;
}

/** Why a set is not begun yet by the pace of its policy; undefined where it is its turn. Sets come in the order of their names, where failure domains come in turn first by these. */
export function waitsForTurn(
  set: RotatedSet,
  others: readonly TurnOfSet[],
  pace: BootImagePolicySpec['pace'],
  policy: string,
): RotationWish['waits'] {
  const { setsAtATime = Number.POSITIVE_INFINITY, failureDomains } = pace ?? {};
  const inTurn = failureDomains === 'InTurn';
  const before = others.filter((one) => !one.done && order(one.set, set, inTurn) < 0);
  const domain = domainOf(set);
  const other = inTurn ? before.find((one) => domainOf(one.set) !== domain) : undefined;
  const first = other ?? (before.length >= setsAtATime ? before[0] : undefined);
  if (first === undefined) return undefined;
  return {
    ...{ reason: 'WaitsForTurn', brief: `waits for ${first.set.name}` },
    message: `${setText(set)} is not begun before ${setText(first.set)} is done, by the pace of ${policy}`,
  };
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

/** Behind every name: a set that is in several places, or in none that is named. */
const LAST = '\uffff';

function domainOf({ failureDomains }: RotatedSet): string {
  return failureDomains.length === 1 ? (failureDomains[0] ?? LAST) : LAST;
}

function order(a: RotatedSet, b: RotatedSet, inTurn: boolean): number {
  const key = (one: RotatedSet): string => `${inTurn ? domainOf(one) : ''}\n${one.name}\n${one.namespace}\n${one.id}`;
  return key(a) < key(b) ? -1 : Number(key(a) > key(b));
}
