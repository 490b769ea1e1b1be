import { accepts, NAMESPACES, type Overload, overloadsOf, patternProblem } from './expression-functions.ts';
import { type Expression, ExpressionError, parseExpression, pointed } from './expression-parser.ts';
import { type Bindings, bind, DYN, joined, matches, type Type, typeOfSchema, typeText } from './expression-types.ts';
import {
  Dictionary,
  display,
  EvaluationError,
  fieldsOf,
  List,
  Optional,
  TypeValue,
  Unsigned,
  type Value,
} from './expression-values.ts';

/** Variables by name. */
export type Variables = Readonly<Record<string, Type>>;

/** A checked expression. `run` throws `EvaluationError`. */
export interface Compiled {
  readonly type: Type;
  run(values: Readonly<Record<string, Value>>): Value;
}

interface Scope {
  readonly values: ReadonlyMap<string, Value>;
  /** Steps that are left; an expression that takes too many fails, as the server's cost limit has it. */
  readonly budget: { left: number };
}

type Run = (scope: Scope) => Value;

interface Node {
  readonly type: Type;
  readonly run: Run;
}

/** Steps of one evaluation: about what the server's limit per call allows. */
const BUDGET = 1_000_000;

const TYPES: Readonly<Record<string, string>> = {
  int: 'int',
  uint: 'uint',
  double: 'double',
  bool: 'bool',
  string: 'string',
  bytes: 'bytes',
  list: 'list',
  map: 'map',
  null_type: 'null_type',
  type: 'type',
};

const BOOL: Type = { kind: 'bool' };

/** Parses and checks an expression. Throws `ExpressionError` whose message is what the server says, with the line. */
export function compileExpression(text: string, variables: Variables): Compiled {
  try {
    const { type, run } = compile(parseExpression(text), new Map(Object.entries(variables)));
    return {
      type,
      run: (values) => run({ values: new Map(Object.entries(values)), budget: { left: BUDGET } }),
    };
  } catch (error) {
    if (error instanceof ExpressionError) throw new ExpressionError(error.at, pointed(text, error));
    throw error;
  }
}

type Names = ReadonlyMap<string, Type>;

function compile(of: Expression, names: Names): Node {
  switch (of.kind) {
    case 'constant': {
      const { type } = of;
      const value = type === 'uint' ? new Unsigned(of.value as bigint) : (of.value as Value);
      return { type: { kind: type }, run: () => value };
    }
    case 'name':
      return name(of, names);
    case 'field':
      return field(of, names);
    case 'call':
      return call(of, names);
    case 'list':
      return list(of, names);
    case 'map':
      return map(of, names);
    case 'object':
      throw new ExpressionError(of.at, `undeclared reference to '${of.name}' (in container '')`);
    case 'bind': {
      const value = compile(of.value, names);
      const body = compile(of.body, new Map([...names, [of.name, value.type]]));
      return { type: body.type, run: (scope) => body.run(within(scope, [[of.name, value.run(scope)]])) };
    }
    default:
      return loop(of, names);
  }
}

function within({ values, budget }: Scope, more: readonly (readonly [string, Value])[]): Scope {
  return { values: new Map([...values, ...more]), budget };
}

function name(of: Expression & { readonly kind: 'name' }, names: Names): Node {
  const type = names.get(of.name);
  if (type === undefined) {
    const named = TYPES[of.name];
    if (named !== undefined) return { type: { kind: 'type' }, run: () => new TypeValue(named) };
    throw new ExpressionError(of.at, `undeclared reference to '${of.name}' (in container '')`);
  }
  return {
    type,
    run: ({ values }) => {
      const value = values.get(of.name);
      if (value === undefined) throw new EvaluationError(`no such attribute(s): ${of.name}`);
      return value;
    },
  };
}

function field(of: Expression & { readonly kind: 'field' }, names: Names): Node {
  const { field: key, test, optional, at } = of;
  // A variable whose name has a dot comes before a field of the variable in front of that dot.
  const dotted = of.of.kind === 'name' ? `${of.of.name}.${key}` : '';
  if (names.has(dotted) && !test && !optional) return name({ kind: 'name', name: dotted, at }, names);
  const inner = compile(of.of, names);
  const through = inner.type.kind === 'optional' ? inner.type.of : inner.type;
  const type = fieldType(through, key, at);
  const wrapped = optional || inner.type.kind === 'optional';
  const read = (value: Value): Value | undefined => {
    if (value instanceof Optional) return value.value === undefined ? undefined : read(value.value);
    if (value instanceof Dictionary) return value.get(key);
    throw new EvaluationError(`no such key: ${key}`);
  };
  if (test) return { type: BOOL, run: (scope) => read(inner.run(scope)) !== undefined };
  if (wrapped) return { type: { kind: 'optional', of: type }, run: (scope) => new Optional(read(inner.run(scope))) };
  return {
    type,
    run: (scope) => {
      const value = read(inner.run(scope));
      if (value === undefined) throw new EvaluationError(`no such key: ${key}`);
      return value;
    },
  };
}

