import { EvaluationError } from './expression-errors.ts';
import { Duration } from './expression-times.ts';
import { Dictionary, display, int, List, Optional, type Value } from './expression-values.ts';
import type { Functions } from './function-overloads.ts';
import { compare, equal, includes } from './value-comparison.ts';

function itemAt(list: List, index: bigint): Value | undefined {
  return index < 0n ? undefined : list.items[Number(index)];
}

function inOptional({ value }: Optional, key: Value): Optional {
  if (value instanceof List) return new Optional(typeof key === 'bigint' ? itemAt(value, key) : undefined);
  return new Optional(value instanceof Dictionary ? value.get(key) : undefined);
}

const INDEXING: Functions = {
  '_[_](list<A>,int):A': (list: List, index: bigint) => {
    const item = itemAt(list, index);
    if (item === undefined) throw new EvaluationError(`index out of bounds: ${index}`);
    return item;
  },
  '_[_](map<A,B>,A):B': (map: Dictionary, key: Value) => {
    const value = map.get(key);
    if (value === undefined) throw new EvaluationError(`no such key: ${display(key)}`);
    return value;
  },
  '_[?_](list<A>,int):optional<A>': (list: List, index: bigint) => new Optional(itemAt(list, index)),
  '_[?_](map<A,B>,A):optional<B>': (map: Dictionary, key: Value) => new Optional(map.get(key)),
  '_[?_](optional<A>,dyn):optional<dyn>': inOptional,
  '_[_](optional<A>,dyn):optional<dyn>': inOptional,
  '@in(A,list<A>):bool': (value: Value, list: List) => includes(list, value),
  '@in(A,map<A,B>):bool': (key: Value, map: Dictionary) => map.get(key) !== undefined,
};

const SIZES: Functions = Object.fromEntries(
  ['size(T)', 'T.size()'].flatMap((form) => [
    [`${form.replace('T', 'string')}:int`, (text: string) => BigInt(Array.from(text).length)],
    [`${form.replace('T', 'bytes')}:int`, (bytes: Uint8Array) => BigInt(bytes.length)],
    [`${form.replace('T', 'list<A>')}:int`, (list: List) => BigInt(list.length)],
    [`${form.replace('T', 'map<A,B>')}:int`, (map: Dictionary) => BigInt(map.size)],
  ]),
);

/** The first item that no other item beats. */
const extreme =
  (name: string, beats: (order: number) => boolean) =>
  (list: List): Value => {
    const [first, ...rest] = list.items;
    if (first === undefined) throw new EvaluationError(`${name} called on empty list`);
    return rest.reduce<Value>((best, item) => (beats(compare(item, best)) ? item : best), first);
  };

function integer(value: Value): bigint {
  if (typeof value === 'bigint') return value;
  throw new EvaluationError('no such overload');
}

const isSubset = (part: List, all: List): boolean => part.items.every((item) => includes(all, item));

/** Functions of lists, sets and maps. */
export const COLLECTION_FUNCTIONS: Functions = {
  ...INDEXING,
  ...SIZES,
  'list<A>.isSorted():bool': ({ items }: List) =>
    items.every((item, at) => at === 0 || compare(items[at - 1] ?? null, item) <= 0),
  'list<int>.sum():int': ({ items }: List) => items.reduce<bigint>((sum, item) => int(sum + integer(item)), 0n),
  'list<double>.sum():double': ({ items }: List) => items.reduce<number>((sum, item) => sum + Number(item), 0),
  'list<duration>.sum():duration': ({ items }: List) =>
    new Duration(items.reduce<bigint>((sum, item) => sum + (item as Duration).nanos, 0n)),
  'list<A>.min():A': extreme('min', (order) => order < 0),
  'list<A>.max():A': extreme('max', (order) => order > 0),
  'list<A>.indexOf(A):int': ({ items }: List, value: Value) => BigInt(items.findIndex((item) => equal(item, value))),
  'list<A>.lastIndexOf(A):int': ({ items }: List, value: Value) =>
    BigInt(items.findLastIndex((item) => equal(item, value))),
  'list<string>.join():string': ({ items }: List) => items.map(display).join(''),
  'list<string>.join(string):string': ({ items }: List, separator: string) => items.map(display).join(separator),
  'sets::contains(list<A>,list<A>):bool': (a: List, b: List) => isSubset(b, a),
  'sets::equivalent(list<A>,list<A>):bool': (a: List, b: List) => isSubset(a, b) && isSubset(b, a),
  'sets::intersects(list<A>,list<A>):bool': (a: List, b: List) => a.items.some((item) => includes(b, item)),
};
