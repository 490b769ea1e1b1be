import { type Bindings, DYN, matches, readType, type Type } from './expression-types.ts';
import { Dictionary, kindOf, type Value } from './expression-values.ts';

/**
 * Functions by signature: `string.contains(string):bool` is a method, `sets::contains(list<A>,list<A>):bool` a function of a namespace, `_+_(int,int):int`
 * an operator.
 */
export type Functions = Readonly<Record<string, (...values: never[]) => Value>>;

/** One signature of a function. */
export interface Overload {
  readonly target: Type | undefined;
  readonly args: readonly Type[];
  readonly result: Type;
  readonly run: (...values: readonly never[]) => Value;
}

/** Reads signatures; the result has the overloads of each function name. */
export function overloadsByName(functions: Functions): ReadonlyMap<string, readonly Overload[]> {
  const overloads = Object.entries(functions).map(([signature, run]) => {
    const [, target, name = '', args = '', result = ''] =
      /^(?:([^.(]+)\.)?([^.(]+)\((.*)\):(.+)$/.exec(signature) ?? [];
    // A comma inside of angle brackets separates no arguments.
    const types = args === '' ? [] : args.split(/,(?![^<>]*>)/).map(readType);
    return {
      name,
      target: target === undefined ? undefined : readType(target),
      args: types,
      result: readType(result),
      run,
    };
  });
  return Map.groupBy(overloads, ({ name }) => name);
}

/** The type checker lets null stand for values of more types, but no function of these takes it. */
const TAKES_NULL: readonly string[] = ['dyn', 'null', 'parameter'];

/** Whether values can be the arguments of a signature. */
export function accepts({ target, args }: Overload, on: Value | undefined, values: readonly Value[]): boolean {
  if ((target === undefined) !== (on === undefined) || args.length !== values.length) return false;
  const bound: Bindings = new Map();
  const fits = (wanted: Type, value: Value): boolean =>
    (value !== null || TAKES_NULL.includes(wanted.kind)) && matches(wanted, runtimeType(value), bound);
  if (target !== undefined && on !== undefined && !fits(target, on)) return false;
  return args.every((wanted, at) => fits(wanted, values[at] ?? null));
}

function runtimeType(value: Value): Type {
  const kind = kindOf(value);
  switch (kind) {
    case 'list':
    case 'optional':
      return { kind, of: DYN };
    case 'map':
      return value instanceof Dictionary && value.isObject
        ? { kind: 'object', schema: {}, name: 'object' }
        : { kind, key: DYN, of: DYN };
    default:
      return { kind };
  }
}

/** The three comparisons of a type that has no operators for them. */
export function orderFunctions<T extends Value>(type: string, compare: (a: T, b: T) => number): Functions {
  return {
    [`${type}.isLessThan(${type}):bool`]: (a: T, b: T) => compare(a, b) < 0,
    [`${type}.isGreaterThan(${type}):bool`]: (a: T, b: T) => compare(a, b) > 0,
    [`${type}.compareTo(${type}):int`]: (a: T, b: T) => BigInt(compare(a, b)),
  };
}