function fieldType(of: Type, key: string, at: number): Type {
  switch (of.kind) {
    case 'dyn':
    case 'parameter':
      return DYN;
    case 'map':
      return of.of;
    case 'object': {
      const found = fieldsOf(of.schema).get(key);
      if (found === undefined) throw new ExpressionError(at, `undefined field '${key}'`);
      return typeOfSchema(found.schema, `${of.name}.${key}`);
    }
    default: {
      const named = typeText(of);
      // Kubernetes' own types are objects without fields.
      if (named.startsWith('kubernetes.')) throw new ExpressionError(at, `unexpected failed resolution of '${named}'`);
      throw new ExpressionError(at, `type '${named}' does not support field selection`);
    }
  }
}

function list(of: Expression & { readonly kind: 'list' }, names: Names): Node {
  const items = of.items.map(({ value, optional }) => ({ node: compile(value, names), optional }));
  const types = items.map(({ node, optional }) =>
    optional && node.type.kind === 'optional' ? node.type.of : node.type,
  );
  const type = types.length === 0 ? DYN : types.reduce(joined);
  return {
    type: { kind: 'list', of: type },
    run: (scope) =>
      List.of(
        items.flatMap(({ node, optional }) => {
          const value = node.run(scope);
          if (!optional) return [value];
          return value instanceof Optional && value.value !== undefined ? [value.value] : [];
        }),
      ),
  };
}

function map(of: Expression & { readonly kind: 'map' }, names: Names): Node {
  const entries = of.entries.map(({ key, value, optional }) => ({
    key: compile(key, names),
    value: compile(value, names),
    optional,
  }));
  const types = entries.map(({ value, optional }) =>
    optional && value.type.kind === 'optional' ? value.type.of : value.type,
  );
  return {
    type: {
      kind: 'map',
      key: entries.length === 0 ? DYN : entries.map(({ key }) => key.type).reduce(joined),
      of: types.length === 0 ? DYN : types.reduce(joined),
    },
    run: (scope) =>
      Dictionary.of(
        entries.flatMap(({ key, value, optional }): (readonly [Value, Value])[] => {
          const made = value.run(scope);
          if (!optional) return [[key.run(scope), made]];
          return made instanceof Optional && made.value !== undefined ? [[key.run(scope), made.value]] : [];
        }),
      ),
  };
}

const SPECIAL = ['_&&_', '_||_', '_?_:_'];

function call(of: Expression & { readonly kind: 'call' }, names: Names): Node {
  const { at, args } = of;
  if (SPECIAL.includes(of.name)) return logical(of, names);
  // `sets.contains(a, b)` is a function of a namespace, unless somebody calls a variable so.
  const space =
    of.target?.kind === 'name' && !names.has(of.target.name) && NAMESPACES.has(of.target.name)
      ? of.target.name
      : undefined;
  const overloads = overloadsOf(of.name)?.filter(
    ({ target }) => space !== undefined || (target === undefined) === (of.target === undefined),
  );
  if (space !== undefined) return spaced(space, of, names);
  if (overloads === undefined || overloads.length === 0) {
    throw new ExpressionError(at, `undeclared reference to '${of.name}' (in container '')`);
  }
  const target = of.target === undefined ? undefined : compile(of.target, names);
  const inner = args.map((one) => compile(one, names));
  if (of.name === 'matches' || of.name === 'find' || of.name === 'findAll')
    checkPattern(args.at(of.target === undefined ? 1 : 0));
  return dispatched(of, overloads, target, inner);
}

function checkPattern(of: Expression | undefined): void {
  if (of?.kind !== 'constant' || typeof of.value !== 'string') return;
  const problem = patternProblem(of.value);
  if (problem !== undefined) throw new ExpressionError(of.at, `invalid matches argument`);
}

/** Namespaced functions are kept under their own signatures: `sets.contains`. */
function spaced(space: string, of: Expression & { readonly kind: 'call' }, names: Names): Node {
  const overloads = overloadsOf(`${space}::${of.name}`);
  if (overloads === undefined)
    throw new ExpressionError(of.at, `undeclared reference to '${space}.${of.name}' (in container '')`);
  const inner = of.args.map((one) => compile(one, names));
  return dispatched(of, overloads, undefined, inner);
}

