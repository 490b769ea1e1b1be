import { EvaluationError } from './expression-errors.ts';
import { Duration, Timestamp } from './expression-times.ts';
import { Dictionary, List, Opaque, Optional, TypeValue, Unsigned, type Value } from './expression-values.ts';

/** A number of any type; undefined for other values. */
function numeric(value: Value): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof Unsigned ? value.value : undefined;
}

/** Nanoseconds of two values of the same type; undefined for other values. */
function nanosOf(a: Value, b: Value): readonly [bigint, bigint] | undefined {
  const sameType =
    (a instanceof Timestamp && b instanceof Timestamp) || (a instanceof Duration && b instanceof Duration);
  return sameType ? [a.nanos, b.nanos] : undefined;
}

/** Whether a list contains a value. */
export function includes(list: List, value: Value): boolean {
  return list.items.some((item) => equal(item, value));
}

/** Whether two values are equal; values of unlike types are not. */
export function equal(a: Value, b: Value): boolean {
  const [left, right] = [numeric(a), numeric(b)];
  if (left !== undefined || right !== undefined) {
    // biome-ignore lint/suspicious/noDoubleEquals: a bigint and a number that are the same number
    return left !== undefined && right !== undefined && left == right;
  }
  if (a instanceof List && b instanceof List) return equalLists(a, b);
  if (a instanceof Dictionary && b instanceof Dictionary) {
    if (a.size !== b.size) return false;
    return a.keys.every((key) => {
      const other = b.get(key);
      const own = a.get(key);
      return other !== undefined && own !== undefined && equal(own, other);
    });
  }
  if (a instanceof Optional && b instanceof Optional) {
    if (a.value === undefined || b.value === undefined) return a.value === b.value;
    return equal(a.value, b.value);
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  const nanos = nanosOf(a, b);
  if (nanos !== undefined) return nanos[0] === nanos[1];
  if (a instanceof Opaque && b instanceof Opaque) return a.kind === b.kind && a.text === b.text;
  if (a instanceof TypeValue && b instanceof TypeValue) return a.name === b.name;
  return a === b;
}

function equalLists(a: List, b: List): boolean {
  if (a.length !== b.length) return false;
  if (a.listType === 'set') return a.items.every((item) => includes(b, item));
  if (a.listType === 'map') {
    const others = new Map(b.items.map((item) => [a.keyOf(item), item]));
    return a.items.every((item) => {
      const other = others.get(a.keyOf(item));
      return other !== undefined && equal(item, other);
    });
  }
  return a.items.every((item, at) => equal(item, b.items[at] ?? null));
}

/** -1, 0 or 1. */
export function order(a: bigint | number, b: bigint | number): -1 | 0 | 1 {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The order of two values: negative, 0 or positive. Throws for types that have none. */
export function compare(a: Value, b: Value): number {
  const [left, right] = [numeric(a), numeric(b)];
  if (left !== undefined && right !== undefined) return order(left, right);
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  const nanos = nanosOf(a, b);
  if (nanos !== undefined) return order(...nanos);
  throw new EvaluationError('no such overload');
}
