import { EvaluationError } from './expression-errors.ts';
import { Duration } from './expression-times.ts';
import { Dictionary, List, Optional, Unsigned, type Value } from './expression-values.ts';
import type { Functions } from './function-overloads.ts';

function isZero(value: Value): boolean {
  if (value === null || value === false || value === '' || value === 0 || value === 0n) return true;
  if (value instanceof List || value instanceof Uint8Array) return value.length === 0;
  if (value instanceof Dictionary) return value.size === 0;
  if (value instanceof Unsigned) return value.value === 0n;
  return value instanceof Duration && value.nanos === 0n;
}

/** Functions of optional values. */
export const OPTIONAL_FUNCTIONS: Functions = {
  'optional::of(A):optional<A>': (a: Value) => new Optional(a),
  'optional::none():optional<dyn>': () => new Optional(undefined),
  'optional::ofNonZeroValue(A):optional<A>': (a: Value) => new Optional(isZero(a) ? undefined : a),
  'optional<A>.hasValue():bool': (a: Optional) => a.value !== undefined,
  'optional<A>.value():A': (a: Optional) => {
    if (a.value === undefined) throw new EvaluationError('optional.none() dereference');
    return a.value;
  },
  'optional<A>.or(optional<A>):optional<A>': (a: Optional, b: Optional) => (a.value === undefined ? b : a),
  'optional<A>.orValue(A):A': (a: Optional, b: Value) => a.value ?? b,
};