function dispatched(
  of: Expression & { readonly kind: 'call' },
  overloads: readonly Overload[],
  target: Node | undefined,
  args: readonly Node[],
): Node {
  const fitting = overloads.flatMap((overload) => {
    if (overload.args.length !== args.length) return [];
    const bound: Bindings = new Map();
    if (overload.target !== undefined && target !== undefined && !matches(overload.target, target.type, bound))
      return [];
    const fits = overload.args.every((wanted, at) => matches(wanted, args[at]?.type ?? DYN, bound));
    return fits ? [{ overload, result: bind(overload.result, bound) }] : [];
  });
  if (fitting.length === 0) {
    const shown = args.map(({ type }) => typeText(type)).join(', ');
    const applied = target === undefined ? `(${shown})` : `${typeText(target.type)}.(${shown})`;
    throw new ExpressionError(of.at, `found no matching overload for '${of.name}' applied to '${applied}'`);
  }
  const type = fitting.map(({ result }) => result).reduce(joined);
  const candidates = fitting.map(({ overload }) => overload);
  const only = candidates.length === 1 && isKnown(target) && args.every(isKnown) ? candidates[0] : undefined;
  return {
    type,
    run: (scope) => {
      scope.budget.left -= 1;
      if (scope.budget.left < 0) throw new EvaluationError('operation cancelled: actual cost limit exceeded');
      const on = target?.run(scope);
      const values = args.map((one) => one.run(scope));
      const overload = only ?? candidates.find((one) => accepts(one, on, values));
      if (overload === undefined) throw new EvaluationError('no such overload');
      const all = on === undefined ? values : [on, ...values];
      return overload.run(...(all as unknown as readonly never[]));
    },
  };
}

function isKnown(node: Node | undefined): boolean {
  return node === undefined || !['dyn', 'parameter'].includes(node.type.kind);
}

function boolean(value: Value): boolean {
  if (typeof value === 'boolean') return value;
  throw new EvaluationError('no such overload');
}

function logical(of: Expression & { readonly kind: 'call' }, names: Names): Node {
  const inner = of.args.map((one) => compile(one, names));
  const [first, second, third] = inner;
  if (first === undefined || second === undefined) throw new ExpressionError(of.at, 'Syntax error');
  if (of.name === '_?_:_') {
    if (third === undefined) throw new ExpressionError(of.at, 'Syntax error');
    const unlike = isKnown(second) && isKnown(third) && joined(second.type, third.type).kind === 'dyn';
    if (!matches(BOOL, first.type, new Map()) || unlike) {
      const types = inner.map(({ type }) => typeText(type)).join(', ');
      throw new ExpressionError(of.at, `found no matching overload for '_?_:_' applied to '(${types})'`);
    }
    return {
      type: joined(second.type, third.type),
      run: (scope) => (boolean(first.run(scope)) ? second.run(scope) : third.run(scope)),
    };
  }
  for (const [at, one] of inner.entries()) {
    if (matches(BOOL, one.type, new Map())) continue;
    throw new ExpressionError(of.args[at]?.at ?? of.at, `expected type 'bool' but found '${typeText(one.type)}'`);
  }
  const decides = of.name === '_||_';
  return {
    type: BOOL,
    run: (scope) => {
      // An error does not matter where the other side decides.
      let failed: EvaluationError | undefined;
      for (const one of [first, second]) {
        try {
          if (boolean(one.run(scope)) === decides) return decides;
        } catch (error) {
          if (!(error instanceof EvaluationError)) throw error;
          failed ??= error;
        }
      }
      if (failed !== undefined) throw failed;
      return !decides;
    },
  };
}

