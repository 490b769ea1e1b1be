import { equal, isList, isObject, type Json } from '../schema/json.ts';
import type { Path } from '../schema/path.ts';

/** What a written status lacks of the one that was meant. */
export interface Loss {
  /** Keys, and at most at the end an index in the list that was meant. */
  readonly at: Path;
  /** What was meant. */
  readonly value: Json;
  /** What was written in its place; absent: nothing. */
  readonly instead?: Json;
}

/**
 * Everything that `written` lacks of `meant`, so that {@link recall} can put it back. A list loses whole items: which item a field was taken from shows only in what the item has become. What `written` has more (a neutral
 * value, a default) is no loss.
 */
export function losses(meant: Json, written: Json, at: Path = []): readonly Loss[] {
  if (equal(meant, written)) return [];
  if (isObject(meant) && isObject(written))
    return Object.entries(meant).flatMap(([key, value]) => {
      const now = Object.hasOwn(written, key) ? written[key] : undefined;
      // A server takes null out of most fields by itself: it says nothing.
      if (now === undefined) return value === null ? [] : [{ at: [...at, key], value }];
      return losses(value, now, [...at, key]);
    });
  if (isList(meant) && isList(written))
    return paired(meant, written).flatMap(([value, now], index) =>
      equal(value, now)
        ? []
        : [{ at: [...at, index], value: value ?? null, ...(now === undefined ? {} : { instead: now }) }],
    );
  return [{ at, value: meant, instead: written }];
}

/** Each item that was meant, with what it has become; undefined: it was taken out. The order is kept. */
function paired(meant: readonly Json[], written: readonly Json[]): readonly (readonly [Json, Json | undefined])[] {
  const of = inOrder(meant, written) ?? likeliest(meant, written);
  return meant.map((value, index) => {
    const now = of.get(index);
    return [value, now === undefined ? undefined : written[now]];
  });
}

/** Index by index, where every written item is one that was meant, in the same order: nothing was taken out but whole items. */
function inOrder(meant: readonly Json[], written: readonly Json[]): ReadonlyMap<number, number> | undefined {
  const pairs = new Map<number, number>();
  let from = 0;
  for (const [now, item] of written.entries()) {
    let was = from;
    while (was < meant.length && !equal(meant[was], item)) was += 1;
    if (was === meant.length) return undefined;
    pairs.set(was, now);
    from = was + 1;
  }
  return pairs;
}

/** Larger lists are paired by their indices. */
const MOST_CELLS = 1_000_000;

/** Of all ways in which the written items can come from items that were meant, in order, the one in which they are most alike. */
function likeliest(meant: readonly Json[], written: readonly Json[]): ReadonlyMap<number, number> {
  const [rows, columns] = [meant.length, Math.min(meant.length, written.length)];
  const pairs = new Map<number, number>();
  if (rows === columns || rows * columns > MOST_CELLS) {
    for (let at = 0; at < columns; at += 1) pairs.set(at, at);
    return pairs;
  }
  // best[i][j]: of the items from i on, with those written from j on; impossible where fewer are left than are needed.
  const best: number[][] = Array.from({ length: rows + 1 }, () => Array<number>(columns + 1).fill(0));
  const at = (i: number, j: number): number => best[i]?.[j] ?? 0;
  const taken = (i: number, j: number): number => likeness(meant[i], written[j]) + at(i + 1, j + 1);
  const skipped = (i: number, j: number): number => (rows - i > columns - j ? at(i + 1, j) : Number.NEGATIVE_INFINITY);
  for (let i = rows - 1; i >= 0; i -= 1)
    for (let j = columns - 1; j >= 0; j -= 1)
      best[i]?.splice(j, 1, rows - i < columns - j ? Number.NEGATIVE_INFINITY : Math.max(taken(i, j), skipped(i, j)));
  for (let i = 0, j = 0; j < columns; i += 1) if (taken(i, j) >= skipped(i, j)) pairs.set(i, j++);
  return pairs;
}

/** Equality counts more than any number of equal fields. */
function likeness(meant: Json | undefined, written: Json | undefined): number {
  if (equal(meant, written)) return 1_000;
  if (!isObject(meant) || !isObject(written)) return 0;
  return Object.entries(written).filter(([key, value]) => equal(meant[key], value)).length;
}
