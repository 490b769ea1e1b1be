import { Duration } from '@marcbachmann/cel-js/evaluator';
import { undecidable } from './fault.ts';

/** Below zero, zero or above, as a server compares two values of one type (cel-go, common/types, Compare). */
export function compare(a: unknown, b: unknown): number {
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if (a instanceof Date && b instanceof Date) return a.getTime() - b.getTime();
  if (a instanceof Duration && b instanceof Duration)
    return a.seconds === b.seconds ? a.nanos - b.nanos : a.seconds < b.seconds ? -1 : 1;
  if (isPlain(a) && isPlain(b)) return a < b ? -1 : a > b ? 1 : 0;
  throw undecidable('values that have no order');
}

/** Whether two values are the same for CEL: numbers by value whatever their type, everything else only within its type (langdef.md, "Equality"). */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a === 'bigint' || typeof b === 'bigint')
    return (
      (typeof a === 'number' || typeof b === 'number') &&
      Number(a) === Number(b) &&
      BigInt(a as bigint) === BigInt(b as bigint)
    );
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, at) => equal(item, b[at]));
  if (a instanceof Date || a instanceof Duration || a instanceof Uint8Array)
    return a.constructor === b.constructor && compare(a, b) === 0;
  const [one, other] = [entriesOf(a), entriesOf(b)];
  if (one === undefined || other === undefined)
    throw undecidable('values of which only a server knows when they are the same');
  return one.size === other.size && [...one].every(([key, value]) => other.has(key) && equal(value, other.get(key)));
}

/** The entries of a map, of which literals are plain objects in the library; undefined: it is none. */
export function entriesOf(value: unknown): ReadonlyMap<unknown, unknown> | undefined {
  if (value instanceof Map) return value;
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return undefined;
  return new Map(Object.entries(value));
}

function isPlain(value: unknown): value is bigint | number | boolean {
  return typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean';
}