function loop(of: Expression & { readonly kind: 'loop' }, names: Names): Node {
  const range = compile(of.range, names);
  const { macro } = of;
  if (macro === 'optMap' || macro === 'optFlatMap') return optionalMap(of, range, names);
  const [key, value] = elementTypes(range.type, of.range.at);
  const types: readonly Type[] =
    of.names.length === 2 ? [key, value] : [range.type.kind === 'list' || range.type.kind === 'dyn' ? value : key];
  const inside = new Map([...names, ...of.names.map((one, at) => [one, types[at] ?? DYN] as const)]);
  const body = compile(of.body, inside);
  const filter = of.filter === undefined ? undefined : compile(of.filter, inside);
  if (['all', 'exists', 'exists_one', 'filter'].includes(macro) && !matches(BOOL, body.type, new Map())) {
    throw new ExpressionError(of.body.at, `expected type 'bool' but found '${typeText(body.type)}'`);
  }
  const each = function* (
    scope: Scope,
  ): Generator<{ readonly inner: Scope; readonly item: Value; readonly key: Value }> {
    const over = range.run(scope);
    for (const [one, item] of elements(over)) {
      scope.budget.left -= 1;
      if (scope.budget.left < 0) throw new EvaluationError('operation cancelled: actual cost limit exceeded');
      const first = over instanceof List && of.names.length === 1 ? item : one;
      const bound = of.names.map((name_, at) => [name_, at === 0 ? first : item] as const);
      yield { inner: within(scope, bound), item: over instanceof List ? item : one, key: one };
    }
  };
  const passes = (inner: Scope): boolean => filter === undefined || boolean(filter.run(inner));
  switch (macro) {
    case 'all':
    case 'exists':
      return { type: BOOL, run: (scope) => quantified(each(scope), body.run, macro === 'exists') };
    case 'exists_one':
      return {
        type: BOOL,
        run: (scope) => [...each(scope)].filter(({ inner }) => boolean(body.run(inner))).length === 1,
      };
    case 'filter':
      return {
        type: range.type.kind === 'list' ? range.type : { kind: 'list', of: types[0] ?? DYN },
        run: (scope) => {
          const kept = [...each(scope)].filter(({ inner }) => boolean(body.run(inner)));
          return List.of(kept.map(({ item }) => item));
        },
      };
    case 'map':
    case 'transformList':
      return {
        type: { kind: 'list', of: body.type },
        run: (scope) => List.of([...each(scope)].flatMap(({ inner }) => (passes(inner) ? [body.run(inner)] : []))),
      };
    case 'transformMap':
      return {
        type: { kind: 'map', key, of: body.type },
        run: (scope) =>
          Dictionary.of(
            [...each(scope)].flatMap(({ inner, key: of_ }) => (passes(inner) ? [[of_, body.run(inner)] as const] : [])),
          ),
      };
    default:
      return {
        type: body.type,
        run: (scope) =>
          Dictionary.of(
            [...each(scope)].flatMap(({ inner }) => {
              if (!passes(inner)) return [];
              const entry = body.run(inner);
              if (!(entry instanceof Dictionary)) throw new EvaluationError('no such overload');
              return entry.keys.map((one) => [one, entry.get(one) ?? null] as const);
            }),
          ),
      };
  }
}

function quantified(each: Iterable<{ readonly inner: Scope }>, run: Run, decides: boolean): boolean {
  let failed: EvaluationError | undefined;
  for (const { inner } of each) {
    try {
      if (boolean(run(inner)) === decides) return decides;
    } catch (error) {
      if (!(error instanceof EvaluationError) || error.message.includes('cost limit')) throw error;
      failed ??= error;
    }
  }
  if (failed !== undefined) throw failed;
  return !decides;
}

function optionalMap(of: Expression & { readonly kind: 'loop' }, range: Node, names: Names): Node {
  const [variable = ''] = of.names;
  const inner = range.type.kind === 'optional' ? range.type.of : DYN;
  const body = compile(of.body, new Map([...names, [variable, inner]]));
  const flat = of.macro === 'optFlatMap';
  return {
    type: flat ? body.type : { kind: 'optional', of: body.type },
    run: (scope) => {
      const value = range.run(scope);
      if (!(value instanceof Optional)) throw new EvaluationError('no such overload');
      if (value.value === undefined) return value;
      const made = body.run(within(scope, [[variable, value.value]]));
      return flat ? made : new Optional(made);
    },
  };
}

function elementTypes(type: Type, at: number): readonly [key: Type, value: Type] {
  switch (type.kind) {
    case 'list':
      return [{ kind: 'int' }, type.of];
    case 'map':
      return [type.key, type.of];
    case 'dyn':
    case 'parameter':
      return [DYN, DYN];
    default:
      throw new ExpressionError(
        at,
        `expression of type '${typeText(type)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
      );
  }
}

function elements(over: Value): readonly (readonly [key: Value, value: Value])[] {
  if (over instanceof List) return over.items.map((item, at) => [BigInt(at), item] as const);
  if (over instanceof Dictionary) return over.keys.map((key) => [key, over.get(key) ?? null] as const);
  throw new EvaluationError(`got '${display(over)}', expected iterable type`);
}
