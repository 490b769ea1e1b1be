import { Duration } from '@marcbachmann/cel-js/evaluator';
import { type Add, fault, undecidable } from './fault.ts';
import { compare, equal } from './order.ts';

type List = readonly unknown[];

/** Functions on lists and sets: k8s.io/apiserver, pkg/cel/library/lists.go, and cel-go, ext/lists.go up to its version 3 and ext/sets.go. */
export function addLists(add: Add): void {
  add('list.isSorted(): bool', (list: List) => list.every((item, at) => at === 0 || compare(list[at - 1], item) <= 0));
  add('list.sum(): dyn', sum);
  add('list.min(): dyn', (list: List) => most(list, -1));
  add('list.max(): dyn', (list: List) => most(list, 1));
  add('list.our_indexOf(dyn): int', (list: List, item: unknown) => BigInt(list.findIndex((one) => equal(one, item))));
  add('list.our_lastIndexOf(dyn): int', (list: List, item: unknown) =>
    BigInt(list.findLastIndex((one) => equal(one, item))),
  );
  add('list.slice(int, int): list', (list: List, from: bigint, to: bigint) => {
    if (from < 0n || from > to || to > list.length) throw fault('a slice outside of the list');
    return list.slice(Number(from), Number(to));
  });
  add('list.flatten(): list', (list: List) => list.flat(1));
  add('list.flatten(int): list', (list: List, depth: bigint) => {
    if (depth < 0n) throw fault('a depth below zero');
    return list.flat(Math.min(Number(depth), 100));
  });
  add('list.sort(): list', (list: List) => sortedBy(list, list));
  add('list.reverse(): list', (list: List) => list.toReversed());
  add('list.distinct(): list', (list: List) =>
    list.filter((item, at) => !list.slice(0, at).some((before) => equal(before, item))),
  );
  add('lists_range(int): list<int>', (size: bigint) => {
    if (size > 10_000n) throw undecidable('a range that a server may find too dear');
    return Array.from({ length: Math.max(0, Number(size)) }, (_none, at) => BigInt(at));
  });
  add('sets_contains(list, list): bool', holds);
  add('sets_equivalent(list, list): bool', (a: List, b: List) => holds(a, b) && holds(b, a));
  add('sets_intersects(list, list): bool', (a: List, b: List) => a.some((item) => has(b, item)));
}

function has(list: List, item: unknown): boolean {
  return list.some((one) => equal(one, item));
}

function holds(list: List, part: List): boolean {
  return part.every((item) => has(list, item));
}

/** What is added up is of one type; of an empty list nobody here knows which, and nothing equals zero of each but of durations. */
function sum(list: List): unknown {
  if (list.every((item) => typeof item === 'bigint')) {
    const all = list.reduce((whole: bigint, item) => whole + item, 0n);
    if (BigInt.asIntN(64, all) !== all) throw fault('a sum of more than 64 bits');
    return all;
  }
  if (list.every((item) => typeof item === 'number')) return list.reduce((whole: number, item) => whole + item, 0);
  if (!list.every((item) => item instanceof Duration)) throw undecidable('a sum of other values');
  return list.reduce((whole: Duration, item) => whole.addDuration(item), new Duration(0n, 0));
}

function most(list: List, side: -1 | 1): unknown {
  if (list.length === 0) throw fault('the least or the most of nothing');
  return list.reduce((best, item) => (Math.sign(compare(item, best)) === side ? item : best));
}

/** A list in the order of its keys. Go's sort keeps the order of equals in short lists alone. */
export function sortedBy(list: List, keys: List): List {
  const first = keys[0];
  if (keys.some((key) => typeof key !== typeof first)) throw fault('keys of several types');
  const pairs = list.map((item, at) => [item, keys[at]] as const).toSorted(([, a], [, b]) => compare(a, b));
  const ties = pairs.some(([item, key], at) => {
    const [before, same] = pairs[at - 1] ?? [];
    return at > 0 && compare(same, key) === 0 && !equal(before, item);
  });
  if (ties && list.length > 12) throw undecidable('items with the same key in a long list');
  return pairs.map(([item]) => item);
}
