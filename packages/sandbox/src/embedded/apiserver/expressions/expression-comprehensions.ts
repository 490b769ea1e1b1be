import { EvaluationError, ExpressionError } from './expression-errors.ts';
import {
  type Activation,
  asBoolean,
  BOOL,
  type CheckedNode,
  type Compile,
  combined,
  type Declarations,
  mayBeBoolean,
  spend,
  withVariables,
} from './expression-node.ts';
import type { Comprehension } from './expression-tree.ts';
import { DYN, type Type, typeText } from './expression-types.ts';
import { Dictionary, display, List, Optional, type Value } from './expression-values.ts';

/** One element of the range; `element` is what a single variable is bound to: a list's item or a map's key. */
interface Iteration {
  readonly activation: Activation;
  readonly key: Value;
  readonly element: Value;
}

const PREDICATE_MACROS = ['all', 'exists', 'exists_one', 'filter'];

/** Type-checks a macro. Throws `ExpressionError`. */
export function comprehension(of: Comprehension, declarations: Declarations, compile: Compile): CheckedNode {
  const range = compile(of.range, declarations);
  if (of.macro === 'optMap' || of.macro === 'optFlatMap') return optionalMap(of, range, declarations, compile);
  const { key, value, element } = elementTypes(range.type, of.range.at);
  const types = of.variables.length === 1 ? [element] : [key, value];
  const inside = new Map([...declarations, ...of.variables.map((name, at) => [name, types[at] ?? DYN] as const)]);
  const body = compile(of.body, inside);
  const filter = of.filter === undefined ? undefined : compile(of.filter, inside);
  if (PREDICATE_MACROS.includes(of.macro) && !mayBeBoolean(body.type)) {
    throw new ExpressionError(of.body.at, `expected type 'bool' but found '${typeText(body.type)}'`);
  }
  const iterations = (activation: Activation) => iterate(of.variables, range.run(activation), activation);
  const satisfying = (activation: Activation): Iteration[] =>
    [...iterations(activation)].filter((one) => asBoolean(body.run(one.activation)));
  const transformed = <T>(activation: Activation, make: (result: Value, key: Value) => readonly T[]): T[] =>
    [...iterations(activation)].flatMap((one) => {
      const keep = filter === undefined || asBoolean(filter.run(one.activation));
      return keep ? make(body.run(one.activation), one.key) : [];
    });
  switch (of.macro) {
    case 'all':
    case 'exists':
      return {
        type: BOOL,
        run: (activation) =>
          combined(
            iterations(activation).map((one) => () => body.run(one.activation)),
            of.macro === 'exists',
          ),
      };
    case 'exists_one':
      return { type: BOOL, run: (activation) => satisfying(activation).length === 1 };
    case 'filter':
      return {
        type: range.type.kind === 'list' ? range.type : { kind: 'list', of: types[0] ?? DYN },
        run: (activation) => List.of(satisfying(activation).map((one) => one.element)),
      };
    case 'map':
    case 'transformList':
      return {
        type: { kind: 'list', of: body.type },
        run: (activation) => List.of(transformed(activation, (result) => [result])),
      };
    case 'transformMap':
      return {
        type: { kind: 'map', key, of: body.type },
        run: (activation) =>
          Dictionary.of(transformed(activation, (result, resultKey) => [[resultKey, result] as const])),
      };
    default:
      return { type: body.type, run: (activation) => Dictionary.of(transformed(activation, entriesOf)) };
  }
}

function* iterate(variables: readonly string[], range: Value, activation: Activation): Generator<Iteration> {
  for (const [key, value] of entriesIn(range)) {
    spend(activation);
    const element = range instanceof List ? value : key;
    const values = variables.length === 1 ? [element] : [key, value];
    const bound = variables.map((name, at) => [name, values[at] ?? null] as const);
    yield { activation: withVariables(activation, bound), key, element };
  }
}

function elementTypes(type: Type, at: number): { readonly key: Type; readonly value: Type; readonly element: Type } {
  switch (type.kind) {
    case 'list':
      return { key: { kind: 'int' }, value: type.of, element: type.of };
    case 'map':
      return { key: type.key, value: type.of, element: type.key };
    case 'dyn':
    case 'parameter':
      return { key: DYN, value: DYN, element: DYN };
    default: {
      const problem = 'cannot be range of a comprehension (must be list, map, or dynamic)';
      throw new ExpressionError(at, `expression of type '${typeText(type)}' ${problem}`);
    }
  }
}

function entriesIn(range: Value): readonly (readonly [key: Value, value: Value])[] {
  if (range instanceof List) return range.items.map((item, at) => [BigInt(at), item] as const);
  if (range instanceof Dictionary) return range.keys.map((key) => [key, range.get(key) ?? null] as const);
  throw new EvaluationError(`got '${display(range)}', expected iterable type`);
}

/** The entries of a map that a body of `transformMapEntry` made. */
function entriesOf(map: Value): readonly (readonly [Value, Value])[] {
  if (!(map instanceof Dictionary)) throw new EvaluationError('no such overload');
  return entriesIn(map);
}

/** `optMap` and `optFlatMap`. */
function optionalMap(of: Comprehension, range: CheckedNode, declarations: Declarations, compile: Compile): CheckedNode {
  const [variable = ''] = of.variables;
  const inner = range.type.kind === 'optional' ? range.type.of : DYN;
  const body = compile(of.body, new Map([...declarations, [variable, inner]]));
  const flat = of.macro === 'optFlatMap';
  return {
    type: flat ? body.type : { kind: 'optional', of: body.type },
    run: (activation) => {
      const optional = range.run(activation);
      if (!(optional instanceof Optional)) throw new EvaluationError('no such overload');
      if (optional.value === undefined) return optional;
      const result = body.run(withVariables(activation, [[variable, optional.value]]));
      return flat ? result : new Optional(result);
    },
  };
}
