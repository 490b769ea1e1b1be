import { EvaluationError } from './expression-errors.ts';
import { Duration, type Timestamp, timestampAt } from './expression-times.ts';
import { int, List, Unsigned, type Value } from './expression-values.ts';
import type { Functions } from './function-overloads.ts';
import { compare, equal, includes } from './value-comparison.ts';

function integerOperator(sign: string, apply: (a: bigint, b: bigint) => bigint): Functions {
  return {
    [`_${sign}_(int,int):int`]: (a: bigint, b: bigint) => int(apply(a, b)),
    [`_${sign}_(uint,uint):uint`]: (a: Unsigned, b: Unsigned) => new Unsigned(apply(a.value, b.value)),
  };
}

function divisor(value: bigint, problem: string): bigint {
  if (value === 0n) throw new EvaluationError(problem);
  return value;
}

const ARITHMETIC: Functions = {
  ...integerOperator('+', (a, b) => a + b),
  ...integerOperator('-', (a, b) => a - b),
  ...integerOperator('*', (a, b) => a * b),
  ...integerOperator('/', (a, b) => a / divisor(b, 'division by zero')),
  ...integerOperator('%', (a, b) => a % divisor(b, 'modulus by zero')),
  '_+_(double,double):double': (a: number, b: number) => a + b,
  '_-_(double,double):double': (a: number, b: number) => a - b,
  '_*_(double,double):double': (a: number, b: number) => a * b,
  '_/_(double,double):double': (a: number, b: number) => a / b,
  '-_(int):int': (a: bigint) => int(-a),
  '-_(double):double': (a: number) => -a,
  '!_(bool):bool': (a: boolean) => !a,
  '_+_(timestamp,duration):timestamp': (a: Timestamp, b: Duration) => timestampAt(a.nanos + b.nanos),
  '_+_(duration,timestamp):timestamp': (a: Duration, b: Timestamp) => timestampAt(a.nanos + b.nanos),
  '_+_(duration,duration):duration': (a: Duration, b: Duration) => new Duration(int(a.nanos + b.nanos)),
  '_-_(timestamp,timestamp):duration': (a: Timestamp, b: Timestamp) => new Duration(a.nanos - b.nanos),
  '_-_(timestamp,duration):timestamp': (a: Timestamp, b: Duration) => timestampAt(a.nanos - b.nanos),
  '_-_(duration,duration):duration': (a: Duration, b: Duration) => new Duration(int(a.nanos - b.nanos)),
  '_+_(string,string):string': (a: string, b: string) => a + b,
  '_+_(bytes,bytes):bytes': (a: Uint8Array, b: Uint8Array) => new Uint8Array(Buffer.concat([a, b])),
  '_+_(list<A>,list<A>):list<A>': joinLists,
};

/** Set lists keep each item once; map lists keep each key once, with the item on the right. */
function joinLists(a: List, b: List): List {
  if (a.listType === 'set') return List.of([...a.items, ...b.items.filter((item) => !includes(a, item))], a.schema);
  if (a.listType === 'map') {
    const later = new Map(b.items.map((item) => [a.keyOf(item), item]));
    const kept = a.items.map((item) => later.get(a.keyOf(item)) ?? item);
    const known = new Set(a.items.map((item) => a.keyOf(item)));
    return List.of([...kept, ...b.items.filter((item) => !known.has(a.keyOf(item)))], a.schema);
  }
  return List.of([...a.items, ...b.items], a.schema);
}

const ORDERS: Readonly<Record<string, (order: number) => boolean>> = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};
const NUMBERS = ['int', 'uint', 'double'];
const COMPARABLE = [
  ...NUMBERS.flatMap((a) => NUMBERS.map((b) => `${a},${b}`)),
  ...['string', 'bool', 'bytes', 'timestamp', 'duration'].map((type) => `${type},${type}`),
];

const COMPARISONS: Functions = Object.fromEntries(
  Object.entries(ORDERS).flatMap(([sign, holds]) => {
    const run = (a: Value, b: Value): boolean => !Number.isNaN(a) && !Number.isNaN(b) && holds(compare(a, b));
    return COMPARABLE.map((types) => [`_${sign}_(${types}):bool`, run]);
  }),
);

/** Arithmetic, concatenation and comparison. */
export const OPERATORS: Functions = {
  ...ARITHMETIC,
  ...COMPARISONS,
  '_==_(A,A):bool': (a: Value, b: Value) => equal(a, b),
  '_!=_(A,A):bool': (a: Value, b: Value) => !equal(a, b),
};
